import { Worker } from 'node:worker_threads';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { BoundedRequest, PastLogOptions } from './past-log.js';
import type { PastAnswer } from './questions.js';

/** Data that the worker starts with. */
export interface PastWork extends PastLogOptions {
  readonly directory: string;
}

/** A message to the worker. */
export interface PastQuestion {
  readonly id: number;
  readonly request: BoundedRequest;
}

/** A message of the worker. */
export type PastMessage =
  | { readonly type: 'ANSWER'; readonly id: number; readonly answer: PastAnswer }
  | { readonly type: 'FAILED'; readonly id: number; readonly message: string };

export interface PastThreadLimits {
  /** Questions that are answered or wait. */
  readonly pastReads: number;
  /** The thread ends when nothing was asked for so long, and gives its memory back. */
  readonly pastIdleMs: number;
  /** Of the thread's heap: beyond it the thread ends, and the question that it was at fails. */
  readonly pastHeapMb: number;
}

interface Waiter {
  readonly resolve: (answer: PastAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Has a `PastLog` of the log in a directory answer in a thread of its own, one question after another. The thread runs
 * while it is asked.
 */
export class PastThread {
  readonly #work: PastWork;
  readonly #clock: Clock;
  readonly #limits: PastThreadLimits;
  readonly #waiting = new Map<number, Waiter>();
  #worker: Worker | null = null;
  #lastId = 0;
  #cancelEnd: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(work: PastWork, clock: Clock, limits: PastThreadLimits) {
    this.#work = work;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Rejects where the log cannot be read. */
  ask(request: BoundedRequest): Promise<PastAnswer> {
    if (this.#isClosed || this.#waiting.size >= this.#limits.pastReads) return Promise.resolve({ type: 'BUSY' });
    this.#cancelEnd();
    this.#worker ??= this.#start();
    const id = (this.#lastId += 1);
    const answer = new Promise<PastAnswer>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#worker.postMessage({ id, request } satisfies PastQuestion);
    return answer;
  }

  /** Ends the thread; questions that wait are answered BUSY, and so are later ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { resolve } of this.#waiting.values()) resolve({ type: 'BUSY' });
    this.#waiting.clear();
    await this.#end();
  }

  #start(): Worker {
    const { pastHeapMb } = this.#limits;
    const worker = new Worker(new URL('./past-worker.js', import.meta.url), {
      workerData: this.#work,
      resourceLimits: { maxOldGenerationSizeMb: pastHeapMb },
    });
    worker.unref();
    worker.on('message', (message: PastMessage) => this.#hear(message));
    worker.on('error', (error: Error) => this.#failAll(worker, error));
    worker.on('exit', (code) => this.#failAll(worker, new Error(`the thread that reads the log ended with ${code}`)));
    return worker;
  }

  #hear(message: PastMessage): void {
    const waiter = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === 'ANSWER') waiter?.resolve(message.answer);
    else waiter?.reject(new Error(message.message));
    if (this.#waiting.size > 0 || this.#isClosed) return;
    this.#cancelEnd = this.#clock.after(this.#limits.pastIdleMs, () => void this.#end());
  }

  #failAll(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #end(): Promise<void> {
    this.#cancelEnd();
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}
