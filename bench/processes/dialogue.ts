/** What is given with a question, and what comes back. */
export interface Exchange {
  readonly given: unknown;
  readonly answer: unknown;
}

/** Questions that one process asks another, by name. */
export type Dialogue<D> = { readonly [Name in keyof D]: Exchange };

export interface Question {
  readonly id: number;
  readonly name: string;
  readonly given: unknown;
}

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  /** In words, when there is no value. */
  readonly failure?: string;
}

/** Questions to every server process. */
export interface ServerDialogue {
  PORT: { given: null; answer: number };
  USAGE: { given: null; answer: Usage };
  /**
   * CPU microseconds of all its threads since it began, without forcing a collection of garbage.
   */
  CPU: { given: null; answer: number };
  /** Begins to watch the event loop, forgetting what it saw before. */
  WATCH_TURNS: { given: null; answer: null };
  /** The longest that the event loop was held since then, in milliseconds. */
  LONGEST_TURN: { given: null; answer: number };
}

/** Of a process since it began, after a full collection of garbage, which is in it with the sweeping afterwards. */
export interface Usage {
  /** User and system time of all its threads. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** Memory that JavaScript holds: heap and what hangs on it outside. */
  readonly heldBytes: number;
}
