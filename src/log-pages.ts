import type { CancelTimer, Clock } from './engine/ports.js';
import type { TimedEvent } from './feed/event-history.js';

/** Bounds of what is kept; the numbers come from the configuration's limits. */
export interface LogPagesLimits {
  readonly logPages: number;
  /** How long they are kept once no more are read. */
  readonly logPageMs: number;
}

/** What a reader of the log asked for. */
export interface LogPageKey {
  readonly afterSeq: number;
  readonly limit: number;
  /** The last record that it may be told of. */
  readonly throughIndex: number;
}

interface KeptPage {
  readonly events: readonly TimedEvent[];
  readonly throughIndex: number;
}

/** The last pages that were read from the log: readers who come back together ask for the same ones. */
export class LogPages {
  readonly #clock: Clock;
  readonly #limits: LogPagesLimits;
  /** The one used last is the last. */
  readonly #kept = new Map<string, KeptPage>();
  #cancelForgetting: CancelTimer = () => undefined;

  constructor(clock: Clock, limits: LogPagesLimits) {
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
export function nameOf({ afterSeq, limit }: LogPageKey): string {
  return `${afterSeq} ${limit}`;
}
