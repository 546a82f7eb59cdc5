// Runs the test files of one folder in one process, one after the other: what they import is loaded once, which is half a
// second of a core for each other file. suite.mjs starts it.
//   node scripts/run-together.mjs dist/test/quota dist/test/quota/limits.test.js ...
import path from 'node:path';
import { pathToFileURL } from 'node:url';

// tap names directories of tests by the program and all of its arguments.
const [, folder, ...files] = process.argv.splice(1);
process.argv.push(path.resolve(folder));
const { default: t } = await import('tap');
// With one, tap ends as soon as it is idle, perhaps before the next file is loaded, and refuses that file's tests.
t.teardown = () => {
  throw new Error(`A file in ${folder} has a teardown of its own: take the folder out of TOGETHER in suite.mjs`);
};
for (const file of files) await import(pathToFileURL(file).href);
