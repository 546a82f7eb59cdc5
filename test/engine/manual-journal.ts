import type { Journal, JournalRecord } from '../../src/engine/ports.js';

/** A log that commits when a test says so. */
export class ManualJournal implements Journal {
  readonly appended: JournalRecord[] = [];
  refusing: 'STORAGE_FULL' | 'BUSY' | null = null;
  readonly #listeners: ((index: number) => void)[] = [];

  append(record: JournalRecord): void {
    this.appended.push(record);
  }

  refusal(): 'STORAGE_FULL' | 'BUSY' | null {
    return this.refusing;
  }

  onCommit(listener: (index: number) => void): void {
    this.#listeners.push(listener);
  }

  /** Everything up to that record is durable from now on. */
  commit(index: number): void {
    for (const listener of this.#listeners) listener(index);
  }

  async flush(): Promise<void> {
    this.commit(this.appended.at(-1)?.stamp.index ?? 0);
  }

  close(): Promise<void> {
    return this.flush();
  }
}
