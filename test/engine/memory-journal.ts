import type { Journal, JournalRecord } from '../../src/engine/ports.js';

/** A log that keeps nothing: everything appended in one turn is a group, committed in the next microtask. */
export class MemoryJournal implements Journal {
  readonly #listeners: ((index: number) => void)[] = [];
  #lastIndex = 0;
  #commit: Promise<void> | null = null;

  append(record: JournalRecord): void {
    this.#lastIndex = record.stamp.index;
    this.#commit ??= Promise.resolve().then(() => this.#commitGroup());
  }

  refusal(): null {
    return null;
  }

  onCommit(listener: (index: number) => void): void {
    this.#listeners.push(listener);
  }

  async flush(): Promise<void> {
    while (this.#commit !== null) await this.#commit;
  }

  close(): Promise<void> {
    return this.flush();
  }

  #commitGroup(): void {
    this.#commit = null;
    const index = this.#lastIndex;
    for (const listener of this.#listeners) listener(index);
  }
}
