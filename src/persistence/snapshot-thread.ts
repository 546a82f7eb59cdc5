import { Worker } from 'node:worker_threads';
import type { Logger } from './logger.js';
import type { SnapshotNote } from './notes.js';
import type { SnapshotRequest } from './snapshot-maker.js';

/** What the worker is started with. */
export interface SnapshotWork {
  readonly directory: string;
  readonly request: SnapshotRequest;
}

/** What the worker says: lines for the text log, and last how it ended. */
export type SnapshotSaying =
  | { readonly type: 'WARN'; readonly details: object; readonly message: string }
  | { readonly type: 'DONE'; readonly note: SnapshotNote }
  | {
      readonly type: 'FAILED';
      readonly message: string;
      readonly code: string | undefined;
      readonly errno: number | undefined;
    };

/** Makes snapshots of the log in `directory` in a worker thread, so that the engine's thread does no more than wait. */
export function snapshotThread(directory: string, logger: Logger): (request: SnapshotRequest) => Promise<SnapshotNote> {
  return (request) =>
    new Promise((resolve, reject) => {
      const workerData: SnapshotWork = { directory, request };
      const worker = new Worker(new URL('./snapshot-worker.js', import.meta.url), { workerData });
      worker.on('message', (saying: SnapshotSaying) => {
        if (saying.type === 'WARN') logger.warn(saying.details, saying.message);
        else if (saying.type === 'DONE') resolve(saying.note);
        else reject(Object.assign(new Error(saying.message), { code: saying.code, errno: saying.errno }));
      });
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`the snapshot's thread ended with ${code}`)));
    });
}
