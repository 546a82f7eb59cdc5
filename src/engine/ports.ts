import type { Command, Stamp } from './command.js';
import type { EngineEvent } from './event.js';

/** Cancels what a clock was asked to do; harmless when it has been done. */
export type CancelTimer = () => void;

export interface Clock {
  /** Milliseconds since some fixed moment; never goes back and is not touched by steps of the wall clock. */
  monotonicMs(): number;
  /** Milliseconds since the Unix epoch, for people to read. No rule depends on it. */
  wallMs(): number;
  /** Runs `task` once, not before `delayMs` from now. */
  after(delayMs: number, task: () => void): CancelTimer;
}

export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
  /** A float in [0, 1), for jitter only. */
  unit(): number;
}

/** One applied command with what it was stamped with and what came of it. */
export interface JournalRecord {
  readonly stamp: Stamp;
  readonly command: Command;
  readonly events: readonly EngineEvent[];
}

/** The engine's view of its log. Whatever is appended while a commit runs forms the next group. */
export interface Journal {
  /** Queues a record. Never blocks; `refusal()` is asked first. */
  append(record: JournalRecord): void;
  /** Null, or why no record can be taken now: the disk is full, or too much waits to be written. */
  refusal(): 'STORAGE_FULL' | 'BUSY' | null;
  /** `listener(index)`: every record up to and including `index` is durable. Called once a group, in order. */
  onCommit(listener: (index: number) => void): void;
  /** Resolves when everything appended so far is durable. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
