import { getAbiItem, toFunctionSelector } from 'viem';
import type { Hex } from '../engine/quote.js';
import { mapInFlight } from '../system/timers.js';
import { addressWord, boolWord, uintWord } from './abi-words.js';
import { CAPPED_MULTICALL_CODE } from './abi/capped-multicall.js';
import { multicall3Abi } from './abi/multicall3.js';
import { decodeAggregate3 } from './aggregate3-answer.js';
import { isBrokenCall, RETURN_TOO_LONG } from './broken-call.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { AtBlock, CallResult, ContractCall } from './chain-reader.js';
import { RpcError } from './rpc-errors.js';

export interface MulticallLimits {
  /** Calls in one `aggregate3`: bounded so that a node's gas limit for `eth_call` holds them. */
  readonly callsPerBatch: number;
  readonly batchesInFlight: number;
  /** Gas of a call of the protocol's own code that is asked alone. */
  readonly gasPerCall: number;
  /** Gas of a call that runs foreign code, in a batch or alone. */
  readonly gasPerCheck: number;
}

/** `gas`: at most so much. `code`: the node runs this in place of the code that `call.to` has. */
export type AskOne = (
  call: ContractCall,
  at: AtBlock,
  how: { readonly gas?: number | undefined; readonly code?: Hex | undefined },
) => Promise<CallResult>;

/** What of `ContractBreaker` is needed here. */
export interface Breaker {
  isOpen(contract: Hex): boolean;
  trip(call: ContractCall): void;
}

export const NO_BREAKER: Breaker = { isOpen: () => false, trip: () => undefined };

/**
 * Many reads in few requests, by Multicall3 where there is one. What is read may be hostile: a contract may burn all the
 * gas it is given. So calls that run foreign code go through `CappedMulticall`, which a node runs in Multicall3's place
 * and which bounds the gas of each call. A contract that reaches the cap trips its breaker and is asked nothing until
 * that closes: its calls count as failed.
 *
 * Multicall3 itself passes on all its gas. There a contract that burns it makes the calls after it in its batch fail too,
 * without a reason, so each of these is asked again alone, with gas of its own. One contract that returns more than is
 * read of an answer is not asked again: megabytes of zeros are cheap, and everybody would wait while they are read.
 */
export class Multicall {
  /** The node refused a state override: foreign code goes through Multicall3 itself. */
  #isUncapped = false;

  constructor(
    private readonly askOne: AskOne,
    /** Null: calls go out one by one. */
    private readonly multicall3: Hex | null,
    private readonly limits: MulticallLimits,
    private readonly breaker: Breaker = NO_BREAKER,
  ) {}

  /** Answers in the order of `calls`; each may revert by itself. */
  async ask(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const { callsPerBatch, batchesInFlight } = this.limits;
    const batches: (readonly ContractCall[])[] = [];
    for (let start = 0; start < calls.length; start += callsPerBatch) {
      batches.push(calls.slice(start, start + callsPerBatch));
    }
    return (await mapInFlight(batches, batchesInFlight, (batch) => this.#unlessOpen(batch, at))).flat();
  }

  /** Whether this call, which runs foreign code, is answered with the gas that it may have, whatever its breaker says. */
  async isAnswered(call: ContractCall): Promise<boolean> {
    if (this.multicall3 === null) return !isSilent(await this.#ask(call, undefined, { gas: this.#gasAlone(call) }));
    const [answer] = await this.#batch([call], undefined);
    return answer !== undefined && !isSilent(answer);
  }

  /** What tripped its breaker is asked nothing. */
  async #unlessOpen(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const asked = calls.filter((call) => !this.#isOpen(call));
    if (asked.length === calls.length) return this.#batch(calls, at);
    const answers = (asked.length === 0 ? [] : await this.#batch(asked, at)).values();
    const isAsked = new Set(asked);
    return calls.map((call) => (isAsked.has(call) ? (answers.next().value ?? BROKEN) : BROKEN));
  }

  #isOpen({ to, runsForeignCode }: ContractCall): boolean {
    return runsForeignCode === true && this.breaker.isOpen(to);
  }

  #batch(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const { multicall3 } = this;
    if (multicall3 === null)
      return this.#eachAlone(calls, (call) => this.#ask(call, at, { gas: this.#gasAlone(call) }));
    if (this.#isUncapped || !calls.some(({ runsForeignCode }) => runsForeignCode)) {
      return this.#uncapped(multicall3, calls, at);
    }
    return this.#capped(multicall3, calls, at);
  }

  async #capped(multicall3: Hex, calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const { gasPerCheck } = this.limits;
    const gas = GAS_OF_BATCH + gasPerCheck + calls.length * GAS_IN_BATCH;
    const ending = uintWord(gasPerCheck);
    let answers: CallResult[] | 'TOO_LONG' | null;
    try {
      answers = await this.#aggregate(multicall3, calls, at, { gas, code: CAPPED_MULTICALL_CODE }, ending);
    } catch (error) {
      if (!isWithoutOverrides(error)) throw error;
      this.#isUncapped = true;
      return this.#uncapped(multicall3, calls, at);
    }
    // By bounded calls and answers it cannot fail: the node has another bound of its own.
    if (answers === null || answers === 'TOO_LONG') return this.#halved(calls, at);
    const results = answers.map((answer, i) => this.#tripping(calls[i], answer));
    const unasked = [...results.keys()].filter((i) => results[i]?.data === NOT_ASKED);
    if (unasked.length === 0) return results;
    // Not even one: the node gives less gas than a call may use.
    if (unasked.length === calls.length) return calls.length === 1 ? [BROKEN] : this.#halved(calls, at);
    const rest = await this.#unlessOpen(
      unasked.flatMap((i) => calls[i] ?? []),
      at,
    );
    unasked.forEach((i, nth) => (results[i] = rest[nth] ?? BROKEN));
    return results;
  }

  async #halved(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    if (calls.length === 1) return [BROKEN];
    const half = Math.ceil(calls.length / 2);
    return [...(await this.#unlessOpen(calls.slice(0, half), at)), ...(await this.#unlessOpen(calls.slice(half), at))];
  }

  /** The answer; one that reached the cap counts as a failure, and trips the breaker. */
  #tripping(call: ContractCall | undefined, answer: CallResult): CallResult {
    if (!answer.reverted || answer.data !== GAS_CAP_REACHED) return answer;
    if (call?.runsForeignCode === true) this.breaker.trip(call);
    return BROKEN;
  }

  async #uncapped(multicall3: Hex, calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const answers = await this.#aggregate(multicall3, calls, at, {});
    if (answers === 'TOO_LONG' && calls.every(({ to }) => to === calls[0]?.to)) return calls.map(() => BROKEN);
    if (calls.length === 1 && answers !== 'TOO_LONG') return answers ?? [BROKEN];
    if (answers === null || answers === 'TOO_LONG') return this.#halved(calls, at);
    const silent = calls.filter((_, i) => isSilent(answers[i]));
    if (silent.length === 0) return answers;
    const again = await this.#eachAlone(silent, async (call) => {
      // Within Multicall3 as before: what breaks there is told as an answer, and not as a fault that looks like the
      // node's.
      const alone = await this.#aggregate(multicall3, [call], at, { gas: this.#gasAlone(call) });
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
    how: Parameters<AskOne>[2],
    /** Behind the arguments: Multicall3 does not read it. */
    ending = '',
  ): Promise<CallResult[] | 'TOO_LONG' | null> {
    const answer = await this.#ask({ to, data: `${encodeAggregate3(calls)}${ending}` }, at, how);
    if (answer === TOO_LONG) return 'TOO_LONG';
    if (answer.reverted) return null;
    if (answer.data === '0x') throw new ChainAnswerError(`There is no Multicall3 at ${to}`);
    const answers = decodeAggregate3(answer.data);
    // One too few or too many, and those of the batches after it would be taken for other calls' answers.
    if (answers.length !== calls.length) throw new ChainAnswerError('Multicall3 answered other calls than those asked');
    return answers;
  }

  /** Without a cap in the batch, failing without a reason is all that shows of a contract that burns its gas. */
  #eachAlone(calls: readonly ContractCall[], ask: (call: ContractCall) => Promise<CallResult>): Promise<CallResult[]> {
    return mapInFlight(calls, this.limits.batchesInFlight, async (call) => {
      if (this.#isOpen(call)) return BROKEN;
      const answer = await ask(call);
      if (call.runsForeignCode === true && isSilent(answer)) this.breaker.trip(call);
      return answer;
    });
  }

  #gasAlone({ runsForeignCode }: ContractCall): number {
    const { gasPerCall, gasPerCheck } = this.limits;
    return runsForeignCode === true ? gasPerCheck + GAS_IN_BATCH : gasPerCall;
  }

  async #ask(call: ContractCall, at: AtBlock, how: Parameters<AskOne>[2]): Promise<CallResult> {
    try {
      return await this.askOne(call, at, how);
    } catch (error) {
      if (error instanceof RpcError && error.message === RETURN_TOO_LONG) return TOO_LONG;
      if (error instanceof RpcError && isBrokenCall(error.message)) return BROKEN;
      throw error;
    }
  }
}

/** Of a batch beside its calls: what `CappedMulticall` keeps for itself, and the transaction's own. */
const GAS_OF_BATCH = 500_000;
/** Of each call in it, with its share of the calldata: an honest check takes 60,000. */
const GAS_IN_BATCH = 100_000;

const [GAS_CAP_REACHED, NOT_ASKED] = (['GasCapReached', 'NotAsked'] as const).map((name) =>
  toFunctionSelector(`${name}()`),
);

/** Nodes that do not know the third parameter of `eth_call` say so by the code or in words. */
function isWithoutOverrides(error: unknown): boolean {
  return error instanceof RpcError && (error.code === -32602 || /override|too many arguments/i.test(error.message));
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
