import { Worker } from 'node:worker_threads';
import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { yieldToEventLoop } from '../system/timers.js';
import type { QuoteSignature } from './quote-signature.js';
import { type ClaimedSignature, packAll } from './secp256k1.js';

/** The message to a worker. */
export interface SignatureJob {
  readonly id: number;
  /** Claimed signatures, packed one behind the other. */
  readonly bytes: Uint8Array;
}

/** Sent in place of a job: the worker must end. */
export const SHUT_DOWN = null;

/** The worker's answer: 1 if the signature is its provider's, else 0. */
export interface SignatureAnswer {
  readonly id: number;
  readonly verdicts: Uint8Array;
}

export interface SignaturePoolLimits {
  /** Threads, started when the first batch comes. */
  readonly signatureWorkers: number;
  /**
   * Fewer are checked at once on the caller's thread: the way to a worker and back costs as much as about two checks.
   */
  readonly signaturePoolFrom: number;
  /** Most in one message, so that small batches do not wait behind the whole of a large one. */
  readonly signaturesPerMessage: number;
}

/** The signatures of one message to a worker. */
interface Part {
  readonly claimed: readonly ClaimedSignature[];
  readonly resolve: (verdicts: readonly boolean[]) => void;
}

interface Sent {
  readonly worker: PoolWorker;
  readonly part: Part;
}

interface PoolWorker {
  readonly thread: Worker;
  /** Signatures sent to it and not answered yet. */
  load: number;
}

/**
 * Full messages ahead of a thread: it goes on for 8 ms while this one does something else. No more, so that a thread
 * that gets less of its core than the other leaves what it has not begun to that one.
 */
const MESSAGES_AHEAD = 2;

/**
 * Checks batches on threads of their own: two of them check 1.8 times as many a second as one thread (bench/), and the
 * engine's thread does something else meanwhile. A thread that dies is not started again, nor is one that the system has
 * no room for; what it had is checked by `fallback`, and so is everything while there is no thread.
 */
export class SignaturePool implements SignatureChecks {
  readonly #fallback: SignatureChecks;
  readonly #limits: SignaturePoolLimits;
  readonly #onFault: (error: unknown) => void;
  #workers: PoolWorker[] | null = null;
  readonly #sent = new Map<number, Sent>();
  /** Not sent yet, in the order in which they came. */
  readonly #queue: Part[] = [];
  #jobs = 0;

  constructor(
    fallback: SignatureChecks,
    limits: SignaturePoolLimits,
    onFault: (error: unknown) => void,
    private readonly startThread = () => new Worker(new URL('./signature-worker.js', import.meta.url)),
  ) {
    this.#fallback = fallback;
    this.#limits = limits;
    this.#onFault = onFault;
  }

  async verifyAll(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]> {
    const { signatureWorkers, signaturePoolFrom, signaturesPerMessage } = this.#limits;
    if (claimed.length < signaturePoolFrom) return this.#fallback.verifyAll(claimed);
    // A message costs about as much as two checks: a small batch goes to one thread whole.
    const share = Math.max(signaturesPerMessage / 2, Math.ceil(claimed.length / signatureWorkers));
    // Messages of one size, so that no thread has a whole one more than the other: 200 go as 4 times 50, not as 3 times
    // 64 and 8.
    const size = Math.ceil(share / Math.ceil(share / signaturesPerMessage));
    const parts: Promise<readonly boolean[]>[] = [];
    for (let start = 0; start < claimed.length; start += size) {
      parts.push(this.#enqueue(claimed.slice(start, start + size)));
    }
    return (await Promise.all(parts)).flat();
  }

  /**
   * Ends the threads; `fallback` checks queued and later signatures. Each thread ends on its own after the work that
   * it has: terminating one while it loads the native library kills the whole process (measured: one in some hundred,
   * `terminate called after throwing an instance of 'Napi::Error'`).
   */
  async close(): Promise<void> {
    const workers = this.#workers ?? [];
    this.#workers = [];
    await Promise.all(workers.map(({ thread }) => ended(thread)));
    await this.#fallback.close();
  }

  #enqueue(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]> {
    return new Promise((resolve) => {
      this.#queue.push({ claimed, resolve });
      this.#feed();
    });
  }

  /** Sends queued messages to the least loaded threads, as far as these have room. */
  #feed(): void {
    this.#workers ??= this.#startAll();
    const [first, ...others] = this.#workers;
    for (;;) {
      const worker = others.reduce((least, other) => (least && other.load < least.load ? other : least), first);
      if (worker !== undefined && worker.load >= MESSAGES_AHEAD * this.#limits.signaturesPerMessage) return;
      const part = this.#queue.shift();
      if (part === undefined) return;
      if (worker === undefined) this.#fallBack(part);
      else this.#send(part, worker);
    }
  }

  #send(part: Part, worker: PoolWorker): void {
    const id = this.#jobs++;
    this.#sent.set(id, { worker, part });
    worker.load += part.claimed.length;
    worker.thread.ref();
    const job: SignatureJob = { id, bytes: packAll(part.claimed) };
    worker.thread.postMessage(job);
  }

  #fallBack({ claimed, resolve }: Part): void {
    void this.#fallback.verifyAll(claimed).then(resolve);
  }

  /** Node throws where the system starts no more threads: a container's `pids.max`, for one. */
  #startAll(): PoolWorker[] {
    const workers: PoolWorker[] = [];
    try {
      while (workers.length < this.#limits.signatureWorkers) workers.push(this.#start());
    } catch (error) {
      this.#onFault(error);
    }
    return workers;
  }

  #start(): PoolWorker {
    const thread = this.startThread();
    const worker: PoolWorker = { thread, load: 0 };
    thread.on('message', ({ id, verdicts }: SignatureAnswer) => {
      const sent = this.#sent.get(id);
      if (sent === undefined) return;
      this.#sent.delete(id);
      worker.load -= verdicts.length;
      this.#feed();
      // A thread with nothing to do keeps no process alive, unless its end is waited for.
      if (worker.load === 0 && this.#workers?.includes(worker) === true) thread.unref();
      sent.part.resolve(Array.from(verdicts, (verdict) => verdict === 1));
    });
    thread.on('error', this.#onFault);
    thread.on('exit', () => this.#lose(worker));
    thread.unref(); // last: to listen to it holds it again
    return worker;
  }

  #lose(worker: PoolWorker): void {
    this.#workers = (this.#workers ?? []).filter((other) => other !== worker);
    for (const [id, { worker: itsWorker, part }] of this.#sent) {
      if (itsWorker !== worker) continue;
      this.#sent.delete(id);
      this.#fallBack(part);
    }
    this.#feed();
  }
}

function ended(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.once('exit', () => resolve());
    thread.ref();
    thread.postMessage(SHUT_DOWN);
  });
}

/** Checks many signatures without blocking the event loop. */
export interface SignatureChecks {
  /** In the order of `claimed`: whether each is its provider's. */
  verifyAll(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
}

/**
 * On this thread, others getting their turn after every `perTurn` checks. At 65 us a check (native), 100 take 7 ms.
 */
export class InlineSignatureChecks implements SignatureChecks {
  constructor(
    private readonly signatures: QuoteSignature,
    private readonly clock: Clock,
    private readonly perTurn: number,
  ) {}

  async verifyAll(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]> {
    const verdicts: boolean[] = [];
    for (const each of claimed) {
      if (verdicts.length > 0 && verdicts.length % this.perTurn === 0) await yieldToEventLoop(this.clock);
      verdicts.push(this.signatures.verify(each));
    }
    return verdicts;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * Signatures that were found good are good a second time: a quote that was posted here comes back as an event of the
 * chain, and its key need not be recovered again. One is forgotten when it has been asked for again, since there is
 * rarely a third time, and the oldest are when there are too many.
 */
export class SignatureCache implements SignatureChecks {
  /** By quote id, oldest first. */
  readonly #good = new Map<Hex, ClaimedSignature>();
  /**
   * All that it has passed is forgotten, so that its next is the oldest. One that begins anew each time has to pass the
   * places of all that was forgotten since the map was last put in order, which are thousands.
   */
  readonly #oldest = this.#good.keys();

  constructor(
    private readonly checks: SignatureChecks,
    /** Most that are remembered, each about 300 bytes. */
    private readonly capacity: number,
  ) {}

  async verifyAll(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]> {
    const isKnown = claimed.map((each) => this.#take(each));
    const unknown = claimed.filter((_, i) => isKnown[i] !== true);
    const verdicts = (unknown.length === 0 ? [] : await this.checks.verifyAll(unknown)).values();
    return claimed.map((each, i) => {
      if (isKnown[i] === true) return true;
      const isGood = verdicts.next().value === true;
      if (isGood) this.#remember(each);
      return isGood;
    });
  }

  close(): Promise<void> {
    this.#good.clear();
    return this.checks.close();
  }

  /** Whether this very signature was found good; it is forgotten then. */
  #take({ quoteId, provider, signature: { r, s, v } }: ClaimedSignature): boolean {
    const good = this.#good.get(quoteId);
    if (good?.provider !== provider) return false;
    const { signature } = good;
    if (signature.r !== r || signature.s !== s || signature.v !== v) return false;
    return this.#good.delete(quoteId);
  }

  #remember({ quoteId, provider, signature }: ClaimedSignature): void {
    // Not `each` itself, which is the whole quote.
    this.#good.set(quoteId, { quoteId, provider, signature });
    if (this.#good.size <= this.capacity) return;
    const oldest = this.#oldest.next();
    if (oldest.done !== true) this.#good.delete(oldest.value);
  }
}
