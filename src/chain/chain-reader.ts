import { decodeFunctionResult, encodeFunctionData, isHex, numberToHex } from 'viem';
import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { multicall3Abi } from './abi/multicall3.js';

export interface BlockHead {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Unix seconds. */
  readonly timestamp: number;
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
}

/** OR within a position, AND between positions; null: anything (EIP-1474 `eth_getLogs`). */
export type Topics = readonly (Hex | readonly Hex[] | null)[];

export interface LogQuery {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly address?: Hex | readonly Hex[];
  readonly topics: Topics;
}

/** A chain said something that cannot be: a null block, a log without its place. */
export class ChainAnswerError extends Error {
  override readonly name = 'ChainAnswerError';
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

/**
 * Reads one chain: blocks, logs, and contract calls at a given block. A revert is a result; an error is thrown only when
 * no answer came, so that an outage is never taken for a refusal.
 */
export class ChainReader {
  constructor(
    private readonly rpc: Rpc,
    /** Null: calls go out one by one. */
    private readonly multicall3: Hex | null,
    /** Calls in one `aggregate3`: bounded so that a node's gas limit for `eth_call` holds them. */
    private readonly callsPerBatch: number,
  ) {}

  async head(): Promise<BlockHead> {
    return readHead(await this.rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] }));
  }

  /** Rejects with ChainAnswerError when the node does not have that block. */
  async block(number: number): Promise<BlockHead> {
    return readHead(await this.rpc.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), false] }));
  }

  /** In chain order: by block, then log index. */
  async logs({ fromBlock, toBlock, address, topics }: LogQuery): Promise<ChainLog[]> {
    const range = { fromBlock: numberToHex(fromBlock), toBlock: numberToHex(toBlock) };
    const filter = { ...range, topics, ...(address && { address }) };
    const logs = await this.rpc.request({ method: 'eth_getLogs', params: [filter] });
    if (!Array.isArray(logs)) throw new ChainAnswerError('eth_getLogs gave no array');
    return logs.map(readLog).sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  }

  /** One call, with the state at the end of block `blockNumber`, or of the newest block. */
  async call({ to, data }: ContractCall, blockNumber?: number, from?: Hex): Promise<CallResult> {
    const block = blockNumber === undefined ? 'latest' : numberToHex(blockNumber);
    try {
      const result = await this.rpc.request({
        method: 'eth_call',
        params: [{ to, data, ...(from && { from }) }, block],
      });
      return { reverted: false, data: hex(result) };
    } catch (error) {
      const revert = revertData(error);
      if (revert === null) throw error;
      return { reverted: true, data: revert };
    }
  }

  /** Calls answered in order, each of which may revert by itself. */
  async multicall(calls: readonly ContractCall[], blockNumber?: number): Promise<CallResult[]> {
    const batches: Promise<CallResult[]>[] = [];
    for (let start = 0; start < calls.length; start += this.callsPerBatch) {
      batches.push(this.#batch(calls.slice(start, start + this.callsPerBatch), blockNumber));
    }
    return (await Promise.all(batches)).flat();
  }

  async #batch(calls: readonly ContractCall[], blockNumber: number | undefined): Promise<CallResult[]> {
    if (this.multicall3 === null) return Promise.all(calls.map((call) => this.call(call, blockNumber)));
    const args = [calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))] as const;
    const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args });
    const answer = await this.call({ to: this.multicall3, data }, blockNumber);
    if (answer.reverted) throw new ChainAnswerError('Multicall3 reverted as a whole');
    const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer.data });
    return results.map(({ success, returnData }) => ({ reverted: !success, data: returnData }));
  }
}

/** The revert's data when `error` tells of one (geth's code 3, or the word in the message), else null. */
export function revertData(error: unknown): Hex | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  if (error.code !== 3 && !/revert/i.test(error.message)) return null;
  const data = 'data' in error ? error.data : undefined;
  return typeof data === 'string' && isHex(data) ? data : '0x';
}

function readHead(answer: unknown): BlockHead {
  if (typeof answer !== 'object' || answer === null) throw new ChainAnswerError('The node does not have that block');
  const { number, hash, parentHash, timestamp } = answer as Record<string, unknown>;
  return {
    number: quantity(number),
    hash: hex(hash),
    parentHash: hex(parentHash),
    timestamp: quantity(timestamp),
  };
}

function readLog(answer: unknown): ChainLog {
  if (typeof answer !== 'object' || answer === null) throw new ChainAnswerError('A log is not an object');
  const log = answer as Record<string, unknown>;
  if (!Array.isArray(log.topics)) throw new ChainAnswerError('A log has no topics');
  return {
    address: hex(log.address),
    topics: log.topics.map((topic: unknown) => hex(topic)),
    data: hex(log.data),
    blockNumber: quantity(log.blockNumber),
    blockHash: hex(log.blockHash),
    txHash: hex(log.transactionHash),
    logIndex: quantity(log.logIndex),
  };
}

function hex(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]*$/.test(value)) throw new ChainAnswerError('Hex digits expected');
  return value.toLowerCase() as Hex;
}

function quantity(value: unknown): number {
  const number = Number(hex(value));
  if (!Number.isSafeInteger(number)) throw new ChainAnswerError('A number is out of range');
  return number;
}
