import { parentPort, workerData } from 'node:worker_threads';
import { PersistenceError } from '../disk/disk.js';
import { openNodeDisk } from '../disk/node-disk.js';
import { surveyLog } from '../log/log-scanner.js';
import type { SurveySaying, SurveyWork } from './scan-thread.js';

/** The thread's whole life: one survey. `surveyThread` starts it. */
const { directory, epoch } = workerData as SurveyWork;

const say = (saying: SurveySaying): void => parentPort?.postMessage(saying);

try {
  const disk = await openNodeDisk(directory);
  const survey = await surveyLog(disk, Buffer.from(epoch), (passed) => say({ type: 'PASSED', passed }));
  say({ type: 'DONE', survey });
} catch (error) {
  const { message, code, errno } = error as NodeJS.ErrnoException;
  const place = error instanceof PersistenceError ? error.place : undefined;
  say({ type: 'FAILED', message, code, errno, place });
}
