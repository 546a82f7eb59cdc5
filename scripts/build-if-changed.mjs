// Compiles the service and builds its page, unless nothing changed since that was done: for `npm start`. It compares
// the name, size and time of each source file and of the files that say how it is compiled.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.dirname(path.dirname(new URL(import.meta.url).pathname));
const stamp = path.join(root, 'dist/start.stamp');
const BUILT = ['dist/src/cli/quotebook.js', 'dist/web/app.js'];

const sources = ['src', 'web', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
for (const each of ['build-page', 'bundle-libraries']) sources.push(`scripts/${each}.mjs`);
const now = sources.flatMap(filesIn).sort().map(described).join('\n');
const isBuilt = BUILT.every((file) => existsSync(path.join(root, file)));
if (!isBuilt || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== now) {
  const run = (...args) => execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  // Where tests are compiled, with them: what did not change is not written again then, and tests may be running.
  const withTests = existsSync(path.join(root, 'dist/test.tsbuildinfo'));
  run(tsc, '-p', withTests ? 'tsconfig.json' : 'tsconfig.build.json', '--noCheck');
  run('scripts/bundle-libraries.mjs');
  run('scripts/build-page.mjs');
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, now);
}

function filesIn(name) {
  const whole = path.join(root, name);
  if (!statSync(whole).isDirectory()) return [name];
  const below = readdirSync(whole, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return below.map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)));
}

function described(file) {
  const { size, mtimeMs } = statSync(path.join(root, file));
  return `${file} ${size} ${mtimeMs}`;
}
