import type { Hex } from '../engine/quote.js';
import type { GrowingBuffer } from './growing-buffer.js';

/**
 * The part of MessagePack (msgpack.org) that the files use, written and read by position. Each value has one encoding
 * alone, which the reader insists on. Three times as fast as a general encoder, which would need an array and a Buffer
 * per field.
 */
export class MsgpackWriter {
  readonly #out: GrowingBuffer;

  constructor(out: GrowingBuffer) {
    this.#out = out;
  }

  array(length: number): void {
    if (length <= 15) this.#byte(0x90 | length);
    else this.#head(length, 0x90, 15, 0xdc, null);
  }

  /** From 0 to 2^53 - 1. */
  uint(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an unsigned integer: ${value}`);
    const out = this.#out;
    if (value < 0x80) {
      this.#byte(value);
    } else if (value <= 0xff) {
      const at = out.take(2);
      out.bytes[at] = 0xcc;
      out.bytes[at + 1] = value;
    } else if (value <= 0xffff) {
      const at = out.take(3);
      out.bytes[at] = 0xcd;
      out.bytes.writeUInt16BE(value, at + 1);
    } else if (value <= 0xffffffff) {
      const at = out.take(5);
      out.bytes[at] = 0xce;
      out.bytes.writeUInt32BE(value, at + 1);
    } else {
      const at = out.take(9);
      out.bytes[at] = 0xcf;
      out.bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at + 1);
      out.bytes.writeUInt32BE(value % 2 ** 32, at + 5);
    }
  }

  nil(): void {
    this.#byte(0xc0);
  }

  bool(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2);
  }

  text(value: string): void {
    if (HALF_PAIR.test(value)) throw new RangeError('text with half a surrogate pair has no UTF-8');
    const length = Buffer.byteLength(value);
    this.#head(length, 0xa0, 31, 0xda, 0xd9);
    const at = this.#out.take(length);
    this.#out.bytes.write(value, at, 'utf8');
  }

  bin(value: Uint8Array): void {
    this.#binHead(value.length);
    this.#out.put(value);
  }

  /** `length` bytes from hex digits of either case. */
  hex(value: Hex, length: number): void {
    if (value.length !== 2 + 2 * length) throw new RangeError(`not ${length} bytes in hex: ${value}`);
    this.#binHead(length);
    this.#digits(value, 2, length);
  }

  /** A bigint from 0 to 2^2040 - 1, as its shortest big-endian bytes. */
  amount(value: bigint): void {
    if (value < 0n) throw new RangeError(`not an amount: ${value}`);
    if (value === 0n) return this.#binHead(0);
    if (value <= MAX_64_BITS) {
      WORD_VIEW.setBigUint64(0, value);
      let first = 0;
      while (WORD[first] === 0) first += 1;
      this.#binHead(8 - first);
      const at = this.#out.take(8 - first);
      const { bytes } = this.#out;
      for (let i = first; i < 8; i += 1) bytes[at + i - first] = WORD[i] ?? 0;
      return;
    }
    let digits = value.toString(16);
    if (digits.length % 2 === 1) digits = `0${digits}`;
    const length = digits.length / 2;
    this.#binHead(length);
    this.#digits(digits, 0, length);
  }

  /**
   * `length` bytes from the digits that begin at `from`: twice as fast as Buffer's own, which wants a string of them
   * alone.
   */
  #digits(text: string, from: number, length: number): void {
    const at = this.#out.take(length);
    const { bytes } = this.#out;
    let wrong = 0;
    for (let i = 0; i < length; i += 1) {
      const upper = VALUES[text.charCodeAt(from + 2 * i)] ?? NO_DIGIT;
      const lower = VALUES[text.charCodeAt(from + 2 * i + 1)] ?? NO_DIGIT;
      wrong |= upper | lower;
      bytes[at + i] = (upper << 4) | lower;
    }
    if (wrong >= NO_DIGIT) throw new RangeError(`not hex: ${text}`);
  }

  #byte(value: number): void {
    const out = this.#out;
    const at = out.take(1);
    out.bytes[at] = value;
  }

  #binHead(length: number): void {
    const out = this.#out;
    if (length <= 0xff) {
      const at = out.take(2);
      out.bytes[at] = 0xc4;
      out.bytes[at + 1] = length;
    } else {
      this.#wideHead(length, 0xc5);
    }
  }

  #head(length: number, fix: number, fixMax: number, wide: number, narrow: number | null): void {
    const out = this.#out;
    if (length <= fixMax) {
      const at = out.take(1);
      out.bytes[at] = fix | length;
    } else if (narrow !== null && length <= 0xff) {
      const at = out.take(2);
      out.bytes[at] = narrow;
      out.bytes[at + 1] = length;
    } else {
      this.#wideHead(length, wide);
    }
  }

  /** 16 bits of length under `code`, or 32 under the one after it. */
  #wideHead(length: number, code: number): void {
    const out = this.#out;
    if (length <= 0xffff) {
      const at = out.take(3);
      out.bytes[at] = code;
      out.bytes.writeUInt16BE(length, at + 1);
    } else {
      const at = out.take(5);
      out.bytes[at] = code + 1;
      out.bytes.writeUInt32BE(length, at + 1);
    }
  }
}

/** Bytes that are not what their place in a record calls for. */
export class MsgpackFault extends Error {
  override readonly name = 'MsgpackFault';
}

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

  /** Passes over bytes that are known to be right. */
  skip(count: number): void {
    this.#need(count);
  }

  /** Nothing is left. */
  end(): void {
    if (this.#at !== this.#end) throw new MsgpackFault(`${this.#end - this.#at} bytes too many`);
  }

  /** An array of exactly `length`. */
  tuple(length: number): void {
    const found = this.array();
    if (found !== length) throw new MsgpackFault(`${found} fields instead of ${length}`);
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
        if (!Number.isSafeInteger(value)) throw new MsgpackFault('an integer above 2^53 - 1');
        return shortest(value, 0xffffffff);
      }
      default:
        throw new MsgpackFault(`${named(code)} instead of an integer`);
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
    if (code !== 0xc2 && code !== 0xc3) throw new MsgpackFault(`${named(code)} instead of a boolean`);
    return code === 0xc3;
  }

  text(): string {
    const length = this.#length('text', 0xa0, 31, 0xda, 0xd9);
    const at = this.#need(length);
    const text = this.#bytes.toString('utf8', at, at + length);
    if (Buffer.byteLength(text) !== length) throw new MsgpackFault('text that is not UTF-8');
    return text;
  }

  /** A view into what is read. */
  bin(): Buffer {
    const length = this.#binLength();
    const at = this.#need(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Lower-case digits of a bin of exactly `length` bytes. */
  hex(length: number): Hex {
    const found = this.#binLength();
    if (found !== length) throw new MsgpackFault(`${found} bytes instead of ${length}`);
    return hexOf(this.#bytes, this.#need(length), length);
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
    if (this.#bytes[at] === 0) throw new MsgpackFault('an amount with a leading zero');
    if (length <= 8) {
      WORD.fill(0);
      for (let i = 0; i < length; i += 1) WORD[8 - length + i] = this.#bytes[at + i] ?? 0;
      return WORD_VIEW.getBigUint64(0);
    }
    return BigInt(hexOf(this.#bytes, at, length));
  }

  #binLength(): number {
    const code = this.#byte();
    if (code === 0xc4) return this.#byte();
    if (code === 0xc5 || code === 0xc6) return this.#wide(code === 0xc6, 0xff);
    throw new MsgpackFault(`${named(code)} instead of bytes`);
  }

  #length(what: string, fix: number, fixMax: number, wide: number, narrow: number | null): number {
    const code = this.#byte();
    if ((code & ~fixMax) === fix) return code & fixMax;
    if (narrow !== null && code === narrow) return shortest(this.#byte(), fixMax);
    if (code === wide || code === wide + 1) return this.#wide(code !== wide, narrow === null ? fixMax : 0xff);
    throw new MsgpackFault(`${named(code)} instead of ${what}`);
  }

  #wide(is32: boolean, below: number): number {
    return is32
      ? shortest(this.#bytes.readUInt32BE(this.#need(4)), 0xffff)
      : shortest(this.#bytes.readUInt16BE(this.#need(2)), below);
  }

  #byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined || this.#at >= this.#end) throw new MsgpackFault('the end, too early');
    this.#at += 1;
    return value;
  }

  #need(count: number): number {
    const at = this.#at;
    if (count > this.#end - at) throw new MsgpackFault('the end, too early');
    this.#at = at + count;
    return at;
  }
}

/** Most amounts are no larger, and a DataView makes no other bigint on the way, as Buffer's own methods do. */
const MAX_64_BITS = 2n ** 64n - 1n;
const WORD = new Uint8Array(8);
const WORD_VIEW = new DataView(WORD.buffer);

/** What each character is worth as a digit of either case. */
const NO_DIGIT = 16;
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase());
  return value === -1 ? NO_DIGIT : value;
});

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
  if (length > 255) throw new MsgpackFault(`${length} bytes are too many for an amount`);
  for (let i = 0; i < length; i += 1) {
    DIGIT_PAIRS[1 + i] = PAIRS[bytes[start + i] ?? 0] ?? 0;
  }
  return DIGITS.toString('latin1', 0, 2 + 2 * length) as Hex;
}

/** With the u flag a whole pair is one character, so that only a lone half matches. */
const HALF_PAIR = /\p{Surrogate}/u;

function shortest(value: number, tooSmall: number): number {
  if (value <= tooSmall) throw new MsgpackFault(`${value} in more bytes than it needs`);
  return value;
}

function named(code: number): string {
  return `byte 0x${code.toString(16).padStart(2, '0')}`;
}
