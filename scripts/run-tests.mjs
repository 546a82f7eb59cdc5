// Runs the compiled test files of some folders, prints what failed, and exits 1 then.
//   node scripts/run-tests.mjs --jobs=2 --timeout=300 --except=faults,load --output-file=dist/tests.tap dist/test
// `timeout`: of one file, seconds; files that share a process have the sum. `except`: folders in the given ones.
// `first`: files that take longest. `alone`: files that measure time: they run last, with nothing beside them. Both name
// files of `root` (dist/test), in the given folders or not. `together`: folders of `root` whose files share a process.
// `output-file`: where their TAP goes.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

const given = process.argv.slice(2);
const isForTap = (argument) => argument.startsWith('--output-file=');
const tap = path.join(path.dirname(createRequire(import.meta.url).resolve('tap/package.json')), 'dist/esm/run.mjs');
// Each file has a timeout of its own, all of them together none.
const options = ['--disable-coverage', '--reporter=terse', '--timeout=0', ...given.filter(isForTap)];
const ofSuite = given.filter((argument) => !isForTap(argument)).map((argument) => `--test-arg=${argument}`);
const { status } = spawnSync(process.execPath, [tap, 'run', ...options, ...ofSuite, 'scripts/suite.mjs'], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
