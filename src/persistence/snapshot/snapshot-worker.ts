import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from '../disk/disk.js';
import { openNodeDisk } from '../disk/node-disk.js';
import { makeSnapshot, type SnapshotMessage, type SnapshotWork } from './snapshot-process.js';

/** The thread's whole life: one snapshot. The process of `snapshot-child.ts` starts it. */
const { directory, request } = workerData as SnapshotWork;

const say = (saying: SnapshotMessage): void => parentPort?.postMessage(saying);
const warn: Logger['warn'] = (details, message) => say({ type: 'WARN', details, message });

try {
  const disk = await openNodeDisk(directory);
  const marker = await makeSnapshot(disk, request, { info: () => undefined, warn, error: warn });
  say({ type: 'DONE', marker });
} catch (error) {
  const { message, code, errno } = error as NodeJS.ErrnoException;
  say({ type: 'FAILED', message, code, errno });
}
