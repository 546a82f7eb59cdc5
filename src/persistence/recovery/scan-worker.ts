import { parentPort, workerData } from 'node:worker_threads';
import { PersistenceError } from '../disk/disk.js';
import { openNodeDisk } from '../disk/node-disk.js';
import { scanLog } from '../log/log-scanner.js';
import type { ScanMessage, ScanWork } from './scan-thread.js';

/** The thread's whole life: one scan. `scanInThread` starts it. */
const { directory, epoch } = workerData as ScanWork;

const say = (saying: ScanMessage): void => parentPort?.postMessage(saying);

try {
  const disk = await openNodeDisk(directory);
  const scan = await scanLog(disk, Buffer.from(epoch), (passed) => say({ type: 'PASSED', passed }));
  say({ type: 'DONE', scan });
} catch (error) {
  const { message, code, errno } = error as NodeJS.ErrnoException;
  const place = error instanceof PersistenceError ? error.place : undefined;
  say({ type: 'FAILED', message, code, errno, place });
}
