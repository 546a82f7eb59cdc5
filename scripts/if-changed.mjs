// Runs one of the steps below, unless nothing that it reads changed since it last succeeded. It compares the name, size
// and time of each file.
//   node scripts/if-changed.mjs compile
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const TOOLS = ['package-lock.json', 'scripts/if-changed.mjs', 'tsconfig.json', 'tsconfig.build.json'];
const LIBRARIES = 'node scripts/bundle-libraries.mjs';
const PAGE = 'node scripts/build-page.mjs';
// Where tests are compiled, with them: what did not change is not written again then, and tests may be running.
const sources = existsSync(path.join(root, 'dist/test.tsbuildinfo')) ? 'tsconfig.json' : 'tsconfig.build.json';

/** By name: what it reads, some of what it writes, and its commands. */
const steps = {
  /** For `npm start`, which does not check types. */
  start: {
    reads: ['src', 'web', 'scripts/build-page.mjs', 'scripts/bundle-libraries.mjs', 'CHANGELOG.md'],
    writes: ['dist/src/cli/quotebook.js', 'dist/web/app.js'],
    commands: [`tsc -p ${sources} --noCheck`, LIBRARIES, PAGE],
  },
  /** The service and the client library. */
  build: {
    reads: ['src', 'tsconfig.client.json', 'scripts/bundle-libraries.mjs'],
    writes: ['dist/src/cli/quotebook.js'],
    commands: [`tsc -p ${sources}`, 'tsc -p tsconfig.client.json', LIBRARIES],
  },
  /** Again while the renderer of /docs could not be installed. */
  page: {
    reads: ['src', 'web', 'scripts/build-page.mjs', 'CHANGELOG.md'],
    writes: ['dist/web/app.js', 'dist/web/redoc.js'],
    commands: [PAGE],
  },
  /** Everything but what runs in browsers. */
  compile: {
    reads: ['src', 'test', 'bench', 'scripts'],
    writes: ['dist/src/cli/quotebook.js', 'dist/bench/run.js'],
    commands: ['tsc -p tsconfig.json', LIBRARIES],
  },
  /** The tests of the page. */
  browser: {
    reads: ['src', 'web', 'test'],
    writes: ['dist/test/browser/browser.js'],
    commands: ['tsc -p test/browser'],
  },
};

const [name = ''] = process.argv.slice(2);
const step = Object.hasOwn(steps, name) ? steps[name] : null;
if (step === null) throw new Error(`say which of ${Object.keys(steps).join(', ')}`);
const stamp = path.join(root, `dist/${name}.stamp`);
const now = [...TOOLS, ...step.reads].flatMap(filesIn).sort().map(described).join('\n');
const isThere = step.writes.every((file) => existsSync(path.join(root, file)));
if (!isThere || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== now) {
  rmSync(stamp, { force: true });
  const PATH = `${path.join(root, 'node_modules/.bin')}${path.delimiter}${process.env.PATH}`;
  for (const command of step.commands) {
    const { status } = spawnSync(command, { cwd: root, shell: true, stdio: 'inherit', env: { ...process.env, PATH } });
    if (status !== 0) process.exit(status ?? 1);
  }
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, now);
}

function filesIn(name) {
  const whole = path.join(root, name);
  if (!statSync(whole).isDirectory()) return [name];
  return readdirSync(whole, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const file = path.join(name, entry.name);
    if (entry.isDirectory()) return filesIn(file);
    return entry.isFile() ? [file] : [];
  });
}

function described(file) {
  const { size, mtimeMs } = statSync(path.join(root, file));
  return `${file} ${size} ${mtimeMs}`;
}
