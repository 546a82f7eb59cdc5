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
    offenders(({ from, to }) => from === 'engine' && to !== 'engine' && to !== 'sorted-btree'),
    [],
  );
});

t.test('http and ws know neither each other nor what lies behind the ports', async (t) => {
  const behind = ['persistence', 'chain', 'config', 'cli', '.'];
  t.strictSame(
    offenders(({ from, to }) => from === 'http' && ['ws', ...behind].includes(to)),
    [],
  );
  t.strictSame(
    offenders(({ from, to }) => from === 'ws' && ['http', ...behind].includes(to)),
    [],
  );
});

t.test('the feed knows neither sockets nor routes: both tell what it says', async (t) => {
  const known = ['feed', 'engine', 'schema', '@msgpack/msgpack'];
  t.strictSame(
    offenders(({ from, to }) => from === 'feed' && !known.includes(to)),
    [],
  );
});

t.test('nothing of the server knows the client', async (t) => {
  t.strictSame(
    offenders(({ from, to }) => to === 'client' && from !== 'client'),
    [],
  );
});

t.test('the configuration is read where the service is assembled, and by the command line', async (t) => {
  t.strictSame(
    offenders(({ from, to }) => to === 'config' && !['.', 'cli', 'config'].includes(from)),
    [],
  );
});

t.test('sockets are served by one folder and opened by another', async (t) => {
  const owners = new Map([
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
    const isPort = folderOf(file) === 'system' || file === path.join('client', 'system-ports.ts');
    return /\b(Date\.now|Math\.random|performance\.now)\(/.test(text) && !isPort;
  });
  t.strictSame(direct, []);
});

t.test('no folder or file is a grab-bag', async (t) => {
  t.strictSame(
    files.filter((file) => /(^|[/\\-])(utils?|helpers?|common|misc)([/\\.-]|$)/.test(file)),
    [],
  );
});
