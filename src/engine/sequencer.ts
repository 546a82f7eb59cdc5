import { assert } from './assert.js';
import type { Command } from './command.js';
import type { Engine } from './engine.js';
import type { EngineEvent } from './event.js';
import type { Clock, Journal, JournalRecord } from './ports.js';

/** Applied, and durable once the journal has committed `index`; or not taken at all. */
export type SubmitResult =
  | { readonly refusal: null; readonly index: number; readonly events: readonly EngineEvent[] }
  | { readonly refusal: 'STORAGE_FULL' | 'BUSY' };

export interface SequencerOptions {
  /** As recovery left it: numbering goes on from there. */
  readonly engine: Engine;
  readonly journal: Journal;
  readonly time: EngineTime;
  /** Orders that time runs out for within one record, at most. */
  readonly expiredAtOnce: number;
  /** The engine or a listener threw. State and log may differ from then on, so the process has to stop. */
  readonly onFault: (error: unknown) => void;
}

interface Task {
  /** Runs once listeners have had everything up to this record. */
  readonly index: number;
  readonly run: () => void;
}

/**
 * The one way into the engine: numbers and stamps each command, applies it, appends it to the journal, and hands what
 * is durable to listeners, a group in one tick and in order.
 */
export class Sequencer {
  readonly #engine: Engine;
  readonly #journal: Journal;
  readonly #time: EngineTime;
  readonly #expiredAtOnce: number;
  readonly #onFault: (error: unknown) => void;
  readonly #listeners: ((records: readonly JournalRecord[]) => void)[] = [];
  /** Applied and not yet handed to listeners, oldest first. */
  readonly #pending: JournalRecord[] = [];
  readonly #tasks: Task[] = [];
  /** Last record that listeners have had, every one of them. */
  #handedIndex: number;
  #isFaulty = false;

  constructor({ engine, journal, time, expiredAtOnce, onFault }: SequencerOptions) {
    this.#engine = engine;
    this.#journal = journal;
    this.#time = time;
    this.#expiredAtOnce = expiredAtOnce;
    this.#onFault = onFault;
    this.#handedIndex = engine.index;
    journal.onCommit((index) => this.#publish(index));
  }

  /** The last record that listeners have had, which is durable. */
  get handedIndex(): number {
    return this.#handedIndex;
  }

  /** Applies the command at once, unless the journal takes no record now; then nothing has happened. */
  submit(command: Command): SubmitResult {
    const refusal = this.#refusal();
    return refusal === null ? this.#take(command) : { refusal };
  }

  /**
   * Applies all of the commands, or none if the journal takes no record now. It asks once, so the journal's queue may
   * exceed its limit by the commands after the first: a few at most.
   */
  submitAll(commands: readonly Command[]): SubmitResult['refusal'] {
    const refusal = this.#refusal();
    if (refusal === null) for (const command of commands) this.#take(command);
    return refusal;
  }

  #refusal(): SubmitResult['refusal'] {
    assert(!this.#isFaulty, 'nothing is applied after a fault');
    return this.#journal.refusal();
  }

  #take(command: Command): Extract<SubmitResult, { refusal: null }> {
    try {
      const stamp = { index: this.#engine.index + 1, tsMs: this.#stampMs() };
      const events = this.#engine.apply(command, stamp);
      const record = { stamp, command, events };
      this.#pending.push(record);
      this.#journal.append(record);
      return { refusal: null, index: stamp.index, events };
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /**
   * Lets go of what time has run out for. Much of it goes in several records, one for each call until nothing is due.
   */
  expire(): SubmitResult {
    const nowMs = this.#time.nowMs();
    if (!this.#isMuchDue(nowMs)) return this.submit({ type: 'TICK' });
    const second = Math.floor(nowMs / 1000);
    const quoteIds = this.#engine.dueBy(second, this.#expiredAtOnce).map(({ quote }) => quote.quoteId);
    return this.submit({ type: 'EXPIRE_QUOTES', second, quoteIds });
  }

  /**
   * Null when all that was applied is durable; else resolves when what is applied by now is, and listeners have had it.
   * Read first, then wait, then answer: after the wait the book may hold newer things that are not durable.
   */
  whenDurable(): Promise<void> | null {
    if (this.#handedIndex === this.#engine.index) return null;
    return new Promise((resolve) => this.afterCommit(resolve));
  }

  /**
   * Runs `task` when listeners have had every event up to the present record and none after it; at once if they have.
   * The state that the caller read from the engine before calling is the sum of those events.
   */
  afterCommit(task: () => void): void {
    if (this.#handedIndex === this.#engine.index) task();
    else this.#tasks.push({ index: this.#engine.index, run: task });
  }

  /**
   * `listener(records)`: durable records in order, each once. Called in one tick for all that one commit made durable.
   */
  onEvents(listener: (records: readonly JournalRecord[]) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * A record takes all that is due by its stamp with it. So while that is more than one record is to hold, records are
   * of the last moment before any of it was due.
   */
  #stampMs(): number {
    const nowMs = this.#time.nowMs();
    return this.#isMuchDue(nowMs) ? (this.#engine.nextDueMs() ?? nowMs + 1) - 1 : nowMs;
  }

  /** Called for every command, so it must be O(1) in the size of the book. */
  #isMuchDue(nowMs: number): boolean {
    return this.#engine.hasMoreDueBy(Math.floor(nowMs / 1000), this.#expiredAtOnce);
  }

  /** Listeners and tasks may submit and ask for tasks: what they add waits for its own commit, or for its turn. */
  #publish(index: number): void {
    if (this.#isFaulty) return;
    try {
      for (;;) {
        this.#handThrough(Math.min(this.#tasks[0]?.index ?? index, index));
        const [task] = this.#tasks;
        if (task === undefined || task.index > this.#handedIndex) return;
        this.#tasks.shift();
        task.run();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #handThrough(index: number): void {
    let count = 0;
    while ((this.#pending[count]?.stamp.index ?? Infinity) <= index) count += 1;
    if (count === 0) return;
    const records = this.#pending.splice(0, count);
    for (const listener of this.#listeners) listener(records);
    this.#handedIndex = index;
  }

  #fail(error: unknown): void {
    this.#isFaulty = true;
    this.#onFault(error);
  }
}

/**
 * The timestamp of the newest settlement block plus the monotonic time since it was read, never going back. Contracts
 * judge deadlines by block timestamps, so this follows them, and no step of the machine's own clock touches it.
 */
export class EngineTime {
  readonly #clock: Clock;
  readonly #listeners: (() => void)[] = [];
  #blockMs = 0;
  /** Monotonic moment of the last reading; null until there was one: time stands still till then. */
  #readAtMs: number | null = null;
  #nowMs: number;

  /** `startMs`: where engine time stood when the log ended. */
  constructor(clock: Clock, startMs: number) {
    this.#clock = clock;
    this.#nowMs = startMs;
  }

  /** A settlement block was just read as the newest. `blockTimestamp`: Unix seconds. */
  observe(blockTimestamp: number): void {
    this.follow(blockTimestamp * 1000);
  }

  /** The engine time of another process is `engineMs` just now, Unix milliseconds. */
  follow(engineMs: number): void {
    this.nowMs();
    this.#blockMs = engineMs;
    this.#readAtMs = this.#clock.monotonicMs();
    for (const listener of this.#listeners) listener();
  }

  /** Another process was at `engineMs` when it sent the newest data: time is not before it. */
  reach(engineMs: number): void {
    if (engineMs > this.nowMs()) this.follow(engineMs);
  }

  /** Called after each reading: time may have leapt. */
  onObserve(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Whole Unix milliseconds. */
  nowMs(): number {
    if (this.#readAtMs !== null) {
      const nowMs = this.#blockMs + Math.floor(this.#clock.monotonicMs() - this.#readAtMs);
      if (nowMs > this.#nowMs) this.#nowMs = nowMs;
    }
    return this.#nowMs;
  }

  /** Whole Unix seconds. May be passed on without its object. */
  readonly nowSeconds = (): number => Math.floor(this.nowMs() / 1000);
}
