import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { QuoteState } from '../engine/command.js';
import { InvalidReason, isPrivate, type Hex, type SignedQuote } from '../engine/quote.js';
import { poolAbi } from './abi/pool.js';
import type { CallResult, ChainReader, ContractCall } from './chain-reader.js';
import type { UndeployedPools } from './undeployed-pools.js';

/** `isQuoteOBValid`'s error codes, in its own order. */
export const QUOTE_ERRORS = [
  'None',
  'QuoteOBExpired',
  'QuoteOBCancelled',
  'QuoteOBOverfilled',
  'OutOfBoundsPrice',
  'InvalidQuoteOBTaker',
  'InvalidQuoteOBSignature',
  'InvalidAssetUpdate',
  'InsufficientCollateralAllowance',
  'InsufficientCollateralBalance',
  'InsufficientLongBalance',
  'InsufficientShortBalance',
] as const;
export type QuoteError = Exclude<(typeof QUOTE_ERRORS)[number], 'None'>;

/** A quote with its id; the id is the contract's name for it too. */
export interface IdentifiedQuote extends SignedQuote {
  readonly quoteId: Hex;
}

/**
 * What the settlement chain says of a quote at one block. `error` is null when it can be filled now; with one of the four
 * provider's errors it may come back by itself, with any other it can't.
 */
export interface QuoteReading {
  readonly state: QuoteState;
  readonly error: QuoteError | null;
}

/** The pool's own word for "cancelled". */
const CANCELLED = 2n ** 256n - 1n;

/** `isQuoteOBValid` asks for the filler; for a public quote anyone will do. */
const ANYONE: Hex = '0x000000000000000000000000000000000000dEaD';

/** Reads filled amounts and validity in batches, at a block of the caller's choice. */
export class QuoteStates {
  constructor(
    private readonly settlement: ChainReader,
    private readonly undeployed: UndeployedPools,
  ) {}

  /** In the order of `quotes`; `blockNumber` absent: the newest block. */
  async read(quotes: readonly IdentifiedQuote[], blockNumber?: number): Promise<QuoteReading[]> {
    const calls = quotes.flatMap((quote) => [askFilled(quote), askValid(quote, quote.size)]);
    const answers = await this.settlement.multicall(calls, blockNumber);
    const readings = new Array<QuoteReading | undefined>(quotes.length);
    const again: { index: number; fillableSize: bigint }[] = [];
    const withoutPool: number[] = [];
    quotes.forEach((quote, index) => {
      const filled = answers[2 * index];
      const valid = answers[2 * index + 1];
      if (filled === undefined || valid === undefined) throw new Error('An answer is missing from a batch');
      if (hasNoCode(filled)) return void withoutPool.push(index);
      const filledSize = readFilled(filled);
      if (filledSize === null) readings[index] = refused('InvalidAssetUpdate');
      else if (filledSize === CANCELLED) readings[index] = refused('QuoteOBCancelled');
      else if (filledSize === 0n) readings[index] = toReading(quote.size, valid);
      else if (filledSize >= quote.size) readings[index] = refused('QuoteOBOverfilled');
      else again.push({ index, fillableSize: quote.size - filledSize });
    });
    await Promise.all([
      this.#readPartlyFilled(quotes, again, readings, blockNumber),
      this.#readUndeployed(quotes, withoutPool, readings, blockNumber),
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
    blockNumber: number | undefined,
  ): Promise<void> {
    if (again.length === 0) return;
    const calls = again.map(({ index, fillableSize }) => askValid(at(quotes, index), fillableSize));
    const answers = await this.settlement.multicall(calls, blockNumber);
    again.forEach(({ index, fillableSize }, i) => {
      readings[index] = toReading(fillableSize, at(answers, i));
    });
  }

  async #readUndeployed(
    quotes: readonly IdentifiedQuote[],
    withoutPool: readonly number[],
    readings: (QuoteReading | undefined)[],
    blockNumber: number | undefined,
  ): Promise<void> {
    if (withoutPool.length === 0) return;
    const errors = await this.undeployed.check(
      withoutPool.map((index) => at(quotes, index)),
      blockNumber,
    );
    withoutPool.forEach((index, i) => {
      readings[index] = withError(at(quotes, index).size, errors[i] ?? null);
    });
  }
}

function askFilled({ pool, provider, quoteId }: IdentifiedQuote): ContractCall {
  const args = [provider, quoteId] as const;
  return {
    to: pool.poolAddress,
    data: encodeFunctionData({ abi: poolAbi, functionName: 'getQuoteOBFilledAmount', args }),
  };
}

function askValid(quote: IdentifiedQuote, size: bigint): ContractCall {
  const { v, r, s } = quote.signature;
  const args = [
    isPrivate(quote) ? quote.taker : ANYONE,
    { ...quote, deadline: BigInt(quote.deadline), salt: BigInt(quote.salt) },
    size,
    { v, r, s },
  ] as const;
  return {
    to: quote.pool.poolAddress,
    data: encodeFunctionData({ abi: poolAbi, functionName: 'isQuoteOBValid', args }),
  };
}

function hasNoCode(answer: CallResult): boolean {
  return !answer.reverted && answer.data === '0x';
}

function readFilled({ reverted, data }: CallResult): bigint | null {
  return reverted ? null : decodeFunctionResult({ abi: poolAbi, functionName: 'getQuoteOBFilledAmount', data });
}

/** A revert means not fillable: an expired option, a bad signature (checked before us), or numbers that overflow. */
function toReading(fillableSize: bigint, { reverted, data }: CallResult): QuoteReading {
  if (reverted) return withError(fillableSize, 'InvalidAssetUpdate');
  const [, code] = decodeFunctionResult({ abi: poolAbi, functionName: 'isQuoteOBValid', data });
  const name = QUOTE_ERRORS[code] ?? 'InvalidAssetUpdate';
  return withError(fillableSize, name === 'None' ? null : name);
}

function withError(fillableSize: bigint, error: QuoteError | null): QuoteReading {
  return { state: { fillableSize, reason: providerReason(error) }, error };
}

function refused(error: QuoteError): QuoteReading {
  return { state: { fillableSize: 0n, reason: null }, error };
}

/** The four errors that the provider's means decide, as the engine names them; null for all others. */
export function providerReason(error: QuoteError | null): InvalidReason | null {
  return error !== null && error in InvalidReason ? InvalidReason[error as keyof typeof InvalidReason] : null;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error('An index is out of range');
  return item;
}
