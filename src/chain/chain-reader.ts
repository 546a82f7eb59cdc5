import { isHex, numberToHex } from 'viem';
import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';
import { Multicall, type AskOne, type MulticallLimits } from './multicall.js';
import { readBytes, readHex, readQuantity, readTime } from './rpc-answers.js';

export { ChainAnswerError };

/** A block by number and hash: the number alone names another block after a reorg. */
export interface BlockId {
  readonly blockNumber: number;
  readonly blockHash: Hex;
}

/**
 * Which state is asked: after this very block or not at all, after the block of that number, or (absent) after the
 * newest.
 */
export type AtBlock = BlockId | number | undefined;

export interface BlockHead {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Unix seconds. */
  readonly timestamp: number;
  /** Of the logs that the block may hold; absent where the node does not tell it. */
  readonly logsBloom?: Hex;
}

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

/** One read of a contract, encoded. */
export interface ContractCall {
  readonly to: Hex;
  readonly data: Hex;
}

/** What came back: the return data (empty where there is no code), or the revert's own data. */
export interface CallResult {
  readonly reverted: boolean;
  readonly data: Hex;
}

/** Of hashes and topics. */
const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
const BLOOM_DIGITS = 512;

/**
 * Reads one chain: blocks, logs, and contract calls at a given block. A revert is a result; an error is thrown only
 * when no answer came, so that an outage is never taken for a refusal.
 */
export class ChainReader {
  readonly #multicall: Multicall;
  readonly #failures = new WeakSet<Error>();

  constructor(
    private readonly rpc: Rpc,
    /** Null: there is no Multicall3, and calls go out one by one. */
    private readonly multicall3: Hex | null,
    private readonly limits: MulticallLimits,
  ) {
    this.#multicall = new Multicall((call, at, gas) => this.call(call, at, undefined, gas), multicall3, limits);
  }

  /** Of the node that answers now: the same number as before, and it alone has answered since. */
  get turn(): number {
    return this.rpc.turn ?? 0;
  }

  /** Whether it was this chain's node that gave the error, or the answer that is one. */
  hasGiven(error: Error): boolean {
    return this.#failures.has(error);
  }

  head(): Promise<BlockHead> {
    return this.#noting(async () => {
      return readHead(await this.rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] }));
    });
  }

  /** Rejects with ChainAnswerError when the node does not have that block. */
  block(number: number): Promise<BlockHead> {
    return this.#noting(async () => readBlock(await this.#blockAnswer(number), number));
  }

  /** Rejects with ChainAnswerError also where the node has another block by that number. */
  blockOf({ blockNumber, blockHash }: BlockId): Promise<BlockHead> {
    return this.#noting(async () => {
      const block = readBlock(await this.#blockAnswer(blockNumber), blockNumber);
      if (block.hash !== blockHash) throw new ChainAnswerError(`The node has another block ${blockNumber}`);
      return block;
    });
  }

  /** Null when the node does not have that block: it lags behind the head it told of, or has lost it. */
  findBlock(number: number): Promise<BlockHead | null> {
    return this.#noting(async () => {
      const answer = await this.#blockAnswer(number);
      return answer === null ? null : readBlock(answer, number);
    });
  }

  /**
   * In chain order: by block, then log index, each once. One block is asked for by its hash (EIP-234), which a node
   * that lags or is on another branch can't answer; of a range, the logs of its last block are held against the hash.
   */
  logs(query: LogQuery): Promise<ChainLog[]> {
    return this.#noting(() => this.#logs(query));
  }

  /** One call, with the state at the end of a block. `gas` bounds what the node spends on it. */
  call(call: ContractCall, at?: AtBlock, from?: Hex, gas?: number): Promise<CallResult> {
    return this.#call([requestOf(call, from, gas), blockParameter(at)]);
  }

  /** Calls answered in order, each of which may revert by itself. */
  multicall(calls: readonly ContractCall[], at?: AtBlock): Promise<CallResult[]> {
    return this.#multicall.ask(calls, at);
  }

  /**
   * As `multicall` with the newest state, as if the block's timestamp were this one (Unix seconds): the fourth parameter
   * of `eth_call`, which geth and what is made of it have since 1.11. Rejects with RpcError where a node does not take it.
   */
  multicallAtTime(calls: readonly ContractCall[], timestamp: number): Promise<CallResult[]> {
    const block = { time: numberToHex(timestamp) };
    const askOne: AskOne = (call, _, gas) => this.#call([requestOf(call, undefined, gas), 'latest', {}, block]);
    return new Multicall(askOne, this.multicall3, this.limits).ask(calls, undefined);
  }

  async #logs({ fromBlock, to, address, topics }: LogQuery): Promise<ChainLog[]> {
    const blocks =
      fromBlock === to.blockNumber
        ? { blockHash: to.blockHash }
        : { fromBlock: numberToHex(fromBlock), toBlock: numberToHex(to.blockNumber) };
    const filter = { ...blocks, topics, ...(address && { address }) };
    const answer = await this.rpc.request({ method: 'eth_getLogs', params: [filter] });
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

  #blockAnswer(number: number): Promise<unknown> {
    return this.rpc.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), false] });
  }

  #call(params: readonly unknown[]): Promise<CallResult> {
    return this.#noting(async () => {
      try {
        return { reverted: false, data: readHex(await this.rpc.request({ method: 'eth_call', params })) };
      } catch (error) {
        const revert = revertData(error);
        if (revert === null) throw error;
        return { reverted: true, data: revert };
      }
    });
  }

  async #noting<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.#failures.add(error as Error);
      throw error;
    }
  }
}

/** EIP-1898: a block that is no longer on the chain is an error and not an answer. */
function blockParameter(at: AtBlock): unknown {
  if (at === undefined) return 'latest';
  return typeof at === 'number' ? numberToHex(at) : { blockHash: at.blockHash, requireCanonical: true };
}

/**
 * The revert's data when `error` tells of one, else null: by geth's code 3, or the word in the message, or before the
 * data, where older Nethermind and what stands in front of it have it.
 */
export function revertData(error: unknown): Hex | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  const data = 'data' in error && typeof error.data === 'string' ? error.data : '';
  if (error.code !== 3 && !/revert/i.test(error.message) && !/^revert/i.test(data)) return null;
  const hex = data.replace(/^Reverted /, '');
  return isHex(hex) ? hex : '0x';
}

function requestOf({ to, data }: ContractCall, from?: Hex, gas?: number) {
  return { to, data, ...(from && { from }), ...(gas !== undefined && { gas: numberToHex(gas) }) };
}

function readHead(answer: unknown): BlockHead {
  if (typeof answer !== 'object' || answer === null) throw new ChainAnswerError('The node does not have that block');
  const { number, hash, parentHash, timestamp, logsBloom } = answer as Record<string, unknown>;
  return {
    number: readQuantity(number),
    hash: readBytes(hash, WORD_BYTES),
    parentHash: readBytes(parentHash, WORD_BYTES),
    timestamp: readTime(timestamp),
    ...(isBloom(logsBloom) && { logsBloom }),
  };
}

/** Another block than that asked for would show the reader a chain on which nothing is that it has read. */
function readBlock(answer: unknown, number: number): BlockHead {
  const block = readHead(answer);
  if (block.number !== number) throw new ChainAnswerError(`The node gave block ${block.number} for block ${number}`);
  return block;
}

function isBloom(logsBloom: unknown): logsBloom is Hex {
  return isHex(logsBloom) && logsBloom.length === 2 + BLOOM_DIGITS;
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

/** The same log again: a gateway may put the answers of several nodes together. Logs of two branches are an error. */
function isTwin(log: ChainLog, before: ChainLog | undefined): boolean {
  if (log.blockNumber !== before?.blockNumber) return false;
  if (log.blockHash !== before.blockHash) throw new ChainAnswerError('The logs are of two branches');
  return log.logIndex === before.logIndex;
}

function readLog(answer: unknown): ChainLog {
  if (typeof answer !== 'object' || answer === null) throw new ChainAnswerError('A log is not an object');
  const log = answer as Record<string, unknown>;
  if (!Array.isArray(log.topics)) throw new ChainAnswerError('A log has no topics');
  return {
    address: readBytes(log.address, ADDRESS_BYTES),
    topics: log.topics.map((topic: unknown) => readBytes(topic, WORD_BYTES)),
    data: readHex(log.data),
    blockNumber: readQuantity(log.blockNumber),
    blockHash: readBytes(log.blockHash, WORD_BYTES),
    txHash: readBytes(log.transactionHash, WORD_BYTES),
    logIndex: readQuantity(log.logIndex),
    timestamp: readLogTime(log.blockTimestamp),
  };
}

/** Nodes that do not know it leave it out, or say 0 (geth 1.16 in places, gateways that never fill it in). */
function readLogTime(blockTimestamp: unknown): number | null {
  return blockTimestamp === undefined || blockTimestamp === null ? null : readTime(blockTimestamp) || null;
}
