import type { EngineEvent } from '../engine/event.js';

/** An event with the stamp of its record. */
export interface TimedEvent {
  readonly event: EngineEvent;
  /** Engine time, milliseconds. */
  readonly tsMs: number;
}

/** Null: no longer kept. BUSY: too many reads of the log are waiting, retry later. */
export type PastEventsPage = readonly TimedEvent[] | null | 'BUSY';

/** Published events, for readers that missed some. */
export interface EventHistory {
  /** Every event with a greater number can be read, up to the newest that is durable. */
  readonly since: number;
  /**
   * Events with a number greater than `afterSeq`, the oldest first, at most `limit`, of records up to `throughIndex`,
   * which are durable.
   */
  read(afterSeq: number, limit: number, throughIndex: number): Promise<PastEventsPage>;
  /**
   * Events of engine time `sinceMs` and later, as far as they are kept, the oldest first, of records up to
   * `throughIndex`, which are durable. A part of them at a time, between which the caller may let others have their
   * turn.
   */
  readSince(sinceMs: number, throughIndex: number): AsyncIterable<readonly TimedEvent[]>;
}

/**
 * Unix seconds up to which trades and fills may be missing, by the first event of a reading: it is the log's oldest, and
 * those before it have been dropped. A block is no younger than the record that names it. Null: nothing is missing.
 */
export function missingThrough(first: TimedEvent | undefined, { since }: Pick<EventHistory, 'since'>): number | null {
  const isCut = first !== undefined && since > 0 && first.event.seq <= since + 1;
  return isCut ? Math.floor(first.tsMs / 1000) : null;
}

/**
 * The last events before a start, as many as are kept in memory: after a restart everyone comes back at once, and the
 * log would be read for each. None where some of them are gone.
 */
export async function eventsBefore(
  start: { readonly index: number; readonly seq: number },
  history: EventHistory,
  limit: number,
): Promise<readonly TimedEvent[]> {
  const afterSeq = Math.max(history.since, start.seq - limit);
  const page = await history.read(afterSeq, limit, start.index);
  return page === 'BUSY' || page === null ? [] : page;
}

/** The last `capacity` events, in memory. */
export class RecentEvents {
  readonly #capacity: number;
  /** The event with number n is at n modulo capacity, and so is its time: an object for the two would outlive the young. */
  readonly #events: EngineEvent[] = [];
  readonly #tsMs: number[] = [];
  #oldest: number;
  #newest: number;

  /** `seq`: number of the last event before the first that is pushed; `past`: the last ones up to that, if any. */
  constructor(capacity: number, seq: number, past: readonly TimedEvent[] = []) {
    this.#capacity = capacity;
    this.#newest = seq;
    const known = past.at(-1)?.event.seq === seq ? past.slice(-capacity) : [];
    for (const timed of known) this.#keep(timed);
    this.#oldest = known[0]?.event.seq ?? seq + 1;
  }

  get since(): number {
    return this.#oldest - 1;
  }

  push(timed: TimedEvent): void {
    this.#newest = timed.event.seq;
    this.#keep(timed);
    this.#oldest = Math.max(this.#oldest, this.#newest - this.#capacity + 1);
  }

  /** Null when some event after `afterSeq` is no longer kept. */
  read(afterSeq: number, limit: number): readonly TimedEvent[] | null {
    if (afterSeq < this.since) return null;
    const found: TimedEvent[] = [];
    const last = Math.min(this.#newest, afterSeq + limit);
    for (let seq = afterSeq + 1; seq <= last; seq++) {
      const place = seq % this.#capacity;
      const [event, tsMs] = [this.#events[place], this.#tsMs[place]];
      if (event !== undefined && tsMs !== undefined) found.push({ event, tsMs });
    }
    return found;
  }

  #keep({ event, tsMs }: TimedEvent): void {
    const place = event.seq % this.#capacity;
    this.#events[place] = event;
    this.#tsMs[place] = tsMs;
  }
}
