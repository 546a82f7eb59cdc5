import type { CatchUpLimits } from './ports.js';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { PastEventsPage, TimedEvent } from '../feed/event-history.js';
import type { Feed, ResyncReason } from '../feed/feed.js';
import { CloseCode, type NetSocket } from '../net/net.js';
import type { TurnBudget } from '../system/turn-budget.js';

/** Rate limit of the rows and bytes that a key requests. */
export interface ReaderPace {
  /** Milliseconds until the key may receive more; 0: now. */
  debtMs(): number;
  /** Counts rows and bytes that were written for the key. */
  charge(rows: number, bytes: number): void;
}

/** The steps of a reader that catches up. */
export interface CatchUpSteps {
  /** Messages to send first, made one at a time. */
  readonly first: Iterator<Uint8Array>;
  /** Null: the messages sent on arrival replace every event up to then. */
  readonly missed: MissedEvents | null;
  /** The reader gets a snapshot, which is `first` or is sent on arrival: without all of it, resuming is of no use. */
  readonly isAnew: boolean;
  /** Called when the reader has every event: it receives live messages from now on. */
  arrive(): void;
}

/** Turns missed events into messages. */
export interface MissedEvents {
  /** Takes the next events and returns the messages to send. */
  take(events: readonly TimedEvent[]): readonly Uint8Array[];
  /** The events are no longer kept. */
  lose(reason: ResyncReason): void;
}

/**
 * Sends one reader a snapshot in pages, or the events that it missed, no faster than it reads: so its send buffer is
 * bounded. Events committed meanwhile are read from the history, too.
 */
export class CatchUp {
  /** The reader has been sent everything up to this event. */
  at: number;
  readonly #socket: NetSocket;
  readonly #feed: Feed;
  readonly #isBinary: boolean;
  readonly #clock: Clock;
  readonly #limits: CatchUpLimits;
  readonly #steps: CatchUpSteps;
  readonly #turns: TurnBudget;
  readonly #pace: ReaderPace;
  readonly #onFault: (fault: unknown) => void;
  #cancelTimer: CancelTimer = () => undefined;
  #hasFirst = false;
  #isOver = false;

  constructor(ports: CatchUpPorts, at: number, steps: CatchUpSteps) {
    const { socket, feed, isBinary, clock, limits, turns, pace, onFault } = ports;
    this.#socket = socket;
    this.#feed = feed;
    this.#isBinary = isBinary;
    this.#clock = clock;
    this.#limits = limits;
    this.#turns = turns;
    this.#pace = pace;
    this.#onFault = onFault;
    this.at = at;
    this.#steps = steps;
  }

  /** Whether a reader that has been sent this much can resume from `at`. */
  get canResume(): boolean {
    const { isAnew, missed } = this.#steps;
    return !isAnew || (this.#hasFirst && missed !== null);
  }

  /** Sends as much as the reader accepts now, and schedules the rest. */
  run(): void {
    while (!this.#isOver && !this.#socket.closed) {
      if (this.#socket.bufferedBytes() > this.#limits.wsSlowBytes) return this.#runIn(this.#limits.wsCatchUpMs);
      const { missed } = this.#steps;
      const isPresent = missed === null || this.at >= this.#feed.seq;
      if (!this.#hasFirst || !isPresent) {
        const debtMs = this.#pace.debtMs();
        if (debtMs > 0) return this.#runIn(debtMs);
        // Yield to other clients: a fast reader would have a whole snapshot made in one turn.
        if (!this.#turns.hasRoom) return void (this.#cancelTimer = this.#turns.wait(() => this.run()));
      }
      if (!this.#hasFirst) {
        const page = this.#steps.first.next();
        if (page.done !== true) {
          this.#turns.spend();
          this.#socket.send(page.value, this.#isBinary);
          continue;
        }
        this.#hasFirst = true;
        if (!isPresent) continue;
      }
      if (isPresent) {
        this.#isOver = true;
        // Joining may have to sum up the book first.
        this.#turns.spend();
        return this.#steps.arrive();
      }
      this.#turns.spend();
      const events = this.#feed.read(this.at, this.#limits.wsReplayEvents);
      if (events instanceof Promise) {
        events.then(
          (read) => this.#onRead(missed, read),
          (fault: unknown) => this.#fail(fault),
        );
        return;
      }
      if (!this.#send(missed, events)) return;
      // Yield to other readers between the parts of a long replay.
      if (this.at < this.#feed.seq) return this.#runIn(0);
    }
  }

  stop(): void {
    this.#isOver = true;
    this.#cancelTimer();
  }

  #onRead(missed: MissedEvents, events: PastEventsPage): void {
    if (this.#isOver || this.#socket.closed) return;
    // Reading events from the log costs about as much as writing them.
    if (events !== 'BUSY') this.#pace.charge(events?.length ?? 0, 0);
    if (events === 'BUSY') this.#runIn(this.#limits.logBusyMs);
    else if (events?.length === 0) this.#runIn(this.#limits.wsCatchUpMs);
    else if (this.#send(missed, events)) this.run();
  }

  /** False: the events are gone, and the catch-up has ended. */
  #send(missed: MissedEvents, events: readonly TimedEvent[] | null): boolean {
    if (events === null) {
      this.#isOver = true;
      missed.lose('TOO_OLD');
      return false;
    }
    this.#socket.sendAll(missed.take(events), this.#isBinary);
    this.at = events.at(-1)?.event.seq ?? this.at;
    return true;
  }

  #runIn(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, () => this.run());
  }

  #fail(fault: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onFault(fault);
    this.#socket.close(CloseCode.internalError, 'Internal server error');
  }
}

export interface CatchUpPorts {
  readonly socket: NetSocket;
  readonly feed: Feed;
  readonly isBinary: boolean;
  readonly clock: Clock;
  readonly limits: CatchUpLimits;
  /** Shared by all readers. */
  readonly turns: TurnBudget;
  readonly pace: ReaderPace;
  readonly onFault: (fault: unknown) => void;
}
