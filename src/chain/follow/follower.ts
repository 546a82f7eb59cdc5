import type { CancelTimer, Clock, Random } from '../../engine/ports.js';
import type { Order } from '../../engine/quote.js';
import { backoff, type BackoffBounds, Deadline, settleBoth } from '../../system/timers.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';
import type { CommandSubmitter } from './book-port.js';
import { DeepReorg } from './cursor.js';
import type { SettlementFollower } from './settlement-follower.js';
import type { StreamFollower, StreamUpdate } from './stream-follower.js';

export interface FollowTiming extends BackoffBounds {
  /** Pause between polls when nothing wakes the follower. */
  readonly pollMs: number;
  /** All orders are checked against the chain once in this time, in slices, as a net beneath the events. */
  readonly sweepMs: number;
  readonly sweepSlice: number;
  /** How long a stop waits for a request that is under way. */
  readonly stopGraceMs: number;
}

export interface FollowListener {
  /** Both chains have been read to their heads, and every order that was known before was checked since the start. */
  onCaughtUp(): void;
  onFailure(error: Error, failures: number): void;
  /** A look at both chains went well. */
  onSuccess(): void;
  /** No further reading: a person must look. */
  onHalt(error: DeepReorg): void;
  /** Catching up: a range was read, and there is more. */
  onProgress(settlement: BlockId, stream: BlockId | null): void;
}

export interface BookFollowerParts {
  readonly settlement: Pick<SettlementFollower, 'position' | 'step' | 'check' | 'checkWaiting' | 'askAgain'>;
  readonly stream: Pick<StreamFollower, 'position' | 'look' | 'enter' | 'askAgain'>;
  /** Every known order, for the sweep. */
  readonly orders: () => Iterable<Order>;
  readonly submitter: Pick<CommandSubmitter, 'stop'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: FollowTiming;
  readonly listener: FollowListener;
}

/**
 * The one loop that reads both chains. The book hears of the settlement chain first, then of the stream, whose quotes
 * enter with the state of the settlement block just read. One loop is what makes entry consistent: nothing applies
 * twice and nothing falls between.
 */
export class BookFollower {
  #stopped = false;
  #awake: (() => void) | null = null;
  #wanted = false;
  #caughtUp = false;
  #running: Promise<void> | null = null;
  /** The orders of the sweep under way, of which `#swept` were checked; null: the next sweep is not due. */
  #sweep: readonly Order[] | null = null;
  #swept = 0;
  #sweptAtMs: number;

  constructor(private readonly parts: BookFollowerParts) {
    this.#sweptAtMs = parts.clock.monotonicMs();
  }

  get caughtUp(): boolean {
    return this.#caughtUp;
  }

  /** Asked after an await, when it may have changed. */
  private get isStopped(): boolean {
    return this.#stopped;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Something may have happened on a chain: look now. */
  wake(): void {
    this.#wanted = true;
    this.#awake?.();
  }

  /** When it resolves, no command comes from here any more, even if a request is still waiting for its answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.parts.submitter.stop();
    this.wake();
    if (this.#running === null) return;
    await new Deadline(this.parts.clock, this.parts.timing.stopGraceMs).wait(this.#running);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopped) {
      this.#wanted = false;
      try {
        const idle = await this.#step();
        failures = 0;
        this.parts.listener.onSuccess();
        if (idle) await this.#sleep(this.parts.timing.pollMs);
      } catch (error) {
        if (this.isStopped) return;
        if (error instanceof DeepReorg) return this.parts.listener.onHalt(error);
        if (this.#askAgain()) continue;
        this.parts.listener.onFailure(error as Error, ++failures);
        await this.#sleep(backoff(this.parts.timing, failures, this.parts.random));
      }
    }
  }

  /** True: a subscription announced what was read, and the node may not have it yet. The node is asked at once. */
  #askAgain(): boolean {
    const [isSettlement, isStream] = [this.parts.settlement.askAgain(), this.parts.stream.askAgain()];
    return isSettlement || isStream;
  }

  /** True when both chains were read to their heads, and there is nothing left to ask. */
  async #step(): Promise<boolean> {
    if (!this.#caughtUp) return this.#catchUp();
    const [isSettlementRead, news] = await settleBoth(this.parts.settlement.step(), this.parts.stream.look());
    return this.#enter(isSettlementRead, news);
  }

  /** Backfill: quotes enter with today's state, not with that of a block a month ago, so the stream waits. */
  async #catchUp(): Promise<boolean> {
    const isSettlementRead = await this.parts.settlement.step();
    if (isSettlementRead) return this.#enter(isSettlementRead, await this.parts.stream.look());
    const { position } = this.parts.settlement;
    if (position !== null) this.parts.listener.onProgress(position, this.parts.stream.position);
    return false;
  }

  async #enter(isSettlementRead: boolean, news: StreamUpdate): Promise<boolean> {
    const { position } = this.parts.settlement;
    if (position === null) return isSettlementRead;
    const isStreamRead = await this.parts.stream.enter(news, position);
    if (!isSettlementRead || !isStreamRead) {
      this.parts.listener.onProgress(position, this.parts.stream.position);
      return false;
    }
    await this.#sweepSlice();
    if (!this.#caughtUp) {
      if (this.#sweep !== null) return false;
      this.#caughtUp = true;
      this.parts.listener.onCaughtUp();
    }
    return this.parts.settlement.checkWaiting();
  }

  /** A few orders each round, so that a sweep never delays an event by more than a slice, the first one included. */
  async #sweepSlice(): Promise<void> {
    const now = this.parts.clock.monotonicMs();
    if (this.#sweep === null) {
      if (this.#caughtUp && now - this.#sweptAtMs < this.parts.timing.sweepMs) return;
      this.#sweptAtMs = now;
      this.#sweep = [...this.parts.orders()];
      this.#swept = 0;
    }
    const orders = this.#sweep;
    const slice = orders.slice(this.#swept, this.#swept + this.parts.timing.sweepSlice);
    // A later sweep passes over a slice that failed; the first one has to check every order.
    if (!this.#caughtUp) await this.parts.settlement.check(slice);
    this.#swept += slice.length;
    if (this.#swept === orders.length) this.#sweep = null;
    if (this.#caughtUp) await this.parts.settlement.check(slice);
  }

  /** Yields to the event loop even with no delay: the log is written in that turn. */
  async #sleep(delayMs: number): Promise<void> {
    if (this.#stopped) return;
    let cancel: CancelTimer = () => undefined;
    await new Promise<void>((resolve) => {
      this.#awake = resolve;
      cancel = this.parts.clock.after(this.#wanted ? 0 : delayMs, resolve);
    });
    cancel();
    this.#awake = null;
  }
}
