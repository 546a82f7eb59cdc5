import { getAbiItem, toFunctionSelector } from 'viem';
import type { Hex } from '../engine/quote.js';
import { addressWord, boolWord, uintWord } from './abi-words.js';
import { multicall3Abi } from './abi/multicall3.js';
import { decodeAggregate3 } from './aggregate3-answer.js';
import { isBrokenCall, RETURN_TOO_LONG } from './broken-call.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { AtBlock, CallResult, ContractCall } from './chain-reader.js';
import { RpcError } from './rpc-errors.js';
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
 * Many reads in few requests, by Multicall3 where there is one. What is read may be hostile: a contract that burns all
 * the gas it is given makes the calls after it in its batch fail too. Those fail without a word, which no honest
 * contract does, so each such call is asked again by itself, with gas of its own. One contract that returns more than is
 * read of an answer is not asked again: megabytes of zeros are cheap, and everybody would wait while they are read.
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
    const { multicall3 } = this;
    if (multicall3 === null) return this.#eachAlone(calls, (call) => this.#ask(call, at, this.limits.gasPerCall));
    const answers = await this.#aggregate(multicall3, calls, at);
    if (answers === 'TOO_LONG' && calls.every(({ to }) => to === calls[0]?.to)) return calls.map(() => BROKEN);
    if (calls.length === 1 && answers !== 'TOO_LONG') return answers ?? [BROKEN];
    if (answers === null || answers === 'TOO_LONG') {
      const half = Math.ceil(calls.length / 2);
      return [...(await this.#batch(calls.slice(0, half), at)), ...(await this.#batch(calls.slice(half), at))];
    }
    const silent = calls.filter((_, i) => isSilent(answers[i]));
    if (silent.length === 0) return answers;
    const again = await this.#eachAlone(silent, async (call) => {
      // Within Multicall3 as before: what breaks there is told as an answer, and not as a fault that looks like the
      // node's.
      const alone = await this.#aggregate(multicall3, [call], at, this.limits.gasPerCall);
      return alone === 'TOO_LONG' ? BROKEN : (alone?.[0] ?? BROKEN);
    });
    const inTurn = again.values();
    return answers.map((answer) => (isSilent(answer) ? (inTurn.next().value ?? answer) : answer));
  }

  /** Null when the calls together are more than the gas, or one of them takes it all. */
  async #aggregate(
    to: Hex,
    calls: readonly ContractCall[],
    at: AtBlock,
    gas?: number,
  ): Promise<CallResult[] | 'TOO_LONG' | null> {
    const answer = await this.#ask({ to, data: encodeAggregate3(calls) }, at, gas);
    if (answer === TOO_LONG) return 'TOO_LONG';
    if (answer.reverted) return null;
    if (answer.data === '0x') throw new ChainAnswerError(`There is no Multicall3 at ${to}`);
    const answers = decodeAggregate3(answer.data);
    // One too few or too many, and those of the batches after it would be taken for other calls' answers.
    if (answers.length !== calls.length) throw new ChainAnswerError('Multicall3 answered other calls than those asked');
    return answers;
  }

  #eachAlone(calls: readonly ContractCall[], ask: (call: ContractCall) => Promise<CallResult>): Promise<CallResult[]> {
    return mapInFlight(calls, this.limits.batchesInFlight, ask);
  }

  async #ask(call: ContractCall, at: AtBlock, gas?: number): Promise<CallResult> {
    try {
      return await this.askOne(call, at, gas);
    } catch (error) {
      if (error instanceof RpcError && error.message === RETURN_TOO_LONG) return TOO_LONG;
      if (error instanceof RpcError && isBrokenCall(error.message)) return BROKEN;
      throw error;
    }
  }
}

const BROKEN: CallResult = { reverted: true, data: '0x' };
const TOO_LONG: CallResult = { ...BROKEN };

const AGGREGATE3_SELECTOR = toFunctionSelector(getAbiItem({ abi: multicall3Abi, name: 'aggregate3' }));
const WORD_BYTES = 32;

/**
 * Calldata of `aggregate3`: an array of `(address target, bool allowFailure, bytes callData)`, each behind an offset.
 */
export function encodeAggregate3(calls: readonly ContractCall[]): Hex {
  let offset = calls.length * WORD_BYTES;
  const offsets: string[] = [];
  const items: string[] = [];
  for (const { to, data } of calls) {
    const digits = data.slice(2);
    const words = Math.ceil(digits.length / (2 * WORD_BYTES));
    offsets.push(uintWord(offset));
    items.push(
      addressWord(to) + boolWord(true) + uintWord(3 * WORD_BYTES) + uintWord(digits.length / 2),
      digits.padEnd(words * 2 * WORD_BYTES, '0'),
    );
    offset += (4 + words) * WORD_BYTES;
  }
  return `${AGGREGATE3_SELECTOR}${uintWord(WORD_BYTES)}${uintWord(calls.length)}${offsets.join('')}${items.join('')}`;
}

function isSilent(answer: CallResult | undefined): boolean {
  return answer?.reverted === true && answer.data === '0x';
}
