import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from './logger.js';
import { openNodeDisk } from './node-disk.js';
import type { SnapshotNote } from './notes.js';
import { makeSnapshot, type SnapshotRequest } from './snapshot-maker.js';

/** What the worker is started with. */
export interface SnapshotWork {
  readonly directory: string;
  readonly request: SnapshotRequest;
}

/** How it ended. */
export type SnapshotOutcome =
  | { readonly type: 'DONE'; readonly note: SnapshotNote }
  | {
      readonly type: 'FAILED';
      readonly message: string;
      readonly code: string | undefined;
      readonly errno: number | undefined;
    };

/** What the worker says: lines for the text log, and last its outcome. */
export type SnapshotSaying =
  { readonly type: 'WARN'; readonly details: object; readonly message: string } | SnapshotOutcome;

/** The thread's whole life: one snapshot. The process of `snapshot-child.ts` starts it. */
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
