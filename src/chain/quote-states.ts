import { decodeFunctionResult, getAbiItem, toFunctionSelector } from 'viem';
import type { QuoteState } from '../engine/command.js';
import type { Clock } from '../engine/ports.js';
import { type Hex, InvalidReason, isPrivate, type SignedQuote } from '../engine/quote.js';
import { mapInFlight, othersTurn } from '../system/timers.js';
import { QUOTE_ERRORS, type QuoteError } from '../wire/orderbook.js';
import { addressWord, bytes32Word, poolSignatureWords, termWords, uintWord } from './abi-words.js';
import { poolAbi } from './abi/pool.js';
import type { AtBlock, CallResult, ChainReader, ContractCall } from './chain-reader.js';
import { decoded } from './rpc-answers.js';
import type { UndeployedPools } from './undeployed-pools.js';

/** By `isQuoteOBValid`'s error code. */
export const ERROR_NAMES = ['None', ...QUOTE_ERRORS] as const;

/** A quote with its id; the id is the contract's name for it too. */
export interface IdentifiedQuote extends SignedQuote {
  readonly quoteId: Hex;
}

/**
 * What the settlement chain says of a quote at one block. `error` is null when it can be filled now; with one that is
 * an InvalidReason it may come back by itself, with any other it can't.
 */
export interface QuoteReading {
  readonly state: QuoteState;
  readonly error: QuoteError | null;
}

/** The pool's own word for "cancelled". */
const CANCELLED = 2n ** 256n - 1n;

/** `isQuoteOBValid` asks for the filler; for a public quote anyone will do. */
const ANYONE: Hex = '0x000000000000000000000000000000000000dEaD';

export interface QuoteStatesLimits {
  /** Quotes whose calls are encoded in one go: at 75 us each, 80 take 6 ms. */
  readonly statesPerSlice: number;
  readonly slicesInFlight: number;
}

/** Reads filled amounts and validity in batches, at a block of the caller's choice. */
export class QuoteStates {
  constructor(
    private readonly settlement: ChainReader,
    private readonly undeployed: UndeployedPools,
    private readonly clock: Clock,
    private readonly limits: QuoteStatesLimits,
  ) {}

  /** In the order of `quotes`; `at` absent: the newest block. Others get their turn between slices. */
  async read(quotes: readonly IdentifiedQuote[], at?: AtBlock): Promise<QuoteReading[]> {
    const { statesPerSlice, slicesInFlight } = this.limits;
    const slices: (readonly IdentifiedQuote[])[] = [];
    for (let start = 0; start < quotes.length; start += statesPerSlice) {
      slices.push(quotes.slice(start, start + statesPerSlice));
    }
    // One after the other: slices that only waited for the next turn each would all begin in that one.
    let turn: Promise<void> = Promise.resolve();
    const readings = await mapInFlight(slices, slicesInFlight, async (slice) => {
      if (slices.length > 1) await (turn = turn.then(() => othersTurn(this.clock)));
      return this.#readSlice(slice, at);
    });
    return readings.flat();
  }

  async #readSlice(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<QuoteReading[]> {
    const calls = quotes.flatMap((quote) => [askFilled(quote), askValid(quote, quote.size)]);
    const answers = await this.settlement.multicall(calls, at);
    const readings = new Array<QuoteReading | undefined>(quotes.length);
    const again: { index: number; fillableSize: bigint }[] = [];
    const withoutPool: number[] = [];
    quotes.forEach((quote, index) => {
      const filled = answers[2 * index];
      const valid = answers[2 * index + 1];
      if (filled === undefined || valid === undefined) throw new Error('An answer is missing from a batch');
      if (hasNoCode(filled)) return void withoutPool.push(index);
      const filledSize = readFilled(filled);
      if (filledSize === null) readings[index] = withError(quote.size, 'InvalidAssetUpdate');
      else if (filledSize === CANCELLED) readings[index] = refused('QuoteOBCancelled');
      else if (filledSize === 0n) readings[index] = toReading(quote.size, valid);
      else if (filledSize >= quote.size) readings[index] = refused('QuoteOBOverfilled');
      else again.push({ index, fillableSize: quote.size - filledSize });
    });
    await Promise.all([
      this.#readPartlyFilled(quotes, again, readings, at),
      this.#readUndeployed(quotes, withoutPool, readings, at),
    ]);
    return readings.map((reading) => {
      if (reading === undefined) throw new Error('A quote was left unread');
      return reading;
    });
  }

  /** A partly filled quote is valid for what is left of it; asked with its whole size it would be "overfilled". */
  async #readPartlyFilled(
    quotes: readonly IdentifiedQuote[],
    again: readonly { index: number; fillableSize: bigint }[],
    readings: (QuoteReading | undefined)[],
    at: AtBlock,
  ): Promise<void> {
    if (again.length === 0) return;
    const calls = again.map(({ index, fillableSize }) => askValid(itemAt(quotes, index), fillableSize));
    const answers = await this.settlement.multicall(calls, at);
    again.forEach(({ index, fillableSize }, i) => {
      readings[index] = toReading(fillableSize, itemAt(answers, i));
    });
  }

  async #readUndeployed(
    quotes: readonly IdentifiedQuote[],
    withoutPool: readonly number[],
    readings: (QuoteReading | undefined)[],
    at: AtBlock,
  ): Promise<void> {
    if (withoutPool.length === 0) return;
    const errors = await this.undeployed.check(
      withoutPool.map((index) => itemAt(quotes, index)),
      at,
    );
    withoutPool.forEach((index, i) => {
      readings[index] = withError(itemAt(quotes, index).size, errors[i] ?? null);
    });
  }
}

const FILLED_SELECTOR = selectorOf('getQuoteOBFilledAmount');
const VALID_SELECTOR = selectorOf('isQuoteOBValid');

function selectorOf(name: 'getQuoteOBFilledAmount' | 'isQuoteOBValid'): Hex {
  return toFunctionSelector(getAbiItem({ abi: poolAbi, name }));
}

/** How much of the quote was filled, as its pool says. */
export function askFilled({ pool, provider, quoteId }: IdentifiedQuote): ContractCall {
  return { to: pool.poolAddress, data: `${FILLED_SELECTOR}${addressWord(provider)}${bytes32Word(quoteId)}` };
}

/** Whether so much of the quote can be filled. */
export function askValid(quote: IdentifiedQuote, size: bigint): ContractCall {
  const filler = addressWord(isPrivate(quote) ? quote.taker : ANYONE);
  const words = filler + termWords(quote) + uintWord(size) + poolSignatureWords(quote.signature);
  return { to: quote.pool.poolAddress, data: `${VALID_SELECTOR}${words}`, runsForeignCode: true };
}

function hasNoCode(answer: CallResult): boolean {
  return !answer.reverted && answer.data === '0x';
}

function readFilled({ reverted, data }: CallResult): bigint | null {
  if (reverted) return null;
  return decoded(() => decodeFunctionResult({ abi: poolAbi, functionName: 'getQuoteOBFilledAmount', data }));
}

/**
 * A revert means not fillable: an expired option, a bad signature or numbers that overflow (which those who ask have
 * ruled out), or a collateral token that does not answer.
 */
function toReading(fillableSize: bigint, { reverted, data }: CallResult): QuoteReading {
  if (reverted) return withError(fillableSize, 'InvalidAssetUpdate');
  const [, code] = decoded(() => decodeFunctionResult({ abi: poolAbi, functionName: 'isQuoteOBValid', data }));
  const name = ERROR_NAMES[code] ?? 'InvalidAssetUpdate';
  return withError(fillableSize, name === 'None' ? null : name);
}

/** With nothing fillable there is nothing to come back. */
function withError(fillableSize: bigint, error: QuoteError | null): QuoteReading {
  return { state: { fillableSize, reason: fillableSize === 0n ? null : passingReason(error) }, error };
}

/** The errors that may pass, as the engine names them; null for all others. */
function passingReason(error: QuoteError | null): InvalidReason | null {
  return error !== null && error in InvalidReason ? InvalidReason[error as keyof typeof InvalidReason] : null;
}

function refused(error: QuoteError): QuoteReading {
  return { state: { fillableSize: 0n, reason: null }, error };
}

function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error('An index is out of range');
  return item;
}
