/** Events that a server is to tell its subscribers: so many at a time, at a fixed rate whatever becomes of them. */
export interface Telling {
  /** Number of the first quote. */
  readonly first: number;
  readonly bursts: number;
  readonly perBurst: number;
  readonly everyMs: number;
}

/** Numbers that no quote was told under: a book takes each quote once. */
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
  /** When each was told: committed, or handed to the library. In microseconds of the system's monotonic clock. */
  TELL: { given: Telling; answer: readonly number[] };
}

/** Of CLOCK_MONOTONIC, which all processes of a machine share. */
export function nowMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** Calls `tell` with the number of each burst's first quote; a burst that is late is made up for at once. */
export async function onSchedule({ first, bursts, perBurst, everyMs }: Telling, tell: (n: number) => void) {
  const startMs = performance.now();
  for (let burst = 0; burst < bursts; burst++) {
    const waitMs = startMs + burst * everyMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    tell(first + burst * perBurst);
  }
}
