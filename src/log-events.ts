import type { EventHistory, TimedEvent } from './feed/event-history.js';
import type { LogHistory } from './persistence/log-history.js';

/** Events from the log, for readers who missed more than is kept in memory. One read at a time. */
export class LogEvents implements EventHistory {
  readonly #history: LogHistory;
  #since: number;
  #busy: Promise<unknown> = Promise.resolve();

  static async open(history: LogHistory): Promise<LogEvents> {
    return new LogEvents(history, await history.droppedThroughSeq());
  }

  private constructor(history: LogHistory, since: number) {
    this.#history = history;
    this.#since = since;
  }

  /** As of the last read: segments may have been dropped since, which the next read finds out. */
  get since(): number {
    return this.#since;
  }

  read(afterSeq: number, limit: number, throughIndex: number): Promise<readonly TimedEvent[] | null> {
    const reading = this.#busy.then(() => this.#read(afterSeq, limit, throughIndex));
    this.#busy = reading.catch(() => null);
    return reading;
  }

  async *readSince(sinceMs: number, throughIndex: number): AsyncGenerator<readonly TimedEvent[]> {
    for await (const records of this.#history.recordsSince(sinceMs, throughIndex)) {
      const events = records.flatMap(({ stamp, events }) => events.map((event) => ({ event, tsMs: stamp.tsMs })));
      yield events.filter(({ tsMs }) => tsMs >= sinceMs);
    }
  }

  async #read(afterSeq: number, limit: number, throughIndex: number): Promise<readonly TimedEvent[] | null> {
    this.#since = await this.#history.droppedThroughSeq();
    if (afterSeq < this.#since) return null;
    try {
      return await this.#readFrom(afterSeq, limit, throughIndex);
    } catch (error) {
      this.#since = await this.#history.droppedThroughSeq();
      // Its segment was dropped while it was read.
      if (afterSeq < this.#since) return null;
      throw error;
    }
  }

  async #readFrom(afterSeq: number, limit: number, throughIndex: number): Promise<readonly TimedEvent[]> {
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
