import type { JournalRecord } from './engine/ports.js';
import type { EventHistory, TimedEvent } from './feed/event-history.js';
import type { LogHistory } from './persistence/log-history.js';

/** A place in the log that somebody reads on from: its segment stays in memory as long as it is kept. */
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
  readonly #cursors = new Map<string, Cursor>();
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

  async #read(afterSeq: number, limit: number, throughIndex: number): Promise<readonly TimedEvent[] | null> {
    this.#since = await this.#history.droppedThroughSeq();
    if (afterSeq < this.#since) return null;
    const cursor = this.#cursorAt(afterSeq, throughIndex);
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
    // A cursor that came to its end would not see what is written from now on.
    if (last !== undefined && events.length === limit) this.#keep(last.event.seq, cursor);
    return events;
  }

  #cursorAt(afterSeq: number, throughIndex: number): Cursor {
    const key = String(afterSeq);
    const kept = this.#cursors.get(key);
    this.#cursors.delete(key);
    return kept ?? { groups: this.#history.recordsAfter(afterSeq, throughIndex), ready: [] };
  }

  #keep(seq: number, cursor: Cursor): void {
    this.#cursors.set(String(seq), cursor);
    const [oldest] = this.#cursors.keys();
    if (this.#cursors.size > CURSORS && oldest !== undefined) this.#cursors.delete(oldest);
  }
}
