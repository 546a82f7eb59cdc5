import { decodeFunctionResult, encodeFunctionData, getAbiItem, toFunctionSelector } from 'viem';
import type { QuoteState } from '../../engine/command.js';
import type { Clock } from '../../engine/ports.js';
import { type Hex, InvalidReason, isPrivate } from '../../engine/quote.js';
import { mapLimit, yieldToEventLoop } from '../../system/timers.js';
import { QUOTE_ERRORS, type QuoteError } from '../../wire/orderbook.js';
import {
  addressWord,
  bytes32Word,
  type CallResult,
  type ContractCall,
  poolSignatureWords,
  readUint,
  termWords,
  uintWord,
} from '../contracts/abi-encoding.js';
import { erc20Abi, poolAbi } from '../contracts/abi.js';
import type { AtBlock } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { collateralNeeded, collateralToken, type IdentifiedQuote } from '../contracts/quote-types.js';
import { decodeOrThrow } from '../rpc/rpc-response.js';
import type { DeploymentDryRun } from './deployment-dry-run.js';
import { encodeGetPoolAddress } from './pool-addresses.js';

/** By `isQuoteOBValid`'s error code. */
export const ERROR_NAMES = ['None', ...QUOTE_ERRORS] as const;

/**
 * State of a quote on the settlement chain at one block. `error` is null when it can be filled now; with one that is
 * an InvalidReason it may become fillable again, with any other it can't.
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
    const readings = await mapLimit(slices, slicesInFlight, async (slice) => {
      if (slices.length > 1) await (turn = turn.then(() => yieldToEventLoop(this.clock)));
      return this.#readSlice(slice, at);
    });
    return readings.flat();
  }

  async #readSlice(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<QuoteReading[]> {
    const calls = quotes.flatMap((quote) => [filledAmountCall(quote), validityCall(quote, quote.size)]);
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
    const calls = again.map(({ index, fillableSize }) => validityCall(itemAt(quotes, index), fillableSize));
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
export function filledAmountCall({ pool, provider, quoteId }: IdentifiedQuote): ContractCall {
  return { to: pool.poolAddress, data: `${FILLED_SELECTOR}${addressWord(provider)}${bytes32Word(quoteId)}` };
}

/** Whether so much of the quote can be filled. */
export function validityCall(quote: IdentifiedQuote, size: bigint): ContractCall {
  const filler = addressWord(isPrivate(quote) ? quote.taker : ANYONE);
  const words = filler + termWords(quote) + uintWord(size) + poolSignatureWords(quote.signature);
  return { to: quote.pool.poolAddress, data: `${VALID_SELECTOR}${words}`, runsForeignCode: true };
}

function hasNoCode(answer: CallResult): boolean {
  return !answer.reverted && answer.data === '0x';
}

function readFilled({ reverted, data }: CallResult): bigint | null {
  if (reverted) return null;
  return decodeOrThrow(() => decodeFunctionResult({ abi: poolAbi, functionName: 'getQuoteOBFilledAmount', data }));
}

/**
 * A revert means not fillable: an expired option, a bad signature or numbers that overflow (which those who ask have
 * ruled out), or a collateral token that does not answer.
 */
function toReading(fillableSize: bigint, { reverted, data }: CallResult): QuoteReading {
  if (reverted) return withError(fillableSize, 'InvalidAssetUpdate');
  const [, code] = decodeOrThrow(() => decodeFunctionResult({ abi: poolAbi, functionName: 'isQuoteOBValid', data }));
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

const TOKENS_IN_FLIGHT = 8;

/** Balances of one quote's provider; a field is null if the address is no token. */
interface Funds {
  readonly decimals: bigint | null;
  readonly allowance: bigint | null;
  readonly balance: bigint | null;
}

/**
 * Validity of quotes whose pool has no code yet: a fill will deploy it, so what counts is whether the factory can and
 * whether the provider could pay. With nothing held in such a pool there is nothing to close, so only the collateral
 * token is asked what the provider has.
 */
export class UndeployedPools {
  constructor(
    private readonly settlement: ChainReader,
    private readonly poolFactory: Hex,
    private readonly router: Hex,
    private readonly dryRun: Pick<DeploymentDryRun, 'areDeployable'>,
  ) {}

  /** In the order of `quotes`; null: it can be filled. */
  async check(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<(QuoteError | null)[]> {
    const [notYet, unfit, funds] = await Promise.all([
      this.#notYet(quotes, at),
      this.#unfit(quotes, at),
      this.#readFunds(quotes, at),
    ]);
    const errors = quotes.map((quote): QuoteError | null => {
      const needed = neededOf(quote, funds.get(quote)?.decimals ?? null);
      if (needed === null || notYet.has(quote.pool.poolAddress) || unfit.has(quote)) return 'InvalidAssetUpdate';
      const { allowance, balance } = funds.get(quote) ?? NO_FUNDS;
      if ((allowance ?? 0n) < needed) return 'InsufficientCollateralAllowance';
      if ((balance ?? 0n) < needed) return 'InsufficientCollateralBalance';
      return null;
    });
    // Last, since a dry run may take far more gas than any check before it.
    const payable = quotes.filter((_, i) => errors[i] === null);
    const deployable = await this.dryRun.areDeployable(
      payable.map(({ pool }) => pool.poolKey),
      at,
    );
    const refused = new Set(payable.filter((_, i) => deployable[i] === false));
    return errors.map((error, i) => (quotes[i] && refused.has(quotes[i]) ? 'InvalidAssetUpdate' : error));
  }

  /** The pools whose date the factory does not allow yet. */
  async #notYet(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<ReadonlySet<Hex>> {
    const pools = [...new Map(quotes.map(({ pool }) => [pool.poolAddress, pool])).values()];
    const calls = pools.map(({ poolKey }) => ({ to: this.poolFactory, data: encodeGetPoolAddress(poolKey) }));
    const answers = await this.settlement.multicall(calls, at);
    return new Set(pools.flatMap(({ poolAddress }, i) => (answers[i]?.reverted === true ? [poolAddress] : [])));
  }

  /**
   * The quotes of whose pool a token does not say its decimals, or the oracle has no code: the factory gives such a pool
   * an address, and its deployment reverts. Together, for the reason that `#withCode` gives.
   */
  async #unfit(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<ReadonlySet<IdentifiedQuote>> {
    const addresses = [...new Set(quotes.flatMap(partsOf))];
    const answers = await this.settlement.multicall(addresses.map(askDecimals), at);
    const answerOf = new Map(addresses.map((address, i) => [address, answers[i]]));
    // By its part in each pool: another quote may name this one's oracle as a token.
    const isFit = ({ pool: { poolKey } }: IdentifiedQuote): boolean =>
      isDecimals(answerOf.get(poolKey.base)) &&
      isDecimals(answerOf.get(poolKey.quote)) &&
      hasCode(answerOf.get(poolKey.oracleAdapter));
    return new Set(quotes.filter((quote) => !isFit(quote)));
  }

  /**
   * Each token in requests of its own. Anyone may name any contract as a token, and what is batched runs in one
   * simulated transaction: a hostile one asked first could move the balances that an honest one is asked for next.
   */
  async #readFunds(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<ReadonlyMap<IdentifiedQuote, Funds>> {
    const byToken = new Map<Hex, IdentifiedQuote[]>();
    for (const quote of quotes) {
      const token = collateralToken(quote);
      const asked = byToken.get(token) ?? [];
      asked.push(quote);
      byToken.set(token, asked);
    }
    const tokens = await this.#withCode([...byToken], at);
    const read = await mapLimit(tokens, TOKENS_IN_FLIGHT, async ([token, asked]) => {
      const answers = await this.settlement.multicall(this.#askFunds(token, asked), at);
      const decimals = readUint(answers[0]);
      return asked.map((quote, i): [IdentifiedQuote, Funds] => [
        quote,
        { decimals, allowance: readUint(answers[1 + 2 * i]), balance: readUint(answers[2 + 2 * i]) },
      ]);
    });
    return new Map(read.flat());
  }

  /**
   * Anyone may name another address in each of a thousand quotes: those where nothing is are found by few requests. A
   * hostile one in the same batch can take nobody's code away.
   */
  async #withCode<T>(tokens: readonly (readonly [Hex, T])[], at: AtBlock): Promise<readonly (readonly [Hex, T])[]> {
    if (tokens.length <= TOKENS_IN_FLIGHT) return tokens;
    const answers = await this.settlement.multicall(
      tokens.map(([token]) => askDecimals(token)),
      at,
    );
    return tokens.filter((_, i) => hasCode(answers[i]));
  }

  #askFunds(to: Hex, quotes: readonly IdentifiedQuote[]): ContractCall[] {
    const ofQuotes = quotes.flatMap(({ provider }) => {
      const allowance = [provider, this.router] as const;
      return [
        foreign(to, encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: allowance })),
        foreign(to, encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [provider] })),
      ];
    });
    return [askDecimals(to), ...ofQuotes];
  }
}

/** Both tokens say their decimals to a new pool, and its oracle takes the pair up. */
function partsOf({ pool: { poolKey } }: IdentifiedQuote): Hex[] {
  return [poolKey.base, poolKey.quote, poolKey.oracleAdapter];
}

/** `uint8`, as a pool reads it: it reverts on a larger number. */
function isDecimals(answer: CallResult | undefined): boolean {
  const decimals = readUint(answer);
  return decimals !== null && decimals < 256n;
}

/** A call to an address without code succeeds and returns nothing. */
function hasCode(answer: CallResult | undefined): boolean {
  return answer?.reverted !== false || answer.data !== '0x';
}

function askDecimals(to: Hex): ContractCall {
  return foreign(to, encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }));
}

function foreign(to: Hex, data: Hex): ContractCall {
  return { to, data, runsForeignCode: true };
}

const NO_FUNDS: Funds = { decimals: null, allowance: null, balance: null };

/** In the token's own decimals, rounded up; null when no pool could count it. */
function neededOf(quote: IdentifiedQuote, decimals: bigint | null): bigint | null {
  const needed = collateralNeeded(quote);
  if (needed === null || decimals === null || decimals > 18n) return null;
  const scale = 10n ** (18n - decimals);
  return (needed + scale - 1n) / scale;
}
