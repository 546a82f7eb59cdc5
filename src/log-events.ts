import type { Clock } from './engine/ports.js';
import type { EventHistory, PastEventsPage, TimedEvent } from './feed/event-history.js';
import { type LogPageKey, LogPages, type LogPagesLimits, nameOf } from './log-pages.js';
import type { LogHistory } from './persistence/log/log-history.js';

/** The numbers of the configuration's limits that bound what is read and kept. */
export interface LogEventsLimits extends LogPagesLimits {
  /** Pages that are read or wait for it. */
  readonly logReads: number;
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

  static async open(history: LogHistory, clock: Clock, limits: LogEventsLimits): Promise<LogEvents> {
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

  /** What was told since that page was asked for may be missing at its end: whoever reads on comes to it. */
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
