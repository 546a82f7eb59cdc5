import type { Hex } from '../engine/quote.js';
import { BLOCK_BYTES, FREE_FROM, keccakModule, MEMORY_BYTES, roundConstants } from './keccak-wasm.js';

const HASH_BYTES = 32;
/** Longest message that `Keccak256.of` takes. */
export const MAX_MESSAGE_BYTES = 16_383;

/** As much of it as is used here: the types of the language itself do not tell of it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: Record<string, unknown> };
};

type HashBlocks = (at: number, end: number, to: number) => void;

/** Keccak-256 as Ethereum has it (0x01 behind the message, where SHA-3 has 0x06), of short messages. */
export class Keccak256 {
  readonly #hashBlocks: HashBlocks;
  readonly #memory: Uint8Array<ArrayBuffer>;
  #freeFrom = FREE_FROM;
  readonly #hash: number;
  readonly #any: number;

  constructor() {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(keccakModule()));
    this.#hashBlocks = exports.hash as HashBlocks;
    this.#memory = new Uint8Array((exports.memory as { readonly buffer: ArrayBuffer }).buffer);
    new BigUint64Array(this.#memory.buffer).set(roundConstants());
    this.#hash = this.#allot(HASH_BYTES);
    this.#any = this.#allot(MAX_MESSAGE_BYTES + 1);
  }

  /** A place for messages of `length` bytes that are written and hashed again and again. */
  message(length: number): KeccakMessage {
    const bytes = paddedLength(length);
    const at = this.#allot(bytes);
    pad(this.#memory, at, length);
    return new KeccakMessage(this.#hashBlocks, this.#memory.buffer, { at, length, end: at + bytes, hash: this.#hash });
  }

  /** 32 bytes. Throws RangeError where the message is too long. */
  of(message: Uint8Array): Uint8Array {
    if (message.length > MAX_MESSAGE_BYTES) throw new RangeError(`No message of ${message.length} bytes can be hashed`);
    this.#memory.set(message, this.#any);
    pad(this.#memory, this.#any, message.length);
    this.#hashBlocks(this.#any, this.#any + paddedLength(message.length), this.#hash);
    return this.#memory.slice(this.#hash, this.#hash + HASH_BYTES);
  }

  #allot(bytes: number): number {
    const at = this.#freeFrom;
    this.#freeFrom += Math.ceil(bytes / 8) * 8;
    if (this.#freeFrom > MEMORY_BYTES) throw new RangeError('There is no room for another message');
    return at;
  }
}

interface Place {
  readonly at: number;
  readonly length: number;
  /** Where its last block ends. */
  readonly end: number;
  /** Where hashes are put that are read at once. */
  readonly hash: number;
}

/** A message in the module's own memory: hashing it copies nothing. */
class KeccakMessage {
  readonly bytes: Uint8Array;
  /** The same bytes, as these. */
  readonly buffer: Buffer;
  readonly words: DataView;
  readonly #hashBlocks: HashBlocks;
  readonly #place: Place;
  /** Where its hash is put that is read at once. */
  readonly #hash: Uint8Array;

  constructor(hashBlocks: HashBlocks, memory: ArrayBuffer, place: Place) {
    this.#hashBlocks = hashBlocks;
    this.#place = place;
    this.bytes = new Uint8Array(memory, place.at, place.length);
    this.buffer = Buffer.from(memory, place.at, place.length);
    this.words = new DataView(memory, place.at, place.length);
    this.#hash = new Uint8Array(memory, place.hash, HASH_BYTES);
  }

  /** 32 bytes. */
  hash(): Uint8Array {
    return this.passingHash().slice();
  }

  /** The same 32 bytes every time: they hold this hash until the module makes another one. */
  passingHash(): Uint8Array {
    this.#hashBlocks(this.#place.at, this.#place.end, this.#place.hash);
    return this.#hash;
  }

  hexHash(): Hex {
    this.#hashBlocks(this.#place.at, this.#place.end, this.#place.hash);
    return toHex(this.#hash);
  }

  /** Puts this message's hash into another message of the same module, from its byte `offset` on. */
  hashInto(other: KeccakMessage, offset: number): void {
    this.#hashBlocks(this.#place.at, this.#place.end, other.#place.at + offset);
  }
}

function paddedLength(length: number): number {
  return (Math.floor(length / BLOCK_BYTES) + 1) * BLOCK_BYTES;
}

/** Fills the last block: a one bit behind the message, zeros, and a one bit at the very end (FIPS 202, 5.1). */
function pad(memory: Uint8Array, at: number, length: number): void {
  const end = at + paddedLength(length);
  memory.fill(0, at + length, end);
  memory[at + length] = 0x01;
  memory[end - 1] = (memory[end - 1] ?? 0) | 0x80;
}

/** Most bytes that are written in one piece: a public key. */
const MOST_BYTES = 65;
const text = Buffer.from(new ArrayBuffer(2 + 2 * MOST_BYTES));
text.write('0x', 'latin1');
/** The same text, two characters each. */
const pairs = new Uint16Array(text.buffer);
/**
 * Of each byte its two digits, the first one in the lower byte, as memory has it on every machine that Node and its
 * libraries are built for.
 */
const digits = Uint16Array.from({ length: 256 }, (_, byte) => {
  const [high = 0, low = 0] = Buffer.from(byte.toString(16).padStart(2, '0'));
  return low * 256 + high;
});

/**
 * `0x` and the digits. In one piece: where two are put together the engine keeps them apart, and every map that such a
 * text is a key of compares it by a call out of compiled code. It takes less time than `toString('hex')` too.
 */
export function toHex(bytes: Uint8Array): Hex {
  if (bytes.length > MOST_BYTES) return `0x${Buffer.from(bytes).toString('hex')}`;
  for (let i = 0; i < bytes.length; i++) pairs[i + 1] = digits[bytes[i] ?? 0] ?? 0;
  return text.toString('latin1', 0, 2 + 2 * bytes.length) as Hex;
}
