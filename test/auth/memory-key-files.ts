import type { KeyFiles } from '../../src/auth/key-file.js';

/** Key files that several stores can share, as processes share a directory. */
export class MemoryKeyFiles implements KeyFiles {
  readonly contents = new Map<string, string>();
  readonly #versions = new Map<string, number>();
  /** Thrown by the next read or stamp. */
  fault: Error | null = null;
  reads = 0;

  async read(name: string): Promise<string | null> {
    this.#failOnce();
    this.reads++;
    return Promise.resolve(this.contents.get(name) ?? null);
  }

  async stamp(name: string): Promise<string | null> {
    this.#failOnce();
    return Promise.resolve(this.contents.has(name) ? String(this.#versions.get(name)) : null);
  }

  async update(name: string, change: (current: string | null) => string): Promise<string> {
    await Promise.resolve();
    const content = change(this.contents.get(name) ?? null);
    this.contents.set(name, content);
    this.#versions.set(name, (this.#versions.get(name) ?? 0) + 1);
    return content;
  }

  #failOnce(): void {
    const fault = this.fault;
    this.fault = null;
    if (fault !== null) throw fault;
  }
}
