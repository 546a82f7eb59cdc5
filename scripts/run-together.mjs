// Runs the test files of one folder in one process, one after the other: what they import is loaded once, which is half a
// second of a core for each other file. suite.mjs starts it.
//   node scripts/run-together.mjs dist/test/quota dist/test/quota/limits.test.js ...
import path from 'node:path';
import { pathToFileURL } from 'node:url';

// tap names directories of tests by the program and all of its arguments.
const [, folder, ...files] = process.argv.splice(1);
process.argv.push(path.resolve(folder));
for (const file of files) await import(pathToFileURL(file).href);
