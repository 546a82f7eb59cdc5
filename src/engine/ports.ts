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

/**
 * JSON-RPC of one chain, as in EIP-1193: resolves to `result`, rejects with an error that has `code` where the node
 * gave one.
 */
export interface Rpc {
  request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** One try at another node than the one that answers `request`, or at this one where there is no other. */
  requestFromAnother?(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** The node that answers is behind: ask another one from now on, where there is one. */
  preferAnother?(): void;
  /**
   * Another number whenever another node has taken over, also one that answered before: what two of them said may be of
   * different branches.
   */
  readonly turn?: number;
}

/** A few JSON values by key that outlive the process. */
export interface KeptValues {
  /** As they were when this process began. */
  readonly found: ReadonlyMap<string, unknown>;
  /**
   * Durable when it resolves, with all that was put before. When it rejects, the value may be kept or not: the next put
   * that resolves keeps it.
   */
  put(key: string, value: unknown): Promise<void>;
  remove(key: string): Promise<void>;
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
