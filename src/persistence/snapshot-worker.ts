import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from './logger.js';
import { openNodeDisk } from './node-disk.js';
import { makeSnapshot } from './snapshot-maker.js';
import type { SnapshotSaying, SnapshotWork } from './snapshot-thread.js';

/** The thread's whole life: one snapshot. `snapshotThread` starts it. */
const { directory, request } = workerData as SnapshotWork;

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
