import type { CancelTimer, Clock } from '../engine/ports.js';
import type { EventHistory, PastEventsPage, TimedEvent } from '../feed/event-history.js';
import type { LogHistory } from '../persistence/log/log-history.js';

/** Of pages that are kept, and of those that are read or wait for it. */
interface LogReadLimits {
  readonly logPages: number;
  /** After the last page was read, all are forgotten. */
  readonly logPageMs: number;
  readonly logReads: number;
}

/** Request of a reader of the log. */
interface LogPageKey {
  readonly afterSeq: number;
  readonly limit: number;
  /** The page may not contain events of later records. */
  readonly throughIndex: number;
}

interface KeptPage {
  readonly events: readonly TimedEvent[];
  readonly throughIndex: number;
}

/** The last pages that were read from the log: readers who come back together ask for the same ones. */
class LogPages {
  readonly #clock: Clock;
  readonly #limits: LogReadLimits;
  /** The one used last is the last. */
  readonly #kept = new Map<string, KeptPage>();
  #cancelForgetting: CancelTimer = () => undefined;

  constructor(clock: Clock, limits: LogReadLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Null: it has to be read. */
  find(key: LogPageKey): readonly TimedEvent[] | null {
    const name = nameOf(key);
    const page = this.#kept.get(name);
    if (page === undefined || page.throughIndex > key.throughIndex) return null;
    // One that is not full ended with the log, which goes on since.
    if (page.events.length < key.limit && page.throughIndex < key.throughIndex) return null;
    this.#kept.delete(name);
    this.#kept.set(name, page);
    return page.events;
  }

  keep(key: LogPageKey, events: readonly TimedEvent[]): void {
    const name = nameOf(key);
    this.#kept.delete(name);
    this.#kept.set(name, { events, throughIndex: key.throughIndex });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#limits.logPages && oldest !== undefined) this.#kept.delete(oldest);
    this.#cancelForgetting();
    this.#cancelForgetting = this.#clock.after(this.#limits.logPageMs, () => this.#kept.clear());
  }

  clear(): void {
    this.#cancelForgetting();
    this.#kept.clear();
  }
}

/** The same for all who are at the same place. */
function nameOf({ afterSeq, limit }: LogPageKey): string {
  return `${afterSeq} ${limit}`;
}

/** A page that is read, or waits for those before it. */
interface PageUnderWay {
  readonly throughIndex: number;
  readonly reading: Promise<PastEventsPage>;
}

/**
 * Events from the log, for readers who missed more than is kept in memory. One read at a time, and one for all who are
 * at the same place.
 */
export class LogEvents implements EventHistory {
  readonly #history: LogHistory;
  readonly #pages: LogPages;
  readonly #maxReads: number;
  readonly #underWay = new Map<string, PageUnderWay>();
  #since: number;
  #busy: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  static async open(history: LogHistory, clock: Clock, limits: LogReadLimits): Promise<LogEvents> {
    return new LogEvents(history, new LogPages(clock, limits), limits.logReads, await history.droppedThroughSeq());
  }

  private constructor(history: LogHistory, pages: LogPages, maxReads: number, since: number) {
    this.#history = history;
    this.#pages = pages;
    this.#maxReads = maxReads;
    this.#since = since;
  }

  /** As of the last read: segments may have been dropped since, which the next read finds out. */
  get since(): number {
    return this.#since;
  }

  read(afterSeq: number, limit: number, throughIndex: number): Promise<PastEventsPage> {
    const key = { afterSeq, limit, throughIndex };
    const kept = this.#pages.find(key);
    if (kept !== null) return Promise.resolve(kept);
    const underWay = this.#underWay.get(nameOf(key));
    if (underWay !== undefined) return this.#join(underWay, key);
    return this.#underWay.size < this.#maxReads ? this.#begin(key) : Promise.resolve('BUSY');
  }

  /**
   * Nothing is kept any more, and nobody may read from now on: what waits for its read hears that the log has no time
   * for it.
   */
  close(): void {
    this.#isClosed = true;
    this.#pages.clear();
  }

  async *readSince(sinceMs: number, throughIndex: number): AsyncGenerator<readonly TimedEvent[]> {
    for await (const records of this.#history.recordsSince(sinceMs, throughIndex)) {
      const events = records.flatMap(({ stamp, events }) => events.map((event) => ({ event, tsMs: stamp.tsMs })));
      yield events.filter(({ tsMs }) => tsMs >= sinceMs);
    }
  }

  #begin(key: LogPageKey): Promise<PastEventsPage> {
    const name = nameOf(key);
    const reading = this.#busy
      .then((): PastEventsPage | Promise<PastEventsPage> => (this.#isClosed ? 'BUSY' : this.#read(key)))
      .finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, { throughIndex: key.throughIndex, reading });
    this.#busy = reading.catch(() => null);
    return reading;
  }

  /** That page may end before events that were committed since; its reader gets them with the next page. */
  async #join({ throughIndex, reading }: PageUnderWay, key: LogPageKey): Promise<PastEventsPage> {
    const page = await reading;
    if (page?.length !== 0 || throughIndex >= key.throughIndex) return page;
    return this.read(key.afterSeq, key.limit, key.throughIndex);
  }

  async #read(key: LogPageKey): Promise<readonly TimedEvent[] | null> {
    const { afterSeq } = key;
    this.#since = await this.#history.droppedThroughSeq();
    if (afterSeq < this.#since) return null;
    try {
      const events = await this.#readFrom(key);
      if (!this.#isClosed) this.#pages.keep(key, events);
      return events;
    } catch (error) {
      this.#since = await this.#history.droppedThroughSeq();
      // Its segment was dropped while it was read.
      if (afterSeq < this.#since) return null;
      throw error;
    }
  }

  async #readFrom({ afterSeq, limit, throughIndex }: LogPageKey): Promise<readonly TimedEvent[]> {
    const read: TimedEvent[] = [];
    for await (const records of this.#history.recordsAfter(afterSeq, throughIndex)) {
      for (const { stamp, events } of records) {
        for (const event of events) if (event.seq > afterSeq) read.push({ event, tsMs: stamp.tsMs });
      }
      if (read.length >= limit) break;
    }
    return read.slice(0, limit);
  }
}
