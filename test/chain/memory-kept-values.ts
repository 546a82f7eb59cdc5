import type { KeptValues } from '../../src/engine/ports.js';

/** Outlives nothing but a wallet: `reopened` is what the next one finds. */
export class MemoryKeptValues implements KeptValues {
  readonly found: ReadonlyMap<string, unknown>;
  readonly values: Map<string, unknown>;

  constructor(values: ReadonlyMap<string, unknown> = new Map()) {
    this.found = new Map(values);
    this.values = new Map(values);
  }

  reopened(): MemoryKeptValues {
    return new MemoryKeptValues(this.values);
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
