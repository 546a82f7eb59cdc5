import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { BlockHead } from './block-head.js';
import type { ChainLog } from './chain-log.js';
import { Doubt } from './doubt.js';
import { keccak256 } from './keccak.js';

const FILTER_BITS = 2048;
/** A filter with more bits set than that says next to nothing: some gateways set all. */
const MOST_BITS = FILTER_BITS / 2;

/**
 * A node that puts its logs in order behind its head has the newest block already, and none of its logs. An event that
 * is passed over so is never found again. The block's own bloom filter says which logs it may hold (Ethereum yellow
 * paper, 4.3.1); where it says so and there are none, they are to be asked for again.
 */
export class LateLogs {
  readonly #bits: readonly number[];
  readonly #doubt: Doubt;

  /** Logs of `topic` by `emitter`. `patienceMs`: after that the node is believed, for the filter may be mistaken. */
  constructor(emitter: Hex, topic: Hex, clock: Clock, patienceMs: number) {
    this.#doubt = new Doubt(clock, patienceMs);
    this.#bits = [emitter, topic].flatMap(bitsOf);
  }

  /** Whether of the logs up to this block its own may still be missing. `logs`: what the node gave. */
  mayLack({ number, logsBloom }: BlockHead, logs: readonly ChainLog[]): boolean {
    const isDoubtful = logsBloom !== undefined && !logs.some((log) => log.blockNumber === number);
    const mayLack = isDoubtful && this.#mayHold(logsBloom) && !this.#doubt.isOver();
    if (!mayLack) this.#doubt.end();
    return mayLack;
  }

  #mayHold(logsBloom: Hex): boolean {
    const filter = Buffer.from(logsBloom.slice(2), 'hex');
    return this.#bits.every((bit) => isSet(filter, bit)) && countBits(filter) <= MOST_BITS;
  }
}

/** The three of a value: eleven bits each of the first three pairs of bytes of its hash. */
function bitsOf(value: Hex): number[] {
  const hash = Buffer.from(keccak256(Buffer.from(value.slice(2), 'hex')).slice(2), 'hex');
  return [0, 2, 4].map((at) => hash.readUInt16BE(at) % FILTER_BITS);
}

/** Bit 0 is the lowest of the last byte. */
function isSet(filter: Uint8Array, bit: number): boolean {
  return ((filter[filter.length - 1 - (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0;
}

function countBits(filter: Uint8Array): number {
  let count = 0;
  for (let bit = 0; bit < FILTER_BITS; bit++) if (isSet(filter, bit)) count += 1;
  return count;
}
