// A whole Quotebook cluster on one machine, to try it and for tests: three NATS servers, two engines and two gateways
// on the local chain. Run by `npm run cluster`. A member that ends is started again, as a supervisor would.
//
//   npm run cluster -- [--port 8080] [--ready-file FILE] [--data-dir DIR] [--engines 2] [--gateways 2]
//                      [--own-addresses] [--nats URLS --nats-monitors URLS] [--config FILE]
//
// `--config`: settings file of the members.
// `--nats`: servers that run already, and whose monitoring ports are those of `--nats-monitors`.
// `--own-addresses`: each process reaches the NATS servers by loopback addresses that no other process uses, so a test
// can cut it off by dropping packets.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startNats } from './with-nats.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = path.join(root, 'dist/src/cli/quotebook.js');
const RESTART_MS = 500;
const NATS_RESTART_MS = 2_000;
const START_MS = 120_000;
const CALL_MS = 5_000;
const ROLL_MS = 1_000;
const DESCRIBE_RETRY_MS = 1_000;

const { values: flags } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    'ready-file': { type: 'string' },
    'data-dir': { type: 'string' },
    engines: { type: 'string', default: '2' },
    gateways: { type: 'string', default: '2' },
    'own-addresses': { type: 'boolean', default: false },
    nats: { type: 'string' },
    'nats-monitors': { type: 'string', default: '' },
    config: { type: 'string', default: '' },
  },
});
const dataDir = flags['data-dir'] ?? mkdtempSync(path.join(os.tmpdir(), 'quotebook-cluster-'));
await mkdir(dataDir, { recursive: true });
const readyFile = flags['ready-file'] ?? path.join(dataDir, 'ready.json');
await rm(readyFile, { force: true });

let isStopping = false;
const stopping = new Promise((resolve) => {
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(name, resolve);
}).then(() => (isStopping = true));

/** One process of the program, started again when it ends. */
class Member {
  constructor(role, number, environment) {
    this.name = `${role}-${number}`;
    this.directory = path.join(dataDir, this.name);
    this.readyFile = path.join(this.directory, 'ready.json');
    this.environment = {
      ...environment,
      QUOTEBOOK_ROLE: role,
      QUOTEBOOK_CLUSTER_MEMBER: this.name,
      QUOTEBOOK_DATA_DIR: this.directory,
      QUOTEBOOK_READY_FILE: this.readyFile,
    };
    this.child = null;
  }

  async start() {
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    await rm(this.readyFile, { force: true });
    const child = spawn(process.execPath, ['--enable-source-maps', program, 'serve'], {
      env: this.environment,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    this.child = child;
    child.on('exit', () => {
      if (isStopping || this.child !== child) return;
      setTimeout(() => {
        if (isStopping) return;
        void this.start().then(() => this.onRestart?.());
      }, RESTART_MS);
    });
  }

  /** Its own port from now on: clients find it where it was. */
  keepPort(url) {
    this.environment.QUOTEBOOK_PORT = new URL(url).port;
  }

  async ready() {
    const until = Date.now() + START_MS;
    while (!existsSync(this.readyFile)) {
      if (isStopping) throw new Error('stopped');
      if (Date.now() > until) throw new Error(`${this.name} is not ready in time`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return JSON.parse(readFileSync(this.readyFile, 'utf8'));
  }

  async stop() {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    const cancel = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await ended;
    clearTimeout(cancel);
  }
}

const ends = [];
try {
  const ownAddresses = flags['own-addresses'];
  const nats =
    flags.nats === undefined
      ? await startNats({ servers: 3, dir: path.join(dataDir, 'nats'), ownAddresses, ownGroup: true })
      : runningNats(flags.nats, flags['nats-monitors']);
  ends.push(() => nats.stop());
  let members = 0;
  /** Servers by the addresses that the next member has for itself. */
  const serversOfNext = () => {
    members += 1;
    return ownAddresses ? nats.urlAt(`127.20.${members}.1`) : nats.url;
  };
  /** Called when process ids or roles did; does something once there are files that tell of them. */
  let changed = () => undefined;
  const watch = setInterval(() => {
    for (const node of nats.nodes) {
      if (node.failed === null) continue;
      node.start();
      changed();
    }
  }, NATS_RESTART_MS);
  ends.push(() => clearInterval(watch));
  const { startLocalChain } = await import('../dist/src/chain/dev/local-chain.js');
  const chain = await startLocalChain({ stateFile: path.join(dataDir, 'local-chain.json') });
  ends.push(() => chain.stop());
  const profileFile = path.join(dataDir, 'profile.json');
  await writeFile(
    profileFile,
    JSON.stringify(chain.profile, (_, value) => value ?? undefined),
  );
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('QUOTEBOOK_'));
  const environment = {
    ...Object.fromEntries(others),
    QUOTEBOOK_CONFIG: flags.config,
    QUOTEBOOK_PROFILE: profileFile,
    QUOTEBOOK_CLUSTER: nats.url,
    QUOTEBOOK_CLUSTER_MONITORS: nats.nodes.map(({ monitorUrl }) => monitorUrl).join(','),
    QUOTEBOOK_LOG_LEVEL: process.env.QUOTEBOOK_LOG_LEVEL ?? 'warn',
  };
  const key = await promisify(execFile)(
    process.execPath,
    [program, 'keys', 'create', '--tier', 'paid', '--label', 'local cluster'],
    { env: environment },
  );
  const apiKey = key.stdout.trim();
  const engines = Array.from(
    { length: Number(flags.engines) },
    (_, i) =>
      new Member('engine', i + 1, {
        ...environment,
        QUOTEBOOK_CLUSTER: serversOfNext(),
        QUOTEBOOK_WALLET_KEY: chain.accounts[0].privateKey,
      }),
  );
  const first = Number(flags.port);
  const gateways = Array.from(
    { length: Number(flags.gateways) },
    (_, i) =>
      new Member('gateway', i + 1, {
        ...environment,
        QUOTEBOOK_CLUSTER: serversOfNext(),
        QUOTEBOOK_PORT: String(first === 0 ? 0 : first + i),
      }),
  );
  ends.push(() => Promise.all(gateways.map((member) => member.stop())));
  // One after another: the last to go is the leader, or the one that became it.
  ends.push(async () => {
    for (const member of engines) await member.stop();
  });
  for (const engine of engines) {
    await engine.start();
    await engine.ready();
  }
  await Promise.all(gateways.map((member) => member.start()));
  const { connectCluster } = await import('../dist/src/cluster/connection.js');
  const { callRoll, hearNews } = await import('../dist/src/cluster/members.js');
  const cluster = await connectCluster({
    servers: nats.nodes.map(({ url }) => url),
    monitors: [],
    deployment: chain.profile.name,
    member: 'supervisor',
    unsafe: true,
    callMs: CALL_MS,
  });
  ends.push(() => cluster.close());
  const describe = async () => {
    const urls = await Promise.all(gateways.map((member) => member.ready()));
    gateways.forEach((member, i) => member.keepPort(urls[i].httpUrl));
    const members = await callRoll(cluster, ROLL_MS);
    if (members.length === 0) throw new Error('no member answers');
    const content = {
      gateways: gateways.map(({ child }, i) => ({ httpUrl: urls[i].httpUrl, wsUrl: urls[i].wsUrl, pid: child.pid })),
      engines: engines.map(({ name, child }) => {
        const { role = 'standby', term = 0 } = members.find(({ member }) => member === name) ?? {};
        return { pid: child.pid, role, term };
      }),
      nats: nats.nodes.map(({ url, pid }) => ({ url, pid })),
      apiKey,
      rpcUrl: chain.rpcUrl,
      chainId: chain.chainId,
      accounts: chain.accounts,
      tokens: chain.tokens,
      contracts: chain.contracts,
      pools: chain.pools.map(({ poolAddress, poolKey }) => ({
        poolAddress,
        poolKey: { ...poolKey, strike: poolKey.strike.toString() },
      })),
    };
    // Beside it, for tests: which member is which, and how to run commands against the cluster.
    await writeWhole(path.join(dataDir, 'cluster.json'), {
      engines: content.engines.map((engine, i) => ({ ...engine, member: engines[i].name })),
      nats: nats.nodes.map(({ url, pid, monitorUrl, routePort }) => ({ url, pid, monitorUrl, routePort })),
      profile: profileFile,
    });
    await writeWhole(readyFile, content);
    return content;
  };
  const ready = await describe();
  // The files follow what changes, one description at a time.
  let isCurrent = true;
  let describing = null;
  const describeAgain = async () => {
    while (!isCurrent && !isStopping) {
      isCurrent = true;
      await describe().catch(async (error) => {
        if (isStopping) return;
        console.error(`the members cannot be described, trying again: ${error.message}`);
        isCurrent = false;
        await new Promise((resolve) => setTimeout(resolve, DESCRIBE_RETRY_MS));
      });
    }
    describing = null;
  };
  changed = () => {
    isCurrent = false;
    describing ??= describeAgain();
  };
  for (const member of [...engines, ...gateways]) {
    member.onRestart = () => {
      changed();
      void member.ready().then(changed, () => undefined);
    };
  }
  let term = Math.max(...ready.engines.map((engine) => engine.term));
  ends.push(
    hearNews(cluster, (news) => {
      if (news.term <= term) return;
      ({ term } = news);
      changed();
    }),
  );
  process.stdout.write(greeting(ready));
  await stopping;
} finally {
  isStopping = true;
  for (const end of ends.reverse()) await Promise.resolve(end()).catch((error) => console.error(error));
  if (flags['data-dir'] === undefined) await rm(dataDir, { recursive: true, force: true });
}

/** Servers that another process owns. */
function runningNats(url, monitors) {
  const monitorUrls = monitors.split(',');
  const nodes = url
    .split(',')
    .map((server, i) => ({ url: server, monitorUrl: monitorUrls[i], pid: null, failed: null }));
  return { nodes, url, stop: () => undefined };
}

/** In one piece: a program that waits for the file never reads half of it. */
async function writeWhole(file, content) {
  await writeFile(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

function greeting({ gateways, engines, nats, apiKey, rpcUrl, chainId }) {
  return `
A Quotebook cluster is ready on a local chain.

${gateways.map(({ httpUrl, wsUrl, pid }) => `  Gateway    ${httpUrl}  ${wsUrl}  (process ${pid})`).join('\n')}
${engines.map(({ role, term, pid }) => `  Engine     ${role}, term ${term}  (process ${pid})`).join('\n')}
${nats.map(({ url, pid }) => `  NATS       ${url}  (process ${pid})`).join('\n')}
  API key    ${apiKey}
  JSON-RPC   ${rpcUrl} (chain ${chainId})
  All of it  ${readyFile}

Try it, from this directory in another terminal
  node examples/watch.mjs ${readyFile}
  node examples/post-quote.mjs ${readyFile}
  kill -9 ${engines.find(({ role }) => role === 'leader')?.pid ?? engines[0].pid}   # the leader: the standby takes over within seconds

Ctrl-C stops all of it.
`;
}
