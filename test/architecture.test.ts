import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../../src/', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

interface Import {
  readonly file: string;
  /** Folder below src that the file is in; `.` is where everything is assembled. */
  readonly from: string;
  /** Folder below src that is imported, or the package's name. */
  readonly to: string;
  readonly isPackage: boolean;
}

const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(path.join(root, file), 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, specifier]) => specifier ?? '');
  return specifiers.map((specifier): Import => {
    const isPackage = !specifier.startsWith('.');
    const target = isPackage ? specifier : path.relative(root, path.resolve(root, path.dirname(file), specifier));
    return { file, from: folderOf(file), to: isPackage ? target : folderOf(target), isPackage };
  });
});

function folderOf(file: string): string {
  const [folder, ...rest] = file.split(path.sep);
  return rest.length === 0 ? '.' : (folder ?? '.');
}

function offenders(breaks: (entry: Import) => boolean): string[] {
  return imports.filter(breaks).map(({ file, to }) => `${file} imports ${to}`);
}

t.test('the engine imports itself and sorted-btree alone', async (t) => {
  t.strictSame(
    offenders(({ from, to }) => from === 'engine' && !['engine', 'sorted-btree'].includes(to)),
    [],
  );
});

t.test('http and ws know neither each other nor what lies behind the ports', async (t) => {
  const behind = ['persistence', 'chain', 'trading', 'config', 'cli', '.', 'app'];
  t.strictSame(
    offenders(({ from, to }) => from === 'http' && ['ws', ...behind].includes(to)),
    [],
  );
  t.strictSame(
    offenders(({ from, to }) => from === 'ws' && ['http', ...behind].includes(to)),
    [],
  );
});

t.test('the past is read from the log without the edges, which ask for it', async (t) => {
  const known = ['past', 'auth', 'chain', 'engine', 'feed', 'persistence', 'system', 'wire', 'node:worker_threads'];
  t.strictSame(
    offenders(({ from, to }) => from === 'past' && !known.includes(to)),
    [],
  );
});

t.test('the feed knows neither sockets nor routes: both tell what it says', async (t) => {
  const known = ['feed', 'engine', 'system', 'wire', '@msgpack/msgpack'];
  t.strictSame(
    offenders(({ from, to }) => from === 'feed' && !known.includes(to)),
    [],
  );
});

t.test('nothing of the server knows the client; the commands of the terminal use it', async (t) => {
  t.strictSame(
    offenders(({ from, to }) => to === 'client' && from !== 'client' && from !== 'cli'),
    [],
  );
});

t.test('the configuration is read where the service is assembled, and by the command line', async (t) => {
  t.strictSame(
    offenders(({ from, to }) => to === 'config' && !['.', 'app', 'cli', 'config'].includes(from)),
    [],
  );
});

t.test('sockets are served by one folder and opened by another, and NATS is known to one alone', async (t) => {
  const owners = new Map([
    ['@nats-io/jetstream', ['cluster']],
    ['@nats-io/kv', ['cluster']],
    ['@nats-io/obj', ['cluster']],
    ['@nats-io/transport-node', ['cluster']],
    ['uWebSockets.js', ['net']],
    ['ws', ['net', 'chain', 'client']],
  ]);
  t.strictSame(
    offenders(({ from, to, isPackage }) => isPackage && owners.get(to)?.includes(from) === false),
    [],
  );
});

t.test('clocks and randomness are reached through ports', async (t) => {
  const direct = files.filter((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const isPort = folderOf(file) === 'system' || file === path.join('client', 'ports.ts');
    return /\b(Date\.now|Math\.random|performance\.now)\(/.test(text) && !isPort;
  });
  t.strictSame(direct, []);
});

t.test('the disk, the network, other threads and processes are reached where a port is made of them', async (t) => {
  /** Folders or files below src; what lies in none of them is given a port. */
  const doors: Readonly<Record<string, readonly string[]>> = {
    'node:fs': [
      'cli/',
      'chain/dev/',
      'persistence/disk/file-lock',
      'persistence/disk/node-disk',
      'persistence/snapshot/snapshot-child',
    ],
    'node:fs/promises': [
      'cli/',
      'persistence/disk/file-lock',
      'persistence/disk/node-disk',
      'auth/disk-key-files',
      'main',
      'app/local-setup',
      'app/page-files',
    ],
    'node:http': ['net/', 'chain/rpc/http-transport', 'metrics/metrics'],
    'node:https': ['chain/rpc/http-transport'],
    'node:net': ['net/'],
    'node:tls': [],
    'node:dgram': [],
    'node:child_process': ['chain/dev/', 'persistence/disk/file-lock', 'persistence/snapshot/snapshot-process'],
    'node:worker_threads': [
      'auth/signature-',
      'past/past-thread',
      'past/past-worker',
      'persistence/snapshot/snapshot-child',
      'persistence/snapshot/snapshot-worker',
      'persistence/recovery/scan-thread',
      'persistence/recovery/scan-worker',
    ],
  };
  const isDoor = (file: string): boolean => file.startsWith('system/');
  t.strictSame(
    offenders(({ file, to }) => {
      const below = file.split(path.sep).join('/');
      return doors[to]?.some((door) => below.startsWith(door)) === false && !isDoor(below);
    }),
    [],
  );
});

t.test('timers, and what else tells the time or draws lots, are reached through ports, too', async (t) => {
  const direct = files.filter((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    const isTimed = /(?<![.#\w])(setTimeout|setInterval|setImmediate)\(/.test(text) && folderOf(file) !== 'net';
    return isTimed || /\bnew Date\(\)|\bDate\(\)|\brandom(Bytes|Int|UUID|FillSync)\(|\bgetRandomValues\(/.test(text);
  });
  t.strictSame(direct.map((file) => file.split(path.sep).join('/')).sort(), ['client/ports.ts', 'system/clock.ts']);
});

t.test('no folder or file is a grab-bag', async (t) => {
  t.strictSame(
    files.filter((file) => /(^|[/\\-])(utils?|helpers?|common|misc)([/\\.-]|$)/.test(file)),
    [],
  );
});

t.test('no file imports itself through others, not even for a type', (t) => {
  const targets = new Map(files.map((file) => [file, importedFiles(file)]));
  t.ok([...targets.values()].flat().length > files.length, 'imports were found');
  t.strictSame(cyclesOf(targets), []);
  t.end();
});

t.test('no folder imports itself through others', (t) => {
  const targets = new Map<string, Set<string>>();
  for (const file of files) {
    const folder = partOf(file);
    const others = importedFiles(file).map(partOf);
    targets.set(folder, new Set([...(targets.get(folder) ?? []), ...others.filter((other) => other !== folder)]));
  }
  t.ok(targets.size > 20, `${targets.size} folders`);
  t.strictSame(cyclesOf(targets), []);
  t.end();
});

t.test('a folder of the chain imports those below it alone', (t) => {
  const layers = [['rpc'], ['contracts'], ['follow', 'wallet'], ['publish', 'options', 'dev']];
  const heights = new Map(layers.flatMap((folders, height) => folders.map((name) => [`chain/${name}`, height])));
  const ofChain = files.filter((file) => folderOf(file) === 'chain');
  t.strictSame(new Set(ofChain.map(partOf)), new Set(heights.keys()));
  const heightOf = (file: string): number => heights.get(partOf(file)) ?? -1;
  const upward = ofChain.flatMap((file) =>
    importedFiles(file)
      .filter((target) => partOf(target) !== partOf(file) && heightOf(target) >= heightOf(file))
      .map((target) => `${file} imports ${target}`),
  );
  t.strictSame(upward, []);
  t.end();
});

/** The folder below src that the file is in; those in `chain` each count, as they depend on each other one way. */
function partOf(file: string): string {
  const folder = folderOf(file);
  return folder === 'chain' ? path.dirname(file).split(path.sep).join('/') : folder;
}

/** Each cycle of a graph, which is given by the targets of each node. */
function cyclesOf(targets: ReadonlyMap<string, Iterable<string>>): string[] {
  const finished = new Set<string>();
  const cycles: string[] = [];
  const visit = (node: string, trail: readonly string[]): void => {
    if (finished.has(node)) return;
    const start = trail.indexOf(node);
    if (start >= 0) {
      cycles.push([...trail.slice(start), node].join(' -> '));
      return;
    }
    for (const target of targets.get(node) ?? []) visit(target, [...trail, node]);
    finished.add(node);
  };
  for (const node of targets.keys()) visit(node, []);
  return cycles;
}

/** The files below src that a file imports. */
function importedFiles(file: string): string[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)\.js'/g)].map(([, name = '']) => name);
  return specifiers.map((name) => path.join(path.dirname(file), `${name}.ts`));
}

t.test('no two files export the same name', (t) => {
  /** The client library is a program of its own, which imports wire alone; its two builds have one interface. */
  const programs = [(file: string) => !file.startsWith('client/'), (file: string) => /^(client|wire)\//.test(file)];
  const twins = ['OrderbookClient: client/browser.ts, client/node.ts'];
  const named = files.flatMap((name) => {
    const file = name.split(path.sep).join('/');
    const declarations = /^export (?:abstract |async )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
    const found = readFileSync(path.join(root, name), 'utf8').matchAll(declarations);
    return [...new Set([...found].map(([, exported = '']) => exported))].map((exported) => ({ exported, file }));
  });
  t.ok(named.length > 1000, `${named.length} names`);
  const shared = programs.flatMap((isOf) => {
    const places = new Map<string, string[]>();
    for (const { exported, file } of named) {
      if (isOf(file)) places.set(exported, [...(places.get(exported) ?? []), file]);
    }
    return [...places].filter(([, found]) => found.length > 1);
  });
  t.strictSame(
    shared.map(([exported, found]) => `${exported}: ${found.sort().join(', ')}`),
    twins,
  );
  t.end();
});
