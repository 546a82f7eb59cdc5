import { lockFile } from '../../src/persistence/disk/file-lock.js';

/**
 * A process for node-lock.test.ts: takes the lock on the file that it is told, says what came of it, and stays until it
 * is killed.
 */
const [path = ''] = process.argv.slice(2);
console.log((await lockFile(path)) === null ? 'refused' : 'held');
setInterval(() => undefined, 1_000_000);
