import type { ChainRole } from '../engine/command.js';
import type { Clock } from '../engine/ports.js';

/** A terminal is written to this often, a log less so. */
const TERMINAL_MS = 200;
const LINES_MS = 10_000;
/** Before that an estimate says nothing. */
const ESTIMATE_AFTER_MS = 1_000;

/** Hears how far long work is, in units of its own such as bytes. */
export interface WorkProgress {
  begin(title: string, total: number): void;
  advance(units: number): void;
  end(): void;
}

export interface ProgressState {
  readonly title: string;
  /** 0 to 99: the total is an estimate, which work may exceed. */
  readonly percent: number;
  /** Null: it is too early to say. */
  readonly secondsLeft: number | null;
}

export interface ProgressOutput {
  /** Writes a line, where there is no terminal. */
  line(state: ProgressState): void;
  /** Replaces the last line of a terminal; absent: it is no terminal. '' takes the line away. */
  readonly status?: ((text: string) => void) | undefined;
}

/**
 * Shows how far long work is, with an estimate of the time left: in one line of a terminal that is written over, and as
 * a line every ten seconds elsewhere.
 */
export class Progress implements WorkProgress {
  #title = '';
  #total = 0;
  #done = 0;
  #startedAt = 0;
  #shownAt = 0;
  #isRunning = false;

  constructor(
    private readonly output: ProgressOutput,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  begin(title: string, total: number): void {
    this.#title = title;
    this.#total = total;
    this.#done = 0;
    this.#startedAt = this.clock.monotonicMs();
    this.#shownAt = this.#startedAt;
    this.#isRunning = true;
  }

  /** Changes nothing after the end: what counts the units may outlive the work. */
  advance(units: number): void {
    if (!this.#isRunning) return;
    this.#done += units;
    const now = this.clock.monotonicMs();
    const { status } = this.output;
    if (now - this.#shownAt < (status === undefined ? LINES_MS : TERMINAL_MS)) return;
    this.#shownAt = now;
    const state = this.#state(now - this.#startedAt);
    if (status === undefined) this.output.line(state);
    else status(progressText(state));
  }

  end(): void {
    this.#isRunning = false;
    this.output.status?.('');
  }

  #state(elapsedMs: number): ProgressState {
    const share = Math.min(this.#done / Math.max(1, this.#total), 0.99);
    const isEarly = elapsedMs < ESTIMATE_AFTER_MS || share === 0;
    const secondsLeft = isEarly ? null : Math.ceil((elapsedMs * (1 - share)) / share / 1_000);
    return { title: this.#title, percent: Math.floor(share * 100), secondsLeft };
  }
}

/** `verifying: 10 %, about 18 s left` */
export function progressText({ title, percent, secondsLeft }: ProgressState): string {
  const shown = `${title}: ${percent} %`;
  return secondsLeft === null ? shown : `${shown}, about ${timeText(secondsLeft)} left`;
}

function timeText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Shows how far the readers are on their way to the chains' heads: the settlement chain first, then the stream. */
export class CatchUpProgress {
  #chain: ChainRole | null = null;
  #block = 0;

  constructor(
    private readonly progress: WorkProgress,
    /** The newest block of a chain; null: none was seen. */
    private readonly head: (chain: ChainRole) => number | null,
    /** Called when a chain begins to be read. */
    private readonly onChain: (chain: ChainRole, block: number) => void,
  ) {}

  /** `stream` is null before the first of its blocks was read. */
  at(settlement: number, stream: number | null): void {
    // Once the stream is read, blocks that the settlement chain adds meanwhile change nothing.
    const isStream =
      stream !== null && (this.#chain === 'stream' || settlement >= (this.head('settlement') ?? Infinity));
    const [chain, block] = isStream ? (['stream', stream] as const) : (['settlement', settlement] as const);
    if (chain === this.#chain) this.progress.advance(Math.max(0, block - this.#block));
    else {
      this.progress.begin(`reading the ${chain} chain`, (this.head(chain) ?? block) - block);
      this.onChain(chain, block);
    }
    this.#chain = chain;
    this.#block = block;
  }

  end(): void {
    if (this.#chain !== null) this.progress.end();
    this.#chain = null;
  }
}

/** The last line of a terminal, below the lines of a log. */
export class StatusLine {
  #text = '';

  constructor(private readonly write: (text: string) => void) {}

  /** '' takes it away. */
  readonly show = (text: string): void => {
    this.#text = text;
    this.write(`${CLEAR}${text}`);
  };

  /** A line of the log, which goes above the last line. */
  above(line: string): string {
    return this.#text === '' ? line : `${CLEAR}${line}${this.#text}`;
  }
}

/** Back to the first column, and erase the line (ECMA-48, EL). */
const CLEAR = '\r\x1b[K';
