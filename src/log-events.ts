import type { CancelTimer, Clock, JournalRecord } from './engine/ports.js';
import type { EventHistory, TimedEvent } from './feed/event-history.js';
import type { LogHistory } from './persistence/log-history.js';

/** A place in the log that somebody reads on from: its segment, up to 64 MiB, stays in memory as long as it is kept. */
interface Cursor {
  readonly groups: AsyncGenerator<readonly JournalRecord[]>;
  /** Read from the log and not yet asked for. */
  readonly ready: TimedEvent[];
}

/** How many places are kept. Readers who come back together read together; others begin their segment again. */
const CURSORS = 4;

/** Events from the log, for readers who missed more than is kept in memory. One read at a time. */
export class LogEvents implements EventHistory {
  readonly #history: LogHistory;
  /** By the last event that was read; the one used last is the last. */
  readonly #cursors = new Map<number, Cursor>();
  readonly #clock: Clock;
  readonly #idleMs: number;
  #since: number;
  #cancelForgetting: CancelTimer = () => undefined;
  #busy: Promise<unknown> = Promise.resolve();

  /** `idleMs`: how long a place is kept that nobody reads on from. */
  static async open(history: LogHistory, clock: Clock, idleMs: number): Promise<LogEvents> {
    return new LogEvents(history, clock, idleMs, await history.droppedThroughSeq());
  }

  private constructor(history: LogHistory, clock: Clock, idleMs: number, since: number) {
    this.#history = history;
    this.#clock = clock;
    this.#idleMs = idleMs;
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

  /** Nothing is kept any more; nobody may read from now on. */
  close(): void {
    this.#cancelForgetting();
    this.#cursors.clear();
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
      const kept = this.#takeKept(afterSeq);
      const events = kept === null ? [] : await this.#readFrom(kept, afterSeq, limit);
      // A cursor sees what was durable when it was made: at its end a new one sees more.
      if (events.length > 0) return events;
      return await this.#readFrom(this.#newCursor(afterSeq, throughIndex), afterSeq, limit);
    } catch (error) {
      this.#since = await this.#history.droppedThroughSeq();
      // Its segment was dropped while it was read.
      if (afterSeq < this.#since) return null;
      throw error;
    }
  }

  async #readFrom(cursor: Cursor, afterSeq: number, limit: number): Promise<readonly TimedEvent[]> {
    while (cursor.ready.length < limit) {
      const group = await cursor.groups.next();
      if (group.done === true) break;
      for (const { stamp, events } of group.value) {
        const missed = events.filter(({ seq }) => seq > afterSeq);
        cursor.ready.push(...missed.map((event) => ({ event, tsMs: stamp.tsMs })));
      }
    }
    const events = cursor.ready.splice(0, limit);
    const last = events.at(-1);
    if (last !== undefined && events.length === limit) this.#keep(last.event.seq, cursor);
    return events;
  }

  #newCursor(afterSeq: number, throughIndex: number): Cursor {
    return { groups: this.#history.recordsAfter(afterSeq, throughIndex), ready: [] };
  }

  #takeKept(afterSeq: number): Cursor | null {
    const kept = this.#cursors.get(afterSeq);
    this.#cursors.delete(afterSeq);
    return kept ?? null;
  }

  #keep(seq: number, cursor: Cursor): void {
    this.#cursors.set(seq, cursor);
    const [oldest] = this.#cursors.keys();
    if (this.#cursors.size > CURSORS && oldest !== undefined) this.#cursors.delete(oldest);
    this.#cancelForgetting();
    this.#cancelForgetting = this.#clock.after(this.#idleMs, () => this.#cursors.clear());
  }
}
