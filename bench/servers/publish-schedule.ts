import type { Quote } from '../../src/engine/quote.js';

/** Events for a server to publish: bursts at a fixed rate, however long each takes. */
export interface PublishSchedule {
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

export interface PublishDialogue {
  /**
   * Prepares the quotes of the next `PUBLISH`, and for a baseline everything that it needs of them. The time that this
   * takes is not measured.
   */
  READY: { given: PublishSchedule; answer: null };
  /** When each was published: committed, or handed to the library. In microseconds of CLOCK_MONOTONIC. */
  PUBLISH: { given: PublishSchedule; answer: readonly number[] };
}

/** Of CLOCK_MONOTONIC, which all processes of a machine share. */
export function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Calls `publish` with the items of each burst; a burst that is late follows at once. */
export async function onSchedule<T>(
  { bursts, perBurst, everyMs }: PublishSchedule,
  items: readonly T[],
  publish: (items: readonly T[]) => void,
): Promise<void> {
  const startMs = performance.now();
  for (let burst = 0; burst < bursts; burst++) {
    const waitMs = startMs + burst * everyMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    publish(items.slice(burst * perBurst, (burst + 1) * perBurst));
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
export async function publishCommitted(
  schedule: PublishSchedule,
  quotes: readonly Quote[],
  { index, listen, enter }: CommittedBook,
): Promise<readonly number[]> {
  const publishedAt: number[] = [];
  const firstIndex = index() + 1;
  const count = schedule.bursts * schedule.perBurst;
  const allCommitted = new Promise<void>((resolve) => {
    listen((committed) => {
      const now = nowMicros();
      while (publishedAt.length < count && firstIndex + publishedAt.length <= committed) publishedAt.push(now);
      if (publishedAt.length === count) resolve();
    });
  });
  await onSchedule(schedule, quotes, (burst) => {
    for (const quote of burst) enter(quote);
  });
  await allCommitted;
  listen(() => undefined);
  return publishedAt;
}
