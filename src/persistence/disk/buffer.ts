/** Bytes that are put one after another; the memory stays for the next use. */
export class GrowingBuffer {
  bytes: Buffer;
  length = 0;
  readonly #firstBytes: number;

  constructor(firstBytes: number) {
    this.#firstBytes = firstBytes;
    this.bytes = Buffer.allocUnsafeSlow(firstBytes);
  }

  /** Room for `count` more; returns where they begin. The caller fills them. */
  take(count: number): number {
    const at = this.length;
    this.length = at + count;
    if (this.length > this.bytes.length) this.#grow(at);
    return at;
  }

  put(bytes: Uint8Array): void {
    const at = this.take(bytes.length);
    this.bytes.set(bytes, at);
  }

  /** A method of its own, so that V8 can inline `take` into its callers. */
  #grow(used: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(this.length, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, used);
    this.bytes = larger;
  }

  /** The bytes that were put; valid until the next `take`, `put` or `clear`. */
  view(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  /** Trades contents with another: what was put here is there, and the other way round. */
  exchange(other: GrowingBuffer): void {
    [this.bytes, other.bytes] = [other.bytes, this.bytes];
    [this.length, other.length] = [other.length, this.length];
  }

  /** Empties it, and lets go of memory that only one unusually large content needed. */
  clear(keepBytes: number): void {
    this.length = 0;
    if (this.bytes.length > Math.max(keepBytes, this.#firstBytes))
      this.bytes = Buffer.allocUnsafeSlow(this.#firstBytes);
  }
}
