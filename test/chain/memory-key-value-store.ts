import type { KeyValueStore } from '../../src/persistence/disk/disk.js';

/** Outlives nothing but a wallet: `reopened` is what the next one finds. */
export class MemoryKeyValueStore implements KeyValueStore {
  readonly found: ReadonlyMap<string, unknown>;
  readonly values: Map<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown> = new Map()) {
    this.found = new Map(values);
    this.values = new Map(values);
  }

  reopened(): MemoryKeyValueStore {
    return new MemoryKeyValueStore(this.values);
  }

  put(key: string, value: unknown): Promise<void> {
    this.values.set(key, value);
    return Promise.resolve();
  }

  remove(key: string): Promise<void> {
    this.values.delete(key);
    return Promise.resolve();
  }
}
