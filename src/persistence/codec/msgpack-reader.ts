import { isUtf8 } from 'node:buffer';
import type { Hex } from '../../engine/quote.js';

/** Bytes that are not what their place in a record calls for. */
export class MsgpackError extends Error {
  override readonly name = 'MsgpackError';
}

/** Reads what `MsgpackWriter` writes, and takes a value in its one encoding alone. */
export class MsgpackReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  /** Reads `bytes` from `start` to `end`. */
  begin(bytes: Buffer, start = 0, end = bytes.length): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** In `bytes`. */
  get position(): number {
    return this.#at;
  }

  /** Nothing is left. */
  end(): void {
    if (this.#at !== this.#end) throw new MsgpackError(`${this.#end - this.#at} bytes too many`);
  }

  /** An array of exactly `length`. */
  tuple(length: number): void {
    const found = this.array();
    if (found !== length) throw new MsgpackError(`${found} fields instead of ${length}`);
  }

  array(): number {
    return this.#length('array', 0x90, 15, 0xdc, null);
  }

  isArray(): boolean {
    const code = this.#at < this.#end ? (this.#bytes[this.#at] ?? 0) : 0;
    return (code & 0xf0) === 0x90 || code === 0xdc || code === 0xdd;
  }

  uint(): number {
    const bytes = this.#bytes;
    const code = this.#byte();
    if (code < 0x80) return code;
    switch (code) {
      case 0xcc:
        return shortest(this.#byte(), 0x7f);
      case 0xcd:
        return shortest(bytes.readUInt16BE(this.#need(2)), 0xff);
      case 0xce:
        return shortest(bytes.readUInt32BE(this.#need(4)), 0xffff);
      case 0xcf: {
        const at = this.#need(8);
        const value = bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
        if (!Number.isSafeInteger(value)) throw new MsgpackError('an integer above 2^53 - 1');
        return shortest(value, 0xffffffff);
      }
      default:
        throw new MsgpackError(`${named(code)} instead of an integer`);
    }
  }

  /** True, and past it, when nil is next. */
  nil(): boolean {
    if (this.#at >= this.#end || this.#bytes[this.#at] !== 0xc0) return false;
    this.#at += 1;
    return true;
  }

  bool(): boolean {
    const code = this.#byte();
    if (code !== 0xc2 && code !== 0xc3) throw new MsgpackError(`${named(code)} instead of a boolean`);
    return code === 0xc3;
  }

  text(): string {
    const length = this.#length('text', 0xa0, 31, 0xda, 0xd9);
    const at = this.#need(length);
    // Checked before decoding: invalid UTF-8 decodes to U+FFFD, which may take as many bytes.
    if (!isUtf8(this.#bytes.subarray(at, at + length))) throw new MsgpackError('text that is not UTF-8');
    return this.#bytes.toString('utf8', at, at + length);
  }

  /** A view into what is read. */
  bin(): Buffer {
    const length = this.#binLength();
    const at = this.#need(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Lower-case digits of a bin of exactly `length` bytes; `known` itself where it says the same. */
  hex(length: number, known?: Hex): Hex {
    const at = this.#exactBin(length);
    return known !== undefined && isHexOf(known, this.#bytes, at, length) ? known : hexOf(this.#bytes, at, length);
  }

  /** Copies a bin of exactly `length` bytes to `into`, where it begins at `at`. */
  copy(length: number, into: Uint8Array, at: number): void {
    const start = this.#exactBin(length);
    const bytes = this.#bytes;
    for (let i = 0; i < length; i += 1) into[at + i] = bytes[start + i] ?? 0;
  }

  /** The byte `ahead` of what is next; 0 behind the end. */
  byteAhead(ahead: number): number {
    return this.#bytes[this.#at + ahead] ?? 0;
  }

  /** True, and past them, when `bytes` are next. */
  skipEqual(bytes: Uint8Array): boolean {
    const end = this.#at + bytes.length;
    if (this.#bytes.compare(bytes, 0, bytes.length, this.#at, Math.min(end, this.#end)) !== 0) return false;
    this.#at = end;
    return true;
  }

  /** `count` bytes that begin `ahead` of what is next, as a key for a Map; fewer at the end. */
  keyAhead(ahead: number, count: number): string {
    return this.#bytes.toString('latin1', this.#at + ahead, Math.min(this.#at + ahead + count, this.#end));
  }

  /** A copy of what was read since `start`. */
  readSince(start: number): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, start, this.#at);
  }

  amount(): bigint {
    const length = this.#binLength();
    if (length === 0) return 0n;
    const at = this.#need(length);
    if (this.#bytes[at] === 0) throw new MsgpackError('an amount with a leading zero');
    if (length <= 8) {
      WORD.fill(0);
      for (let i = 0; i < length; i += 1) WORD[8 - length + i] = this.#bytes[at + i] ?? 0;
      return WORD_VIEW.getBigUint64(0);
    }
    return BigInt(hexOf(this.#bytes, at, length));
  }

  /** Where a bin of exactly `length` bytes begins. */
  #exactBin(length: number): number {
    const found = this.#binLength();
    if (found !== length) throw new MsgpackError(`${found} bytes instead of ${length}`);
    return this.#need(length);
  }

  #binLength(): number {
    const code = this.#byte();
    if (code !== 0xc4) throw new MsgpackError(`${named(code)} instead of bytes`);
    return this.#byte();
  }

  #length(what: string, fix: number, fixMax: number, wide: number, narrow: number | null): number {
    const code = this.#byte();
    if ((code & ~fixMax) === fix) return code & fixMax;
    if (narrow !== null && code === narrow) return shortest(this.#byte(), fixMax);
    if (code === wide) return shortest(this.#bytes.readUInt16BE(this.#need(2)), narrow === null ? fixMax : 0xff);
    if (code === wide + 1) return shortest(this.#bytes.readUInt32BE(this.#need(4)), 0xffff);
    throw new MsgpackError(`${named(code)} instead of ${what}`);
  }

  #byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined || this.#at >= this.#end) throw new MsgpackError('the end, too early');
    this.#at += 1;
    return value;
  }

  #need(count: number): number {
    const at = this.#at;
    if (count > this.#end - at) throw new MsgpackError('the end, too early');
    this.#at = at + count;
    return at;
  }
}

/** Read by a DataView: Buffer's own methods make other bigints on the way. */
const WORD = new Uint8Array(8);
const WORD_VIEW = new DataView(WORD.buffer);

/** The two digits of each byte, to be put down in one go. */
const PAIRS = new Uint16Array(
  Uint8Array.from({ length: 512 }, (_, place) => {
    const byte = place >> 1;
    const half = place % 2 === 0 ? byte >> 4 : byte & 15;
    return half.toString(16).charCodeAt(0);
  }).buffer,
);
/** `0x` and the digits of up to 255 bytes. */
const DIGIT_PAIRS = new Uint16Array(256);
const DIGITS = Buffer.from(DIGIT_PAIRS.buffer);
DIGITS.write('0x', 'latin1');

/**
 * In one piece: a string put together of two would be copied again by the first Map that it is a key of (measured: a
 * third of what reading a quote takes). At most 255 bytes.
 */
function hexOf(bytes: Uint8Array, start: number, length: number): Hex {
  for (let i = 0; i < length; i += 1) {
    DIGIT_PAIRS[1 + i] = PAIRS[bytes[start + i] ?? 0] ?? 0;
  }
  return DIGITS.toString('latin1', 0, 2 + 2 * length) as Hex;
}

/** From the end: digests differ anywhere, and what counts up differs there. */
function isHexOf(text: Hex, bytes: Uint8Array, start: number, length: number): boolean {
  if (text.length !== 2 + 2 * length) return false;
  for (let i = length - 1; i >= 0; i -= 1) {
    const pair = text.charCodeAt(2 + 2 * i) | (text.charCodeAt(3 + 2 * i) << 8);
    if (pair !== PAIRS[bytes[start + i] ?? 0]) return false;
  }
  return true;
}

function shortest(value: number, tooSmall: number): number {
  if (value <= tooSmall) throw new MsgpackError(`${value} in more bytes than it needs`);
  return value;
}

function named(code: number): string {
  return `byte 0x${code.toString(16).padStart(2, '0')}`;
}
