import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Hex } from '../engine/quote.js';
import { multicall3Abi } from './abi/multicall3.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { AtBlock, CallResult, ContractCall } from './chain-reader.js';
import { RpcError } from './http-rpc.js';
import { mapInFlight } from './in-flight.js';

export interface MulticallLimits {
  /** Calls in one `aggregate3`: bounded so that a node's gas limit for `eth_call` holds them. */
  readonly callsPerBatch: number;
  readonly batchesInFlight: number;
  /** Gas of a call that is asked alone. */
  readonly gasPerCall: number;
}

export type AskOne = (call: ContractCall, at: AtBlock, gas?: number) => Promise<CallResult>;

/**
 * Many reads in few requests, by Multicall3 where there is one. What is read may be hostile: a contract that burns all the
 * gas it is given makes the calls after it in its batch fail too. Those fail without a word, which no honest contract
 * does, so each such call is asked again by itself, with gas of its own.
 */
export class Multicall {
  constructor(
    private readonly askOne: AskOne,
    /** Null: calls go out one by one. */
    private readonly multicall3: Hex | null,
    private readonly limits: MulticallLimits,
  ) {}

  /** Answers in the order of `calls`; each may revert by itself. */
  async ask(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const { callsPerBatch, batchesInFlight } = this.limits;
    const batches: (readonly ContractCall[])[] = [];
    for (let start = 0; start < calls.length; start += callsPerBatch) {
      batches.push(calls.slice(start, start + callsPerBatch));
    }
    return (await mapInFlight(batches, batchesInFlight, (batch) => this.#batch(batch, at))).flat();
  }

  async #batch(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    if (this.multicall3 === null || calls.length === 1) return this.#oneByOne(calls, at);
    const answers = await this.#aggregate(this.multicall3, calls, at);
    if (answers === null) {
      const half = Math.ceil(calls.length / 2);
      return [...(await this.#batch(calls.slice(0, half), at)), ...(await this.#batch(calls.slice(half), at))];
    }
    const silent = calls.filter((_, i) => isSilent(answers[i]));
    if (silent.length === 0) return answers;
    const again = (await this.#oneByOne(silent, at)).values();
    return answers.map((answer) => (isSilent(answer) ? (again.next().value ?? answer) : answer));
  }

  /** Null when the calls together are more than the node's gas. */
  async #aggregate(to: Hex, calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[] | null> {
    const args = [calls.map(({ to: target, data }) => ({ target, allowFailure: true, callData: data }))] as const;
    const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args });
    const answer = await unlessOutOfGas(this.askOne({ to, data }, at));
    if (answer === null || answer.reverted) return null;
    if (answer.data === '0x') throw new ChainAnswerError(`There is no Multicall3 at ${to}`);
    const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer.data });
    return results.map(({ success, returnData }) => ({ reverted: !success, data: returnData }));
  }

  #oneByOne(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    return mapInFlight(calls, this.limits.batchesInFlight, async (call) => {
      const answer = await unlessOutOfGas(this.askOne(call, at, this.limits.gasPerCall));
      return answer ?? { reverted: true, data: '0x' };
    });
  }
}

function isSilent(answer: CallResult | undefined): boolean {
  return answer?.reverted === true && answer.data === '0x';
}

/** Null where the node stopped the call: geth and anvil say so in words alone. */
async function unlessOutOfGas(answer: Promise<CallResult>): Promise<CallResult | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcError && OUT_OF_GAS.test(error.message)) return null;
    throw error;
  }
}

const OUT_OF_GAS = /out ?of ?gas|gas required exceeds|execution aborted|execution timeout/i;
