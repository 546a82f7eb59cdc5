import { parentPort, workerData } from 'node:worker_threads';
import { nodeDiskAt } from '../persistence/disk/node-disk.js';
import { PastLog } from './past-log.js';
import type { PastMessage, PastQuestion, PastWork } from './past-thread.js';

/** The thread's whole life: it answers one question after another. `PastThread` starts it. */
const { directory, ...options } = workerData as PastWork;
let past: PastLog | null = null;
let answering = Promise.resolve();

parentPort?.on('message', ({ id, request }: PastQuestion) => {
  answering = answering.then(async () => {
    try {
      // A log that could not be opened may be opened for the next question.
      past ??= await PastLog.open(nodeDiskAt(directory), options);
      const answer = await past.answer(request);
      // The body's memory goes to the other thread as it is, where it has an ArrayBuffer of its own.
      if (answer.type !== 'FOUND') return say({ type: 'ANSWER', id, answer });
      const body = Uint8Array.from(answer.body);
      say({ type: 'ANSWER', id, answer: { ...answer, body } }, body.buffer);
    } catch (error) {
      say({ type: 'FAILED', id, message: (error as Error).message });
    }
  });
});

say({ type: 'READY' });

function say(message: PastMessage, moved?: ArrayBuffer): void {
  parentPort?.postMessage(message, moved === undefined ? [] : [moved]);
}
