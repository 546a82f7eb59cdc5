import { parentPort, workerData } from 'node:worker_threads';
import { openNodeDisk } from './node-disk.js';
import { PersistenceError } from './persistence-error.js';
import type { SurveySaying, SurveyWork } from './survey-thread.js';
import { surveyLog } from './survey.js';

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
