// Writes the libraries that come as hundreds of small modules as one file each to dist/node_modules, where what is
// compiled finds them before those in node_modules. As they are installed, a process spends half of its start on loading
// them: tests, `npm start` and each engine that a test kills gain by it. The packages for users bring them as they are.
// Leaves alone what is there of the installed version: tests may be running.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

/** What is imported from each, by its path in the package. */
const libraries = {
  'fast-check': ['.'],
  typebox: ['.', './compile'],
  viem: ['.', './accounts', './actions', './chains', './siwe', './utils'],
};
const root = path.dirname(path.dirname(new URL(import.meta.url).pathname));

for (const [name, imported] of Object.entries(libraries)) {
  const { version } = JSON.parse(readFileSync(path.join(root, 'node_modules', name, 'package.json'), 'utf8'));
  const fileOf = (each) => (each === '.' ? 'index' : path.basename(each));
  const exports = Object.fromEntries(imported.map((each) => [each, `./${fileOf(each)}.js`]));
  const described = JSON.stringify({ name, version, type: 'module', exports });
  const outdir = path.join(root, 'dist/node_modules', name);
  const description = path.join(outdir, 'package.json');
  if (existsSync(description) && readFileSync(description, 'utf8') === described) continue;
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(imported.map((each) => [fileOf(each), path.posix.join(name, each)])),
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: ['ws'],
    logLevel: 'warning',
  });
  // Last, so that a broken-off run is repeated.
  writeFileSync(description, described);
}
