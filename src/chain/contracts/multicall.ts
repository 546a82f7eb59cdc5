import { getAbiItem, toFunctionSelector } from 'viem';
import type { Hex } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import { isExecutionError, RETURN_TOO_LONG, RpcError } from '../rpc/rpc-errors.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import { addressWord, boolWord, type CallResult, type ContractCall, uintWord } from './abi-encoding.js';
import { multicall3Abi } from './abi.js';
import type { AtBlock } from './blocks-and-logs.js';

const WORD_DIGITS = 64;
const WHOLE_BYTES = /^0x(?:[0-9a-f]{2})*$/i;

/**
 * Results of Multicall3's `aggregate3`: an array of `(bool success, bytes returnData)`, each behind an offset. Read
 * by hand, because viem reads it byte by byte: 160 answers take it 10 ms, in which nobody else has a turn. Throws
 * ChainAnswerError where it is anything else than such an array.
 */
export function decodeAggregate3(data: Hex): CallResult[] {
  if (!WHOLE_BYTES.test(data)) throw new ChainAnswerError('An answer of Multicall3 is not in hex');
  const digits = data.slice(2);
  const array = placeAt(digits, 0);
  const count = numberAt(digits, array);
  const items = array + WORD_DIGITS;
  // Each has a word of its own at least, so that no count makes us read beyond the end for long.
  if (items + count * WORD_DIGITS > digits.length) throw cut();
  return Array.from({ length: count }, (_, i) => {
    const item = items + placeAt(digits, items + i * WORD_DIGITS);
    const bytes = item + placeAt(digits, item + WORD_DIGITS);
    const start = bytes + WORD_DIGITS;
    const end = start + 2 * numberAt(digits, bytes);
    if (end > digits.length) throw cut();
    return { reverted: numberAt(digits, item) === 0, data: `0x${digits.slice(start, end)}` as const };
  });
}

/** An offset in bytes, as a count of digits. */
function placeAt(digits: string, at: number): number {
  return 2 * numberAt(digits, at);
}

/** A word that counts something within the answer, or is a flag: more than the answer's length is no such number. */
function numberAt(digits: string, at: number): number {
  if (at + WORD_DIGITS > digits.length) throw cut();
  const value = Number(`0x${digits.slice(at, at + WORD_DIGITS)}`);
  if (value > digits.length) throw cut();
  return value;
}

function cut(): ChainAnswerError {
  return new ChainAnswerError('An answer of Multicall3 ends before what it tells of');
}

/**
 * The code of `contracts/CappedMulticall.sol` as it runs, for a state override of `eth_call`. A test compares it with
 * what the source compiles to.
 */
export const CAPPED_MULTICALL_CODE: Hex = `0x${[
  '60806040526004361015610011575f80fd5b5f3560e01c6382ad56cb14610024575f80fd5b346100965760203660031901126100965760',
  '043567ffffffffffffffff811161009657366023820112156100965780600401359067ffffffffffffffff821161009657366024836005',
  '1b830101116100965761009291602461008692016102e8565b6040519182918261009a565b0390f35b5f80fd5b60208101602082528251',
  '8091526040820191602060408360051b8301019401925f915b8383106100cc57505050505090565b90919293946020806060600193603f',
  '1986820301875282808b5180511515845201516040828401528051918291826040860152018484015e5f828201840152601f01601f1916',
  '010197019594919091019201906100bd565b634e487b7160e01b5f52604160045260245ffd5b6040810190811067ffffffffffffffff82',
  '111761015457604052565b610124565b90601f8019910116810190811067ffffffffffffffff82111761015457604052565b67ffffffff',
  'ffffffff81116101545760051b60200190565b604051906101a082610138565b60606020835f81520152565b906101b68261017b565b61',
  '01c36040519182610159565b82815280926101d4601f199161017b565b01905f5b8281106101e457505050565b6020906101ef61019356',
  '5b828285010152016101d8565b634e487b7160e01b5f52603260045260245ffd5b91908110156102315760051b81013590605e19813603',
  '01821215610096570190565b6101fb565b356001600160a01b03811681036100965790565b634e487b7160e01b5f52601160045260245f',
  'fd5b90620493e0820180921161026e57565b61024a565b9190820180921161026e57565b80518210156102315760209160051b01019056',
  '5b903590601e1981360301821215610096570180359067ffffffffffffffff82116100965760200191813603831361009657565b604051',
  '906102d6602083610159565b5f8252565b9190820391821161026e57565b36601f1901359291906102fa826101ac565b935f600482901c',
  '815b85831061031257505050505050565b61032561032084888861020f565b610236565b905a6001600160a01b03838116908316148015',
  '610479575b610440576103648661035d610353888c8c61020f565b6040810190610294565b908661049c565b61036e868c610280565b52',
  '610379858b610280565b508961038f6103888783610280565b5151151590565b61043457906103ae60206103a6886103ba95610280565b',
  '5101516104fb565b610417575b5a906102db565b6103c484876102db565b1161040d5750604051631cb735cb60e01b6020820152600191',
  '906103f581602481015b03601f198101835282610159565b6020610401868c610280565b510152925b0191610303565b92600191506104',
  '06565b6020610423878d610280565b510161042d6102c7565b90526103b3565b50509260019150610406565b506040516339218aa760e2',
  '1b60208201529093600192509061046581602481016103e7565b6020610471838c610280565b510152610406565b506104956104906104',
  '8a8860051c90565b88610273565b61025e565b811061033d565b915f929183809383966104ad610193565b506040519788948537f1903d',
  '61040081116104f1575b808252805f602084013e8101603f01601f19166040819052916104e583610138565b1515825260208201529056',
  '5b505f9150816104c3565b602081519101519063ffffffff60e01b82169160048210610553575b506004149081610525575090565b6001',
  '600160e01b0319166339218aa760e21b811491508115610545575090565b631cb735cb60e01b14905090565b6001600160e01b03196004',
  '83810360031b82901b90921616925061051756',
].join('')}`;

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
export type CallOne = (
  call: ContractCall,
  at: AtBlock,
  how: { readonly gas?: number | undefined; readonly code?: Hex | undefined },
) => Promise<CallResult>;

/** The part of `ContractBreaker` that is needed here. */
export interface Breaker {
  isOpen(contract: Hex): boolean;
  trip(call: ContractCall): void;
}

export const NO_BREAKER: Breaker = { isOpen: () => false, trip: () => undefined };

/**
 * Many reads in few requests, by Multicall3 where there is one. Contracts may be hostile: one may burn all the gas that
 * it is given. So calls that run foreign code go through `CappedMulticall`, which a node runs in Multicall3's place
 * and which bounds the gas of each call. A contract that reaches the cap trips its breaker and is asked nothing until
 * that closes: its calls count as failed.
 *
 * Multicall3 itself passes on all its gas. There a contract that burns it makes the calls after it in its batch fail too,
 * without a reason, so each of these is asked again alone, with gas of its own. One contract that returns more than is
 * read of an answer is not asked again: megabytes of zeros are cheap, and everybody would wait while they are read.
 */
export class Multicall {
  /**
   * Batches whose foreign code still goes through Multicall3 itself, because a node refused a state override. Then one
   * is tried again: it may have been one node of many, or a fault that passed.
   */
  #uncappedBatches = 0;

  constructor(
    private readonly askOne: CallOne,
    /** Null: calls go out one by one. */
    private readonly multicall3: Hex | null,
    private readonly limits: MulticallLimits,
    private readonly breaker: Breaker = NO_BREAKER,
  ) {}

  /** Answers in the order of `calls`; each may revert alone. */
  async ask(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const { callsPerBatch, batchesInFlight } = this.limits;
    const batches: (readonly ContractCall[])[] = [];
    for (let start = 0; start < calls.length; start += callsPerBatch) {
      batches.push(calls.slice(start, start + callsPerBatch));
    }
    return (await mapLimit(batches, batchesInFlight, (batch) => this.#unlessOpen(batch, at))).flat();
  }

  /** Whether this call, which runs foreign code, is answered with the gas that it may have, whatever its breaker says. */
  async isAnswered(call: ContractCall): Promise<boolean> {
    if (this.multicall3 === null) return !isSilent(await this.#ask(call, undefined, { gas: this.#gasAlone(call) }));
    const [answer] = await this.#batch([call], undefined);
    return answer !== undefined && !isSilent(answer);
  }

  /** Sends no call whose circuit breaker is open. */
  async #unlessOpen(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const asked = calls.filter((call) => !this.#isOpen(call));
    if (asked.length === calls.length) return this.#batch(calls, at);
    const answers = (asked.length === 0 ? [] : await this.#batch(asked, at)).values();
    const isAsked = new Set(asked);
    return calls.map((call) => (isAsked.has(call) ? (answers.next().value ?? BROKEN) : BROKEN));
  }

  #isOpen(call: ContractCall): boolean {
    return isWatched(call) && this.breaker.isOpen(call.to);
  }

  #batch(calls: readonly ContractCall[], at: AtBlock): Promise<CallResult[]> {
    const { multicall3 } = this;
    if (multicall3 === null)
      return this.#eachAlone(calls, (call) => this.#ask(call, at, { gas: this.#gasAlone(call) }));
    if (!calls.some(({ runsForeignCode }) => runsForeignCode)) return this.#uncapped(multicall3, calls, at);
    if (this.#uncappedBatches === 0) return this.#capped(multicall3, calls, at);
    this.#uncappedBatches -= 1;
    return this.#uncapped(multicall3, calls, at);
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
      this.#uncappedBatches = UNCAPPED_BATCHES;
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
    if (call !== undefined && isWatched(call)) this.breaker.trip(call);
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
      // Inside Multicall3, so that a call that breaks is a failed result and not an error that looks like the node's.
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
    how: Parameters<CallOne>[2],
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
    return mapLimit(calls, this.limits.batchesInFlight, async (call) => {
      if (this.#isOpen(call)) return BROKEN;
      const answer = await ask(call);
      if (isWatched(call) && isSilent(answer)) this.breaker.trip(call);
      return answer;
    });
  }

  #gasAlone({ runsForeignCode }: ContractCall): number {
    const { gasPerCall, gasPerCheck } = this.limits;
    return runsForeignCode === true ? gasPerCheck + GAS_IN_BATCH : gasPerCall;
  }

  async #ask(call: ContractCall, at: AtBlock, how: Parameters<CallOne>[2]): Promise<CallResult> {
    try {
      return await this.askOne(call, at, how);
    } catch (error) {
      if (error instanceof RpcError && error.message === RETURN_TOO_LONG) return TOO_LONG;
      if (error instanceof RpcError && isExecutionError(error.message)) return BROKEN;
      throw error;
    }
  }
}

/** Until a state override that was refused is tried again: a node that never takes one costs 1% more requests. */
const UNCAPPED_BATCHES = 100;
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

/** Whether the call counts for the contract's circuit breaker. */
function isWatched({ runsForeignCode, isOfClient }: ContractCall): boolean {
  return runsForeignCode === true && isOfClient !== true;
}

function isSilent(answer: CallResult | undefined): boolean {
  return answer?.reverted === true && answer.data === '0x';
}
