import { isHex } from 'viem';
import type { Hex } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';
import { HASH_BYTES, readBytes, readQuantity, readTime } from './rpc-answers.js';

/** A block by number and hash: the number alone names another block after a reorg. */
export interface BlockId {
  readonly blockNumber: number;
  readonly blockHash: Hex;
}

export interface BlockHead {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Unix seconds. */
  readonly timestamp: number;
  /** Of the logs that the block may hold; absent where the node does not tell it. */
  readonly logsBloom?: Hex;
}

const BLOOM_DIGITS = 512;

export function idOf({ number, hash }: BlockHead): BlockId {
  return { blockNumber: number, blockHash: hash };
}

/** Throws ChainAnswerError on what is none. */
export function readHead(answer: unknown): BlockHead {
  if (typeof answer !== 'object' || answer === null) throw new ChainAnswerError('The node does not have that block');
  const { number, hash, parentHash, timestamp, logsBloom } = answer as Record<string, unknown>;
  return {
    number: readQuantity(number),
    hash: readBytes(hash, HASH_BYTES),
    parentHash: readBytes(parentHash, HASH_BYTES),
    timestamp: readTime(timestamp),
    ...(isBloom(logsBloom) && { logsBloom }),
  };
}

/** Another block than that asked for would show the reader a chain on which nothing is that it has read. */
export function readBlock(answer: unknown, number: number): BlockHead {
  const block = readHead(answer);
  if (block.number !== number) throw new ChainAnswerError(`The node gave block ${block.number} for block ${number}`);
  return block;
}

function isBloom(logsBloom: unknown): logsBloom is Hex {
  return isHex(logsBloom) && logsBloom.length === 2 + BLOOM_DIGITS;
}
