import type { Clock } from '../engine/ports.js';
import type { WorkProgress } from '../app/backup.js';
import type { CommandIo } from './run.js';

/** A terminal is written to this often, a log less so. */
const TERMINAL_MS = 200;
const LINES_MS = 10_000;
/** Before that an estimate says nothing. */
const ESTIMATE_AFTER_MS = 1_000;

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

  constructor(
    private readonly io: CommandIo,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  begin(title: string, total: number): void {
    this.#title = title;
    this.#total = total;
    this.#done = 0;
    this.#startedAt = this.clock.monotonicMs();
    this.#shownAt = this.#startedAt;
  }

  advance(units: number): void {
    this.#done += units;
    const now = this.clock.monotonicMs();
    const { showStatus } = this.io;
    if (now - this.#shownAt < (showStatus === undefined ? LINES_MS : TERMINAL_MS)) return;
    this.#shownAt = now;
    const text = this.#text(now - this.#startedAt);
    if (showStatus === undefined) this.io.err(text);
    else showStatus(text);
  }

  end(): void {
    this.io.showStatus?.('');
  }

  /** The total is an estimate: work that exceeds it stays below 100 %. */
  #text(elapsedMs: number): string {
    const share = Math.min(this.#done / Math.max(1, this.#total), 0.99);
    const shown = `${this.#title}: ${Math.floor(share * 100)} %`;
    if (elapsedMs < ESTIMATE_AFTER_MS || share === 0) return shown;
    return `${shown}, about ${timeText((elapsedMs * (1 - share)) / share)} left`;
  }
}

function timeText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
