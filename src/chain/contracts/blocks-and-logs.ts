import { isHex } from 'viem';
import type { Hex } from '../../engine/quote.js';
import { ChainAnswerError, HASH_BYTES, readBytes, readHex, readQuantity, readTime } from '../rpc/rpc-response.js';

/** One event log, as `eth_getLogs` gives it, with numbers read. */
export interface ChainLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly txHash: Hex;
  readonly logIndex: number;
  /** Unix seconds; null from nodes that do not tell it. */
  readonly timestamp: number | null;
}

/** OR within a position, AND between positions; null: anything (EIP-1474 `eth_getLogs`). */
export type Topics = readonly (Hex | readonly Hex[] | null)[];

export interface LogQuery {
  readonly fromBlock: number;
  /** The last block, by its hash: logs of another branch are an error. */
  readonly to: BlockId;
  readonly address?: Hex | readonly Hex[];
  readonly topics: Topics;
}

const ADDRESS_BYTES = 20;

/** The logs that `eth_getLogs` gave, in chain order. Throws ChainAnswerError where they do not answer that query. */
export function readLogs(answer: unknown, { fromBlock, to, address, topics }: LogQuery): ChainLog[] {
  if (!Array.isArray(answer)) throw new ChainAnswerError('eth_getLogs gave no array');
  const logs = answer
    .filter((log) => !isRemoved(log))
    .map(readLog)
    .sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  if (logs.some((log) => log.blockNumber === to.blockNumber && log.blockHash !== to.blockHash)) {
    throw new ChainAnswerError('The logs are of another branch');
  }
  if (logs.some((log) => log.blockNumber < fromBlock || log.blockNumber > to.blockNumber)) {
    throw new ChainAnswerError('The logs are of other blocks than those asked for');
  }
  if (!logs.every(matcherOf(topics, address))) throw new ChainAnswerError('The logs are others than those asked for');
  return logs.filter((log, i) => !isTwin(log, logs[i - 1]));
}

/**
 * Whether a log is one of those asked for. The answer to another question says nothing of this one, and what came from
 * another contract would be taken for the word of ours.
 */
function matcherOf(topics: Topics, address: LogQuery['address']): (log: ChainLog) => boolean {
  const emitters = wanted(address ?? null);
  const places = topics.map(wanted);
  return (log) =>
    emitters?.has(log.address) !== false &&
    places.every((place, i) => place === null || place.has(log.topics[i] ?? 'none'));
}

/** In lower case; null: anything. */
function wanted(words: Topics[number]): ReadonlySet<string> | null {
  return words === null ? null : new Set([words].flat().map((word) => word.toLowerCase()));
}

/** A reorg took it back, as subscriptions tell it. Gateways that answer from what they heard there may show such logs. */
function isRemoved(log: unknown): boolean {
  return typeof log === 'object' && log !== null && 'removed' in log && log.removed === true;
}

/**
 * The same log again: a gateway may put the answers of several nodes together. Logs of two branches are an error, and so
 * are two in one place: one of them would be lost.
 */
function isTwin(log: ChainLog, before: ChainLog | undefined): boolean {
  if (log.blockNumber !== before?.blockNumber) return false;
  if (log.blockHash !== before.blockHash) throw new ChainAnswerError('The logs are of two branches');
  if (log.logIndex !== before.logIndex) return false;
  if (contentOf(log) !== contentOf(before)) throw new ChainAnswerError('Two logs have the same place in a block');
  return true;
}

function contentOf({ address, topics, data, txHash }: ChainLog): string {
  return [txHash, address, data, ...topics].join();
}

function readLog(answer: unknown): ChainLog {
  if (typeof answer !== 'object' || answer === null) throw new ChainAnswerError('A log is not an object');
  const log = answer as Record<string, unknown>;
  if (!Array.isArray(log.topics)) throw new ChainAnswerError('A log has no topics');
  return {
    address: readBytes(log.address, ADDRESS_BYTES),
    topics: log.topics.map((topic: unknown) => readBytes(topic, HASH_BYTES)),
    data: readHex(log.data),
    blockNumber: readQuantity(log.blockNumber),
    blockHash: readBytes(log.blockHash, HASH_BYTES),
    txHash: readBytes(log.transactionHash, HASH_BYTES),
    logIndex: readQuantity(log.logIndex),
    timestamp: readLogTime(log.blockTimestamp),
  };
}

/** Nodes that do not know it leave it out, or say 0 (geth 1.16 in places, gateways that never fill it in). */
function readLogTime(blockTimestamp: unknown): number | null {
  return blockTimestamp === undefined || blockTimestamp === null ? null : readTime(blockTimestamp) || null;
}

/**
 * Which state is asked: after this very block or not at all, after the block of that number, or (absent) after the
 * newest.
 */
export type AtBlock = BlockId | number | undefined;

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

/** Throws ChainAnswerError if the answer is no block. */
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
