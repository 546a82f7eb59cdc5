import type { Engine } from './engine.js';
import type { CancelTimer, Clock } from './ports.js';
import type { EngineTime, Sequencer } from './sequencer.js';

/** The longest wait that is asked of the clock; Node's timers go to about 24.8 days and fire at once beyond that. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;
/** The shortest wait for what is not due yet: engine time may stand still, and must not be asked in a tight loop. */
const SHORTEST_WAIT_MS = 20;

export interface ExpiryTimerOptions {
  readonly engine: Engine;
  readonly sequencer: Sequencer;
  readonly time: EngineTime;
  readonly clock: Clock;
  /** How soon to try again when the journal takes no record. */
  readonly retryMs: number;
}

/**
 * Has quotes expire when engine time reaches the next deadline or maturity, so that they go on time in a quiet market.
 * Many quotes take several records and as many commits: other work has its turn between two of them.
 */
export class ExpiryTimer {
  readonly #options: ExpiryTimerOptions;
  #cancel: CancelTimer | null = null;
  #armedForMs: number | null = null;
  #stopped = false;

  constructor(options: ExpiryTimerOptions) {
    this.#options = options;
    options.sequencer.onEvents(() => this.#arm());
    options.time.onObserve(() => this.#rearm());
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  /** Sets the clock for what is due next, unless it is set for that already. */
  #arm(): void {
    const dueMs = this.#options.engine.nextDueMs();
    if (this.#stopped || dueMs === this.#armedForMs) return;
    this.#disarm();
    if (dueMs === null) return;
    this.#armedForMs = dueMs;
    const waitMs = dueMs - this.#options.time.nowMs();
    this.#wait(waitMs <= 0 ? 0 : Math.min(Math.max(waitMs, SHORTEST_WAIT_MS), LONGEST_WAIT_MS));
  }

  /** As #arm, also when the same thing is due: engine time has been set anew. */
  #rearm(): void {
    this.#disarm();
    this.#arm();
  }

  #disarm(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#armedForMs = null;
  }

  #wait(delayMs: number): void {
    this.#cancel = this.#options.clock.after(delayMs, () => this.#tick());
  }

  #tick(): void {
    const { engine, sequencer, time, retryMs } = this.#options;
    const dueMs = engine.nextDueMs();
    if (dueMs === null || dueMs > time.nowMs()) this.#rearm();
    else if (sequencer.expire().refusal === null) sequencer.afterCommit(() => this.#rearm());
    else this.#wait(retryMs);
  }
}
