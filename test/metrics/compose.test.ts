import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): unknown => parse(readFileSync(path.join(root, file), 'utf8'));

interface ComposeService {
  readonly profiles?: readonly string[];
  readonly image?: string;
  readonly environment: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes: readonly string[];
}

const { services, volumes } = read('compose.yaml') as {
  readonly services: Readonly<Record<'quotebook' | 'prometheus' | 'grafana', ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};

/** Files and directories of the repository by where a container has them. */
function mounts({ volumes: given }: ComposeService): Map<string, string> {
  const pairs = given.map((volume) => volume.split(':')).filter(([source = '']) => source.startsWith('./'));
  return new Map(pairs.map(([source = '', target = '']) => [target, source]));
}

function mounted(service: ComposeService, target: string): unknown {
  return read(mounts(service).get(target) ?? `nothing is mounted at ${target}`);
}

t.test('monitoring is a profile of its own, pinned, and mounts what is there, for reading', async (t) => {
  t.strictSame(
    Object.entries(services).map(([name, { profiles = [] }]) => [name, ...profiles]),
    [['quotebook'], ['prometheus', 'monitoring'], ['grafana', 'monitoring']],
  );
  for (const service of [services.prometheus, services.grafana]) {
    t.match(service.image, /:v?\d+\.\d+\.\d+$/);
    for (const volume of service.volumes) {
      const [source = '', , mode] = volume.split(':');
      if (source.startsWith('./')) {
        t.ok(existsSync(path.join(root, source)), source);
        t.equal(mode, 'ro', source);
      } else t.ok(source in volumes, source);
    }
  }
});

t.test('no port is open beyond this machine, and that of the metrics not even here', async (t) => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  t.strictSame(ports, ['127.0.0.1:8080:8080', '127.0.0.1:3000:3000']);
});

t.test('Prometheus scrapes the port that the service measures at, and reads the rules', async (t) => {
  const { scrape_configs: scraped, rule_files: rules } = mounted(
    services.prometheus,
    '/etc/prometheus/prometheus.yml',
  ) as {
    scrape_configs: readonly { job_name: string; static_configs: readonly { targets: readonly string[] }[] }[];
    rule_files: readonly string[];
  };
  const { QUOTEBOOK_METRICS_PORT: port, QUOTEBOOK_METRICS_HOST: host } = services.quotebook.environment;
  t.strictSame(
    scraped.flatMap(({ static_configs: of }) => of.flatMap(({ targets }) => targets)),
    [`quotebook:${port}`],
  );
  t.equal(host, '0.0.0.0', 'the other containers reach it');
  for (const file of rules) t.ok(mounted(services.prometheus, file), file);
  const jobs = scraped.map(({ job_name: job }) => job);
  const onHost = read('deploy/monitoring/prometheus.yml') as { scrape_configs: readonly { job_name: string }[] };
  t.strictSame(
    jobs,
    onHost.scrape_configs.map(({ job_name: job }) => job),
    'the rules name it',
  );
});

t.test('Grafana has the data source and the directory that its dashboards name', async (t) => {
  const { datasources } = mounted(services.grafana, '/etc/grafana/provisioning/datasources/quotebook.yml') as {
    datasources: readonly { uid: string; url: string }[];
  };
  t.match(datasources, [{ uid: 'prometheus', url: 'http://prometheus:9090' }]);
  const { providers } = mounted(services.grafana, '/etc/grafana/provisioning/dashboards/quotebook.yml') as {
    providers: readonly { options: { path: string } }[];
  };
  const directories = providers.map(({ options }) => mounts(services.grafana).get(options.path) ?? '');
  for (const directory of directories) t.ok(statSync(path.join(root, directory)).isDirectory(), directory);
  t.ok(existsSync(path.join(root, directories[0] ?? '', 'quotebook.json')));
});

t.test('secrets that lie beside the compose files do not go into the build', async (t) => {
  const ignored = readFileSync(path.join(root, '.dockerignore'), 'utf8').split('\n');
  const text = ['compose.yaml', 'compose.cluster.yaml'].map((file) => readFileSync(path.join(root, file), 'utf8'));
  const keys = text.flatMap((each) => [...each.matchAll(/\.\/[\w-]+(\.key):/g)].map(([, ending]) => `*${ending}`));
  t.ok(keys.length >= 3);
  for (const each of new Set(['.env', ...keys])) t.ok(ignored.includes(each), each);
});
