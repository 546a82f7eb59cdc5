import { Worker } from 'node:worker_threads';
import { type LogPlace, PersistenceError, type PersistenceFault } from '../disk/disk.js';
import type { LogPoint } from '../format/header.js';
import type { LogSurvey, PassedSegment, SurveyedSegment } from '../log/log-scanner.js';
import type { Survey } from './recovery.js';

/** What the worker is started with. */
export interface SurveyWork {
  readonly directory: string;
  readonly epoch: Uint8Array;
}

/** How far the worker is, and at last how it ended. `code` is a PersistenceFault or the system's. */
export type SurveySaying =
  | { readonly type: 'PASSED'; readonly passed: PassedSegment }
  | { readonly type: 'DONE'; readonly survey: LogSurvey }
  | {
      readonly type: 'FAILED';
      readonly message: string;
      readonly code: string | undefined;
      readonly errno: number | undefined;
      /** As PersistenceError has it; undefined: it was another error. */
      readonly place: LogPlace | null | undefined;
    };

/** As `surveyLog` of the log in `directory`, in a worker thread. */
export function surveyThread(directory: string): Survey {
  return (epoch) => {
    const passed = new Arrivals<PassedSegment>();
    const survey = new Promise<LogSurvey>((resolve, reject) => {
      const workerData: SurveyWork = { directory, epoch: Uint8Array.from(epoch) };
      const worker = new Worker(new URL('./scan-worker.js', import.meta.url), { workerData });
      worker.on('message', (saying: SurveySaying) => {
        if (saying.type === 'PASSED') passed.push({ ...saying.passed, segment: atPoints(saying.passed.segment) });
        else if (saying.type === 'DONE') resolve(withBuffers(saying.survey));
        else reject(errorOf(saying));
      });
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`the thread that reads the log ended with ${code}`)));
    });
    const end = (): void => passed.end();
    survey.then(end, end);
    return { passed, survey };
  };
}

function errorOf({ message, code, errno, place }: SurveySaying & { readonly type: 'FAILED' }): Error {
  if (place === undefined) return Object.assign(new Error(message), { code, errno });
  const error = new PersistenceError(code as PersistenceFault, message);
  // The message has the place in it already.
  return Object.assign(error, { place });
}

/** What came from another thread has bytes where there were Buffers. */
function withBuffers(survey: LogSurvey): LogSurvey {
  const segments = survey.segments.map(atPoints);
  const chains = new Map([...survey.chains].map(([group, chain]) => [group, Buffer.from(chain)]));
  return { ...survey, epoch: Buffer.from(survey.epoch), segments, last: atPoint(survey.last), chains };
}

function atPoints(segment: SurveyedSegment): SurveyedSegment {
  return { ...segment, first: atPoint(segment.first), last: atPoint(segment.last) };
}

function atPoint(point: LogPoint): LogPoint {
  return { ...point, chain: Buffer.from(point.chain) };
}

/** What comes one by one, for one reader who may be behind. */
export class Arrivals<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #isOver = false;
  #wake: () => void = () => undefined;

  push(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing comes any more. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#isOver) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
