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
  /** It has started. */
  | { readonly type: 'READY' }
  | { readonly type: 'ANSWER'; readonly id: number; readonly answer: PastAnswer }
  | { readonly type: 'FAILED'; readonly id: number; readonly message: string };

export interface PastThreadLimits {
  /** Questions that are answered or wait. */
  readonly pastReads: number;
  /** The thread ends when nothing was asked for so long, and gives its memory back. */
  readonly pastIdleMs: number;
  /** Of the thread's heap: beyond it the thread ends, and the question that it was answering fails. */
  readonly pastHeapMb: number;
}

interface Waiter {
  readonly request: BoundedRequest;
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
  /** By id, oldest first: the thread is answering the first one. */
  readonly #waiting = new Map<number, Waiter>();
  #worker: Worker | null = null;
  #isReady = false;
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
    const answer = new Promise<PastAnswer>((resolve, reject) => this.#waiting.set(id, { request, resolve, reject }));
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
    worker.on('error', (error: Error) => this.#onEnd(worker, error));
    worker.on('exit', (code) => this.#onEnd(worker, new Error(`the thread that reads the log ended with ${code}`)));
    this.#isReady = false;
    return worker;
  }

  #hear(message: PastMessage): void {
    if (message.type === 'READY') {
      this.#isReady = true;
      return;
    }
    const waiter = this.#waiting.get(message.id);
    if (waiter === undefined) return;
    this.#waiting.delete(message.id);
    if (message.type === 'ANSWER') waiter.resolve(message.answer);
    else waiter.reject(new Error(message.message));
    if (this.#waiting.size > 0 || this.#isClosed) return;
    this.#cancelEnd = this.#clock.after(this.#limits.pastIdleMs, () => void this.#end());
  }

  /** Only the question that ended the thread fails; a new thread answers the others. */
  #onEnd(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    // Where the start fails, another thread would not answer the others, either.
    this.#fail(this.#isReady ? 1 : Infinity, error);
    if (this.#waiting.size === 0) return;
    try {
      const next = this.#start();
      this.#worker = next;
      for (const [id, { request }] of this.#waiting) next.postMessage({ id, request } satisfies PastQuestion);
    } catch (failure) {
      this.#fail(Infinity, failure as Error);
    }
  }

  /** Of the questions that wait, the oldest ones. */
  #fail(most: number, error: Error): void {
    for (const [id, { reject }] of [...this.#waiting].slice(0, most)) {
      this.#waiting.delete(id);
      reject(error);
    }
  }

  async #end(): Promise<void> {
    this.#cancelEnd();
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}
