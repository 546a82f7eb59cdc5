import { Worker } from 'node:worker_threads';
import { type LogPlace, PersistenceError, type PersistenceFault } from '../disk/disk.js';
import type { LogPoint } from '../format/header.js';
import type { LogScan, PassedSegment, ScannedSegment } from '../log/log-scanner.js';
import type { StartScan } from './recovery.js';

/** Data that the worker starts with. */
export interface ScanWork {
  readonly directory: string;
  readonly epoch: Uint8Array;
}

/** How far the worker is, and at last how it ended. `code` is a PersistenceFault or the system's. */
export type ScanMessage =
  | { readonly type: 'PASSED'; readonly passed: PassedSegment }
  | { readonly type: 'DONE'; readonly scan: LogScan }
  | {
      readonly type: 'FAILED';
      readonly message: string;
      readonly code: string | undefined;
      readonly errno: number | undefined;
      /** As PersistenceError has it; undefined: it was another error. */
      readonly place: LogPlace | null | undefined;
    };

/** As `scanLog` of the log in `directory`, in a worker thread. `onRead` gets the bytes of each segment that it has read. */
export function scanInThread(directory: string, onRead: (bytes: number) => void = () => undefined): StartScan {
  return (epoch) => {
    const passed = new AsyncQueue<PassedSegment>();
    const scan = new Promise<LogScan>((resolve, reject) => {
      const workerData: ScanWork = { directory, epoch: Uint8Array.from(epoch) };
      const worker = new Worker(new URL('./scan-worker.js', import.meta.url), { workerData });
      worker.on('message', (saying: ScanMessage) => {
        if (saying.type === 'PASSED') {
          const { segment } = saying.passed;
          onRead(segment.madeBytes > 0 ? segment.madeBytes : segment.end);
          passed.push({ ...saying.passed, segment: atPoints(segment) });
        } else if (saying.type === 'DONE') resolve(withBuffers(saying.scan));
        else reject(errorOf(saying));
      });
      worker.on('error', reject);
      worker.on('exit', (code) => reject(new Error(`the thread that reads the log ended with ${code}`)));
    });
    const end = (): void => passed.end();
    scan.then(end, end);
    return { passed, scan };
  };
}

function errorOf({ message, code, errno, place }: ScanMessage & { readonly type: 'FAILED' }): Error {
  if (place === undefined) return Object.assign(new Error(message), { code, errno });
  const error = new PersistenceError(code as PersistenceFault, message);
  // The message has the place in it already.
  return Object.assign(error, { place });
}

/** Restores Buffers: a message from another thread has plain byte arrays in their place. */
function withBuffers(scan: LogScan): LogScan {
  const segments = scan.segments.map(atPoints);
  const chains = new Map([...scan.chains].map(([group, chain]) => [group, Buffer.from(chain)]));
  return { ...scan, epoch: Buffer.from(scan.epoch), segments, last: atPoint(scan.last), chains };
}

function atPoints(segment: ScannedSegment): ScannedSegment {
  return { ...segment, first: atPoint(segment.first), last: atPoint(segment.last) };
}

function atPoint(point: LogPoint): LogPoint {
  return { ...point, chain: Buffer.from(point.chain) };
}

/** An unbounded queue between one producer and one reader. */
export class AsyncQueue<Item> implements AsyncIterable<Item> {
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
