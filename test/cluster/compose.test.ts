import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { limits } from '../../src/config/limits.js';
import { TrustedProxies } from '../../src/net/trusted-proxies.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = path.join(root, 'dist/src/cli/quotebook.js');
const WALLET_KEY = `0x${'11'.repeat(32)}`;
/** What the file says that `.env` has to give. */
const ENV: Readonly<Record<string, string>> = {
  ENGINE_PASSWORD: 'of-engines',
  GATEWAY_PASSWORD: 'of-gateways',
  ADMIN_PASSWORD: 'of-admins',
  GRAFANA_PASSWORD: 'of-grafana',
  QUOTEBOOK_SETTLEMENT_RPC_URLS: 'https://one.example.org/rpc',
  QUOTEBOOK_STREAM_RPC_URLS: 'https://nova.example.org/rpc',
};

interface ComposeService {
  readonly image?: string;
  readonly build?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<
    Record<string, { readonly ipam: { readonly config: readonly Readonly<Record<string, string>>[] } }>
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** As compose substitutes variables: `${NAME:-default}`, `${NAME:?}`, `$$`. */
function substituted(text: string): string {
  return text.replaceAll(
    /\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\})/g,
    (whole: string, name?: string, kind?: string, given?: string): string => {
      if (name === undefined) return '$';
      const value = ENV[name] ?? (kind === '-' ? given : undefined);
      if (value === undefined) throw new Error(`nothing gives ${whole}`);
      return value;
    },
  );
}

const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');
const compose = parse(substituted(await read('compose.cluster.yaml')), {
  merge: true,
}) as Compose;
const services = Object.entries(compose.services);
const withRole = (role: string): [string, ComposeService][] =>
  services.filter(([, { command }]) => command?.join(' ') === `serve --role ${role}`);

/** That a service names for itself. */
function addressOf(name: string): string | undefined {
  const networks = compose.services[name]?.networks ?? [];
  return 'cluster' in networks ? networks.cluster.ipv4_address : undefined;
}

async function emptyDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-compose-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function walletKeyFile(t: Test): Promise<string> {
  const file = path.join(await emptyDirectory(t), 'wallet.key');
  await writeFile(file, WALLET_KEY, { mode: 0o600 });
  return file;
}

/** Path of the program. */
async function natsServer(): Promise<string> {
  const script = new URL('../../../scripts/with-nats.mjs', import.meta.url).href;
  return ((await import(script)) as { readonly natsServer: () => Promise<string> }).natsServer();
}

function environmentOf({ environment = {} }: ComposeService): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));
}

t.test('it has the members of a cluster, and names nothing that is not there', (t) => {
  t.strictSame(
    services.filter(([, { image }]) => image?.startsWith('nats:')).map(([name]) => name),
    ['nats-1', 'nats-2', 'nats-3'],
  );
  t.equal(withRole('engine').length, 2);
  t.equal(withRole('gateway').length, 2);
  for (const name of ['load-balancer', 'prometheus', 'grafana']) t.ok(compose.services[name], name);
  for (const [name, { image, build, volumes = [], depends_on: needed = [], networks = [] }] of services) {
    t.ok((image ?? build)?.length, `${name} has an image`);
    if (image !== undefined) t.match(image, /:v?\d/, `${name} has a pinned version`);
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      if (!source.startsWith('.')) t.ok(source in compose.volumes, `volume ${source} of ${name}`);
      // The operator's own.
      else if (source !== './wallet.key') t.ok(existsSync(path.join(root, source)), `${source} of ${name}`);
    }
    for (const other of needed) t.ok(other in compose.services, `${name} depends on ${other}`);
    const joined = Array.isArray(networks) ? (networks as string[]) : Object.keys(networks);
    for (const network of joined) t.ok(network in compose.networks, `network ${network} of ${name}`);
  }
  t.end();
});

t.test('the program takes the command lines and environments of its services', async (t) => {
  const keyFile = await walletKeyFile(t);
  for (const [name, service] of services.filter(([, { build }]) => build === '.')) {
    const { command = [] } = service;
    const ofService = environmentOf(service);
    const env = {
      PATH: process.env.PATH,
      ...ofService,
      ...('QUOTEBOOK_WALLET_KEY_FILE' in ofService && { QUOTEBOOK_WALLET_KEY_FILE: keyFile }),
    };
    for (const server of (ofService.QUOTEBOOK_CLUSTER ?? '').split(',')) {
      t.ok(new URL(server).hostname in compose.services, `${name} finds ${server}`);
    }
    if (command[0] === 'serve') {
      const { stdout } = await run(process.execPath, [PROGRAM, 'config', 'check', ...command.slice(1)], { env });
      t.match(stdout, 'The settings are valid.', name);
    } else {
      // No such servers here: it gets as far as asking them.
      const said = await run(process.execPath, [PROGRAM, ...command], { env }).catch((error: unknown) => error);
      t.match(said, { code: 1, stderr: /nats-1/ }, name);
    }
  }
});

t.test('nats-server accepts the configuration that each of its services makes', async (t) => {
  const program = await natsServer();
  for (const [name, service] of services.filter(([, { image }]) => image?.startsWith('nats:'))) {
    const directory = await emptyDirectory(t);
    const [shell = '', flag = '', line = ''] = service.entrypoint ?? [];
    const conf = path.join(directory, 'nats.conf');
    const here = line
      .replace('/etc/nats/quotebook.conf', path.join(root, 'deploy/nats.conf'))
      .replaceAll('/tmp/nats.conf', conf)
      .replace(
        'exec nats-server',
        `sed -i 's|store_dir: /data|store_dir: ${directory}|' ${conf} && exec ${program} -t`,
      );
    const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, ...environmentOf(service) };
    const { stderr } = await run(shell, [flag, here], { env });
    t.match(stderr, /configuration file .* is valid/, name);
    const made = await readFile(conf, 'utf8');
    t.match(made, '$JS.API.STREAM.INFO.QB_arbitrum_LOG');
    t.notMatch(made, /qb\.local|QB_local/, 'no subject of another profile');
    const routes = JSON.parse(env.ROUTES ?? '[]') as string[];
    t.equal(routes.length, 2);
    for (const route of routes) t.ok(new URL(route).hostname in compose.services, route);
  }
});

t.test('nats-server accepts what nats.conf has as comments', async (t) => {
  const directory = await emptyDirectory(t);
  const conf = await read('deploy/nats.conf');
  const [, inCluster = ''] = /^ {2}# (authorization \{.*\})$/m.exec(conf) ?? [];
  const file = path.join(directory, 'nats.conf');
  await writeFile(file, conf.replace(`# ${inCluster}`, inCluster).replace('/data', directory));
  const env = { ...environmentOf(compose.services['nats-1'] ?? {}), ROUTES: '["nats://route:of-routes@nats-2:6222"]' };
  const check = (more: Readonly<Record<string, string>>): Promise<{ readonly stderr: string }> =>
    natsServer().then((program) => run(program, ['-t', '-c', file], { env: { ...env, ...more } }));
  t.match(await check({ ROUTE_PASSWORD: 'of-routes' }), { stderr: /configuration file .* is valid/ });
  await t.rejects(check({}), /ROUTE_PASSWORD/, 'the comment was taken in');
});

t.test('a gateway counts the client that a TLS proxy on this machine names, and no other', async (t) => {
  const [network] = compose.networks.cluster?.ipam.config ?? [];
  const bridge = network?.gateway ?? '';
  const balancer = addressOf('load-balancer') ?? '';
  for (const [name, service] of withRole('gateway')) {
    const trusted = new TrustedProxies(`${service.environment?.QUOTEBOOK_TRUSTED_PROXIES}`.split(','));
    const through = (peer: string, forwardedFor: string): string => trusted.clientOf(peer, () => forwardedFor);
    t.equal(through(balancer, `203.0.113.7, ${bridge}`), '203.0.113.7', name);
    t.equal(through(balancer, `192.0.2.1, 203.0.113.7, ${bridge}`), '203.0.113.7', 'not what the client sent');
    t.equal(through(balancer, '192.0.2.1, 203.0.113.7'), '203.0.113.7', 'without a proxy');
    t.equal(through(addressOf('gateway-1') ?? '', '192.0.2.1'), addressOf('gateway-1'), 'past the load balancer');
  }
});

t.test('no container is given an address that another one names', async (t) => {
  const [network] = compose.networks.cluster?.ipam.config ?? [];
  const [given, bits] = (network?.ip_range ?? '').split('/');
  const range = new BlockList();
  range.addSubnet(given ?? '', Number(bits));
  const named = services.map(([name]) => addressOf(name)).filter((address) => address !== undefined);
  t.equal(new Set([...named, network?.gateway]).size, 2 + withRole('gateway').length);
  for (const address of [...named, network?.gateway ?? '']) t.notOk(range.check(address), address);
});

t.test('the commands of the how-to are valid', async (t) => {
  const howTo = await read('docs/how-to/run-a-cluster.md');
  const lines = [...howTo.matchAll(/^ *quotebook ((?:.*\\\n)*.*)$/gm)].map(([, line = '']) =>
    line
      .replaceAll('\\\n', ' ')
      .replaceAll('://...', '://127.0.0.1:1')
      .split(/ +(?=(?:[^"]*"[^"]*")*[^"]*$)/)
      .filter((word) => word !== '')
      .map((word) => word.replaceAll('"', '')),
  );
  t.ok(lines.length >= 5);
  const keyFile = await walletKeyFile(t);
  for (const line of lines) {
    t.match(line.join(' '), '--profile arbitrum');
    const words = line.map((word) => (word === '/etc/quotebook.key' ? keyFile : word));
    const env = { PATH: process.env.PATH, QUOTEBOOK_CLUSTER_USER: 'one', QUOTEBOOK_CLUSTER_PASSWORD: 'of-one' };
    const checked = words[0] === 'serve' ? ['config', 'check', ...words.slice(1)] : words;
    const said = await run(process.execPath, [PROGRAM, ...checked], { env }).catch((error: unknown) => error);
    if (words[0] === 'serve') t.match(said, { stdout: 'The settings are valid.' }, words.join(' '));
    // No such servers here: it gets as far as asking them.
    else t.match(said, { code: 1, stderr: /nats-1|127\.0\.0\.1:1/ }, words.join(' '));
  }
});

t.test('the load balancer, Prometheus and Grafana know the services and their metrics', async (t) => {
  const nginx = await read('deploy/cluster/nginx.conf');
  t.match(nginx, 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;');
  for (const text of [nginx, await read('docs/how-to/put-it-behind-nginx.md')]) {
    const [, kibibytes] = /^ *large_client_header_buffers \d+ (\d+)k;$/m.exec(text) ?? [];
    t.ok(Number(kibibytes) * 1024 > limits.queryBytes, 'nginx takes the longest query, and the rest of its line');
  }
  const upstream = [...nginx.matchAll(/server (gateway-\d):8080/g)].map(([, name]) => name);
  t.strictSame(
    upstream,
    withRole('gateway').map(([name]) => name),
  );
  const scraped = parse(await read('deploy/cluster/prometheus.yml')) as {
    readonly scrape_configs: readonly { readonly static_configs: readonly { readonly targets: readonly string[] }[] }[];
  };
  const targets = scraped.scrape_configs.flatMap((job) => job.static_configs.flatMap((each) => each.targets));
  const members = [...withRole('engine'), ...withRole('gateway')];
  t.strictSame(
    targets,
    members.map(([name, service]) => `${name}:${service.environment?.QUOTEBOOK_METRICS_PORT}`),
  );
  const metrics = await read('docs/reference/metrics.md');
  for (const file of ['deploy/cluster/alerts.yml', 'deploy/cluster/dashboards/quotebook.json']) {
    const used = [...(await read(file)).matchAll(/quotebook_\w+/g)].map(([name]) => name);
    t.ok(used.length > 3, file);
    for (const name of used)
      t.ok(metrics.includes(`\`${name.replace(/_(bucket|count)$/, '')}\``), `${name} in ${file}`);
  }
});
