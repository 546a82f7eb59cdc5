import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import type { SnapshotMessage } from './snapshot-process.js';

/**
 * The process that `SnapshotProcess` starts: idle until it is asked for a snapshot, which a thread makes, so that its
 * memory goes back to the system with the thread, and this one hears at once that the parent is gone.
 */

/**
 * The engine goes first. Linux keeps a priority for each thread, and a new one has that of the thread that makes it: so
 * these are all that there will be. Elsewhere it is the whole process's.
 */
const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
for (const thread of threads) setPriority(thread, constants.priority.PRIORITY_LOW);

const say = (saying: SnapshotMessage): void => {
  // Where the parent is gone, so is this process in a moment.
  process.send?.(saying, () => undefined);
};

process.on('message', (workerData: unknown) => {
  const worker = new Worker(new URL('./snapshot-worker.js', import.meta.url), { workerData });
  worker.on('message', say);
  worker.on('error', ({ message }) => say({ type: 'FAILED', message, code: undefined, errno: undefined }));
});
process.on('disconnect', () => process.exit());

// A terminal's Ctrl-C and some supervisors' stop reach every process of the service: this one is ended by its parent.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
