import type { Journal, JournalRecord } from '../engine/ports.js';
import type { LogJournal } from '../persistence/log/journal.js';
import type { GroupPublisher } from './group-publisher.js';

export interface ReplicatedJournalOptions {
  /** Bytes that may wait for the quorum before nothing more is taken. */
  readonly queueBytes: number;
  /** Whether this process may still acknowledge anything. */
  readonly isLeader: () => boolean;
  /** It may not: the process has to end. */
  readonly onDeposed: () => void;
}

/**
 * A leader's log: a record is committed once it is on this process's own disk and a quorum of the servers has synced
 * it. Both happen in parallel.
 */
export class ReplicatedJournal implements Journal {
  readonly #local: LogJournal;
  readonly #publisher: GroupPublisher;
  readonly #options: ReplicatedJournalOptions;
  readonly #listeners: ((index: number) => void)[] = [];
  #localIndex: number;
  #quorumIndex: number;
  #committedIndex: number;

  constructor(local: LogJournal, publisher: GroupPublisher, options: ReplicatedJournalOptions) {
    this.#local = local;
    this.#publisher = publisher;
    this.#options = options;
    this.#localIndex = local.durable.index;
    this.#quorumIndex = local.durable.index;
    this.#committedIndex = local.durable.index;
    local.onCommit((index) => {
      this.#localIndex = index;
      this.#commit();
    });
  }

  /** A quorum has everything up to this record. */
  acknowledged(index: number): void {
    this.#quorumIndex = index;
    this.#commit();
  }

  append(record: JournalRecord): void {
    this.#local.append(record);
  }

  refusal(): 'STORAGE_FULL' | 'BUSY' | null {
    const refusal = this.#local.refusal();
    if (refusal !== null) return refusal;
    return this.#publisher.waiting.bytes >= this.#options.queueBytes ? 'BUSY' : null;
  }

  onCommit(listener: (index: number) => void): void {
    this.#listeners.push(listener);
  }

  async flush(): Promise<void> {
    await this.#local.flush();
    await this.#publisher.drain();
  }

  /** The process's own log is closed by its directory. */
  async close(): Promise<void> {
    await this.flush();
    this.#publisher.stop();
  }

  #commit(): void {
    const index = Math.min(this.#localIndex, this.#quorumIndex);
    if (index <= this.#committedIndex) return;
    // Also after this process was frozen: whatever was acknowledged meanwhile, another may lead by now.
    if (!this.#options.isLeader()) return this.#options.onDeposed();
    this.#committedIndex = index;
    for (const listener of this.#listeners) listener(index);
  }
}
