import { lockFile } from '../../src/persistence/disk/file-lock.js';

/**
 * A process for file-lock.test.ts: takes the lock on the file of its argument, prints the result, and runs until it is
 * killed.
 */
const [path = ''] = process.argv.slice(2);
console.log((await lockFile(path)) === null ? 'refused' : 'held');
setInterval(() => undefined, 1_000_000);
