import { isHex, numberToHex } from 'viem';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { ChainAnswerError, readHex, readWideQuantity } from '../rpc/rpc-response.js';
import type { CallResult, ContractCall } from './abi-encoding.js';
import {
  type AtBlock,
  type BlockHead,
  type BlockId,
  type ChainLog,
  type LogQuery,
  readBlock,
  readHead,
  readLogs,
} from './blocks-and-logs.js';
import { type CallOne, type Breaker, Multicall, type MulticallLimits, NO_BREAKER } from './multicall.js';

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
    breaker: Breaker = NO_BREAKER,
  ) {
    const askOne: CallOne = (call, at, { gas, code }) =>
      this.#call([requestOf(call, undefined, gas), blockParameter(at), ...(code ? [{ [call.to]: { code } }] : [])]);
    this.#multicall = new Multicall(askOne, multicall3, limits, breaker);
  }

  /** Grows whenever another endpoint is asked. The same number as before: one alone has answered since. */
  get switches(): number {
    return this.rpc.switches ?? 0;
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
    return this.#noting(async () => this.#chosen(readBlock(await this.#blockAnswer(number), number)));
  }

  /** Rejects with ChainAnswerError also where the node has another block by that number. */
  blockOf({ blockNumber, blockHash }: BlockId): Promise<BlockHead> {
    return this.#noting(async () => {
      const block = await this.#chosen(readBlock(await this.#blockAnswer(blockNumber), blockNumber));
      if (block.hash !== blockHash) throw new ChainAnswerError(`The node has another block ${blockNumber}`);
      return block;
    });
  }

  /** Null when the node does not have that block: it lags behind the head it told of, or has lost it. */
  findBlock(number: number): Promise<BlockHead | null> {
    return this.#noting(async () => {
      const answer = await this.#blockAnswer(number);
      return answer === null ? null : this.#chosen(readBlock(answer, number));
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

  /** An account's balance of the chain's own coin at the newest block, in wei. */
  nativeBalance(account: Hex): Promise<bigint> {
    return this.#noting(async () => {
      return readWideQuantity(await this.rpc.request({ method: 'eth_getBalance', params: [account, 'latest'] }));
    });
  }

  /** Whether the call, which runs foreign code, is answered at the newest block with the gas that a check may have. */
  isAnswered(call: ContractCall): Promise<boolean> {
    return this.#multicall.isAnswered(call);
  }

  /** Calls answered in order, each of which may revert alone. */
  multicall(calls: readonly ContractCall[], at?: AtBlock): Promise<CallResult[]> {
    return this.#multicall.ask(calls, at);
  }

  /**
   * As `multicall` with the newest state, as if the block's timestamp were this one (Unix seconds): the fourth parameter
   * of `eth_call`, which geth and what is made of it have since 1.11. Rejects with RpcError where a node does not take it.
   */
  multicallAtTime(calls: readonly ContractCall[], timestamp: number): Promise<CallResult[]> {
    const block = { time: numberToHex(timestamp) };
    const askOne: CallOne = (call, _, { gas }) => this.#call([requestOf(call, undefined, gas), 'latest', {}, block]);
    return new Multicall(askOne, this.multicall3, this.limits, NO_BREAKER).ask(calls, undefined);
  }

  async #logs(query: LogQuery): Promise<ChainLog[]> {
    const { fromBlock, to, address, topics } = query;
    const blocks =
      fromBlock === to.blockNumber
        ? { blockHash: to.blockHash }
        : { fromBlock: numberToHex(fromBlock), toBlock: numberToHex(to.blockNumber) };
    const filter = { ...blocks, topics, ...(address && { address }) };
    const answer = await this.rpc.request({ method: 'eth_getLogs', params: [filter] });
    return readLogs(answer, query);
  }

  /**
   * Of the genesis block, the one that the first block names as its parent. Anvil, restored from its state file, puts a
   * new one beside those that it saved, and answers for number 0 with any; which one its chain stands on never changes.
   */
  async #chosen(block: BlockHead): Promise<BlockHead> {
    if (block.number !== 0) return block;
    const first = await this.#blockAnswer(1);
    return first === null ? block : { ...block, hash: readBlock(first, 1).parentHash };
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
