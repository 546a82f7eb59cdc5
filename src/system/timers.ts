import type { CancelTimer, Clock } from '../engine/ports.js';

/** For work that goes in pieces: resolves when whoever waits for the event loop has had a turn. */
export function yieldToEventLoop(clock: Pick<Clock, 'after'>): Promise<void> {
  return new Promise((resolve) => clock.after(0, resolve));
}

/** Work for one client that is done in slices, no faster than its quota allows. */
export interface PacedWork {
  /** Resolves when the next slice may be done; other clients had their turn meanwhile. */
  turn(): Promise<void>;
  /** Counts a slice that was done. `rows`: quotes, events or levels that it wrote, or a share of those that it read. */
  charge(rows: number, bytes: number): void;
}

/** For work that is small enough to need neither. */
export const UNPACED: PacedWork = { turn: () => Promise.resolve(), charge: () => undefined };

/** Reading a row without writing it costs about a twentieth of writing it: so many are charged as one. */
export const ROWS_READ_PER_ROW = 20;

/** Rows that are charged for reading `count` of them. */
export function rowsChargedForReading(count: number): number {
  return Math.ceil(count / ROWS_READ_PER_ROW);
}

/** How long one asker waits, from when it is made, for what goes on without it. */
export class Deadline {
  readonly #untilMs: number;

  constructor(
    private readonly clock: Clock,
    ms: number,
  ) {
    this.#untilMs = clock.monotonicMs() + ms;
  }

  /** What comes of it, unless that takes too long. */
  async wait<T>(end: Promise<T>): Promise<T | 'TOO_LONG'> {
    let cancel: CancelTimer = () => undefined;
    const tooLong = new Promise<'TOO_LONG'>((resolve) => {
      const leftMs = Math.max(0, this.#untilMs - this.clock.monotonicMs());
      cancel = this.clock.after(leftMs, () => resolve('TOO_LONG'));
    });
    return Promise.race([end, tooLong]).finally(cancel);
  }
}

/** Of what a node shows: it is believed when it has been shown for long enough. */
export class GracePeriod {
  #sinceMs: number | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {}

  /** It is shown now. True: it has been for `patienceMs`. */
  isOver(): boolean {
    const now = this.clock.monotonicMs();
    this.#sinceMs ??= now;
    return now - this.#sinceMs >= this.patienceMs;
  }

  /** It is not shown any more. */
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
    // The workers share one iterator: each takes the next item that nobody has.
    for (const [index, item] of waiting) results[index] = await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, items.length) }, worker));
  return results;
}

/** Both results, or the first one's failure, or the other's. Nothing is under way any more when it is settled. */
export async function settleBoth<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}
