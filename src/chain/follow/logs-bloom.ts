import type { Hex } from '../../engine/quote.js';
import { LruMap } from '../../system/lru-map.js';
import { keccak256 } from '../contracts/abi-encoding.js';
import type { ChainLog } from '../contracts/blocks-and-logs.js';

const FILTER_BITS = 2048;
/** With more bits set than that a filter says next to nothing, and some gateways set all of them. */
const MOST_BITS = FILTER_BITS / 2;
/** Values whose bits are remembered: hashing one takes 3 us, and blocks are asked about the same ones. */
const REMEMBERED = 20_000;

const remembered = new LruMap<Hex, readonly number[]>(REMEMBERED);

/** The bloom filter of a block's logs: the addresses and topics in them, three bits each (yellow paper, 4.3.1). */
export class LogsBloom {
  readonly #bytes: Uint8Array;
  /** Whether a value that the filter has is likely to be in the block. */
  readonly isSelective: boolean;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.isSelective = countBits(bytes) <= MOST_BITS;
  }

  static read(logsBloom: Hex): LogsBloom {
    return new LogsBloom(Buffer.from(logsBloom.slice(2), 'hex'));
  }

  /** The filter of a block that has these logs and no others. */
  static of(logs: readonly Pick<ChainLog, 'address' | 'topics'>[]): LogsBloom {
    const bytes = new Uint8Array(FILTER_BITS / 8);
    for (const { address, topics } of logs) {
      for (const bit of [address, ...topics].flatMap(bitsOf)) bytes[placeOf(bit)] = byteAt(bytes, bit) | maskOf(bit);
    }
    return new LogsBloom(bytes);
  }

  get hex(): Hex {
    return `0x${Buffer.from(this.#bytes).toString('hex')}`;
  }

  /** Whether the block may have a log from that address, or with that topic. */
  has(value: Hex): boolean {
    return bitsOf(value).every((bit) => (byteAt(this.#bytes, bit) & maskOf(bit)) !== 0);
  }

  hasLog({ address, topics }: Pick<ChainLog, 'address' | 'topics'>): boolean {
    return this.has(address) && topics.every((topic) => this.has(topic));
  }

  equals(other: LogsBloom): boolean {
    return Buffer.compare(this.#bytes, other.#bytes) === 0;
  }
}

/** Eleven bits each of the first three pairs of bytes of the value's hash. */
function bitsOf(value: Hex): readonly number[] {
  const known = remembered.get(value);
  if (known !== undefined) return known;
  const hash = Buffer.from(keccak256(Buffer.from(value.slice(2), 'hex')).slice(2), 'hex');
  const bits = [0, 2, 4].map((at) => hash.readUInt16BE(at) % FILTER_BITS);
  remembered.set(value, bits);
  return bits;
}

/** Bit 0 is the lowest of the last byte. */
function placeOf(bit: number): number {
  return FILTER_BITS / 8 - 1 - (bit >> 3);
}

function maskOf(bit: number): number {
  return 1 << (bit & 7);
}

function byteAt(bytes: Uint8Array, bit: number): number {
  return bytes[placeOf(bit)] ?? 0;
}

function countBits(bytes: Uint8Array): number {
  let count = 0;
  for (let byte of bytes) for (; byte !== 0; byte &= byte - 1) count += 1;
  return count;
}
