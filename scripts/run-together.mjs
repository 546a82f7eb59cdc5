// Runs test files of one folder in one process, one after the other: what they import is loaded once, which is half a
// second of a core and more for each other file. suite.mjs starts it. The first argument is a name that no other process
// of the run has.
//   node scripts/run-together.mjs 'dist/test/quota 1' dist/test/quota/limits.test.js ...
import { once } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

// tap names directories of tests by the program and all of its arguments.
const [, name, ...files] = process.argv.splice(1);
process.argv.push(path.resolve(name));
const { default: t } = await import('tap');
/** Of the file that runs, for its end: tap keeps them until all files are over, and ends when it is idle between two. */
const teardowns = [];
// The limit of all of them is TAP_TIMEOUT: one that a file sets would count from the first one's start.
t.setTimeout = () => undefined;
t.teardown = t.after = (task) => teardowns.push(task);
for (const file of files) {
  try {
    await import(pathToFileURL(file).href);
    while (!t.idle) await once(t, 'idle');
  } finally {
    // Also of a file that fails before its tests: what it started would keep the process alive.
    for (const task of teardowns.splice(0).reverse()) await task();
  }
}
