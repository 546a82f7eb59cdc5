import type { Quote } from '../../src/engine/quote.js';

/** Events that a server is to tell its subscribers: so many at a time, at a fixed rate whatever becomes of them. */
export interface Telling {
  /** Number of the first quote. */
  readonly first: number;
  readonly bursts: number;
  readonly perBurst: number;
  readonly everyMs: number;
}

/** Numbers of quotes that were not published yet: a book takes each quote once. */
export class FreshNumbers {
  #next = 0;

  /** The first of so many. */
  take(count: number): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }
}

export interface TellingDialogue {
  /**
   * Prepares the quotes of the next `TELL`, and for a baseline everything that it needs of them. The time that this
   * takes is not measured.
   */
  READY: { given: Telling; answer: null };
  /** When each was published: committed, or handed to the library. In microseconds of CLOCK_MONOTONIC. */
  TELL: { given: Telling; answer: readonly number[] };
}

/** Of CLOCK_MONOTONIC, which all processes of a machine share. */
export function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Calls `tell` with the items of each burst; a burst that is late is made up for at once. */
export async function onSchedule<T>(
  { bursts, perBurst, everyMs }: Telling,
  items: readonly T[],
  tell: (items: readonly T[]) => void,
): Promise<void> {
  const startMs = performance.now();
  for (let burst = 0; burst < bursts; burst++) {
    const waitMs = startMs + burst * everyMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    tell(items.slice(burst * perBurst, (burst + 1) * perBurst));
  }
}

/** Where quotes enter a book, and who hears of its commits. */
export interface CommittedBook {
  /** Of the last record. */
  readonly index: () => number;
  /** In place of the listener before. */
  readonly listen: (listener: (index: number) => void) => void;
  readonly enter: (quote: Quote) => void;
}

/** Enters quotes on schedule, one record each. Resolves when all are committed, to when each was. */
export async function tellCommitted(
  telling: Telling,
  quotes: readonly Quote[],
  { index, listen, enter }: CommittedBook,
): Promise<readonly number[]> {
  const toldAt: number[] = [];
  const firstIndex = index() + 1;
  const count = telling.bursts * telling.perBurst;
  const allTold = new Promise<void>((resolve) => {
    listen((committed) => {
      const now = nowMicros();
      while (toldAt.length < count && firstIndex + toldAt.length <= committed) toldAt.push(now);
      if (toldAt.length === count) resolve();
    });
  });
  await onSchedule(telling, quotes, (burst) => {
    for (const quote of burst) enter(quote);
  });
  await allTold;
  listen(() => undefined);
  return toldAt;
}
