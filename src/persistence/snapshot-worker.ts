import { constants, setPriority } from 'node:os';
import { platform } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from './logger.js';
import { openNodeDisk } from './node-disk.js';
import { makeSnapshot } from './snapshot-maker.js';
import type { SnapshotSaying, SnapshotWork } from './snapshot-thread.js';

/** The thread's whole life: one snapshot. `snapshotThread` starts it. */
const { directory, request } = workerData as SnapshotWork;

/**
 * The engine goes first: at the same priority, with two cores, a snapshot of 100,000 quotes makes its thread wait 15 ms
 * for a core, at this one 9 ms (medians of the longest waits). Linux keeps a priority for each thread; elsewhere it
 * would be the whole process's.
 */
if (platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

const say = (saying: SnapshotSaying): void => parentPort?.postMessage(saying);
const warn: Logger['warn'] = (details, message) => say({ type: 'WARN', details, message });

try {
  const disk = await openNodeDisk(directory);
  const note = await makeSnapshot(disk, request, { info: () => undefined, warn, error: warn });
  say({ type: 'DONE', note });
} catch (error) {
  const { message, code, errno } = error as NodeJS.ErrnoException;
  say({ type: 'FAILED', message, code, errno });
}
