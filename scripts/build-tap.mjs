// Leaves out of tap what .taprc excludes. As it is installed, tap has all of its own plugins built in. Its first run
// builds it anew, and yet loads them into the process of each test. So it is built before: after each `npm ci`, in 5 s,
// without the network.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const excluded = [...readFileSync('.taprc', 'utf8').matchAll(/'!(@tapjs\/[a-z-]+)'/g)].map(([, name]) => name);
const require = createRequire(import.meta.url);
const tapBuilt = path.join(path.dirname(require.resolve('@tapjs/test/package.json')), 'test-built/dist/esm/index.js');
const loaded = () => excluded.filter((name) => readFileSync(tapBuilt, 'utf8').includes(`from "${name}"`));

if (loaded().length > 0) {
  const tap = path.join(path.dirname(require.resolve('tap/package.json')), 'dist/esm/run.mjs');
  execFileSync(process.execPath, [tap, 'build'], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (loaded().length > 0) throw new Error(`tap still loads ${loaded().join(', ')}`);
}
