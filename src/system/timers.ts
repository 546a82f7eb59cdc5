import type { CancelTimer, Clock, Random } from '../engine/ports.js';

export const DAY_SECONDS = 86_400;
export const DAY_MS = DAY_SECONDS * 1000;

/** For work that is done in pieces: resolves after the event loop has run everything else that is ready. */
export function yieldToEventLoop(clock: Pick<Clock, 'after'>): Promise<void> {
  return pause(clock, 0);
}

/** Resolves after so many milliseconds. */
export function pause(clock: Pick<Clock, 'after'>, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve));
}

/**
 * Runs `task` again and again, each time `pauseMs` after its last run has ended; the first time after one pause. Returns
 * how to stop: no further run starts.
 */
export function repeat(
  clock: Pick<Clock, 'after'>,
  pauseMs: number,
  task: () => Promise<unknown>,
  onFault: (error: unknown) => void,
): () => void {
  let isStopped = false;
  let cancel: CancelTimer = () => undefined;
  const wait = (): void => {
    cancel = clock.after(pauseMs, () => {
      task()
        .catch(onFault)
        .finally(() => {
          if (!isStopped) wait();
        });
    });
  };
  wait();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Bounds of the pauses between two tries, milliseconds. */
export interface BackoffBounds {
  readonly backoffMs: number;
  /** Absent: the number of tries bounds it. */
  readonly maxBackoffMs?: number;
}

/** The pause after that many failures in a row, from 1: its longest doubles each time, and it has full jitter. */
export function backoff(
  { backoffMs, maxBackoffMs = Infinity }: BackoffBounds,
  failures: number,
  random: Pick<Random, 'unit'>,
): number {
  return Math.min(backoffMs * 2 ** (failures - 1), maxBackoffMs) * random.unit();
}

/**
 * Resolves after all pending microtasks have run, in the same turn of the event loop: later than any chain of promises
 * that are settled by now.
 */
export function afterMicrotasks(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}

/** A point in time after which a caller stops waiting; the work itself goes on. It starts when this is made. */
export class Deadline {
  readonly #untilMs: number;

  constructor(
    private readonly clock: Clock,
    ms: number,
  ) {
    this.#untilMs = clock.monotonicMs() + ms;
  }

  /** Resolves or rejects as `end` does; resolves to 'TOO_LONG' when the deadline comes first. */
  async wait<T>(end: Promise<T>): Promise<T | 'TOO_LONG'> {
    let cancel: CancelTimer = () => undefined;
    const tooLong = new Promise<'TOO_LONG'>((resolve) => {
      const leftMs = Math.max(0, this.#untilMs - this.clock.monotonicMs());
      cancel = this.clock.after(leftMs, () => resolve('TOO_LONG'));
    });
    return Promise.race([end, tooLong]).finally(cancel);
  }
}

/** Debounces an observation: it counts only after it has held without a break for `patienceMs`. */
export class GracePeriod {
  #sinceMs: number | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {}

  /** The condition holds now. True once it has held for `patienceMs`. */
  isOver(): boolean {
    const now = this.clock.monotonicMs();
    this.#sinceMs ??= now;
    return now - this.#sinceMs >= this.patienceMs;
  }

  /** The condition does not hold any more. */
  end(): void {
    this.#sinceMs = null;
  }
}

/** Runs `task` for every item, at most `inFlight` of them at a time; results in the order of the items. */
export async function mapLimit<T, R>(
  items: readonly T[],
  inFlight: number,
  task: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    // The workers share one iterator: each takes the next free item.
    for (const [index, item] of waiting) results[index] = await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, items.length) }, worker));
  return results;
}

/** Waits until both have settled; then resolves to both results or rejects with the first argument's error, else the second's. */
export async function settleBoth<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}
