/** Puts texts one behind the other as bytes. What the wire says of quotes is ASCII: hex digits, numbers, names. */
export class AsciiWriter {
  #bytes: Buffer;
  #length = 0;

  /** `capacity`: bytes to begin with. */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
  }

  get length(): number {
    return this.#length;
  }

  write(text: string): void {
    const end = this.#length + text.length;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.write(text, this.#length, 'latin1');
    this.#length = end;
  }

  /** What was written; the writer is not used again. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
