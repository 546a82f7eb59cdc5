import { encodeFunctionData } from 'viem';
import type { Hex } from '../engine/quote.js';
import { mapInFlight } from '../system/timers.js';
import type { QuoteError } from '../wire/orderbook.js';
import { erc20Abi } from './abi/erc20.js';
import type { AtBlock, CallResult, ChainReader, ContractCall } from './chain-reader.js';
import { collateralNeeded, collateralToken } from './collateral.js';
import type { DeploymentRehearsal } from './deployment-rehearsal.js';
import { encodeGetPoolAddress } from './pool-addresses.js';
import type { IdentifiedQuote } from './quote-states.js';
import { readUint } from './uint-answer.js';

const TOKENS_IN_FLIGHT = 8;

/** What one quote's provider has, each null from what is not a token. */
interface Means {
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
    private readonly rehearsal: Pick<DeploymentRehearsal, 'areDeployable'>,
  ) {}

  /** In the order of `quotes`; null: it can be filled. */
  async check(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<(QuoteError | null)[]> {
    const [notYet, unfit, means] = await Promise.all([
      this.#notYet(quotes, at),
      this.#unfit(quotes, at),
      this.#readMeans(quotes, at),
    ]);
    const errors = quotes.map((quote): QuoteError | null => {
      const needed = neededOf(quote, means.get(quote)?.decimals ?? null);
      if (needed === null || notYet.has(quote.pool.poolAddress) || unfit.has(quote)) return 'InvalidAssetUpdate';
      const { allowance, balance } = means.get(quote) ?? NO_MEANS;
      if ((allowance ?? 0n) < needed) return 'InsufficientCollateralAllowance';
      if ((balance ?? 0n) < needed) return 'InsufficientCollateralBalance';
      return null;
    });
    // Last, since a rehearsal may take far more gas than any check before it.
    const payable = quotes.filter((_, i) => errors[i] === null);
    const deployable = await this.rehearsal.areDeployable(
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
  async #readMeans(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<ReadonlyMap<IdentifiedQuote, Means>> {
    const byToken = new Map<Hex, IdentifiedQuote[]>();
    for (const quote of quotes) {
      const token = collateralToken(quote);
      const asked = byToken.get(token) ?? [];
      asked.push(quote);
      byToken.set(token, asked);
    }
    const tokens = await this.#withCode([...byToken], at);
    const read = await mapInFlight(tokens, TOKENS_IN_FLIGHT, async ([token, asked]) => {
      const answers = await this.settlement.multicall(this.#askMeans(token, asked), at);
      const decimals = readUint(answers[0]);
      return asked.map((quote, i): [IdentifiedQuote, Means] => [
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

  #askMeans(to: Hex, quotes: readonly IdentifiedQuote[]): ContractCall[] {
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

/** Where there is none, any call succeeds and returns nothing. */
function hasCode(answer: CallResult | undefined): boolean {
  return answer?.reverted !== false || answer.data !== '0x';
}

function askDecimals(to: Hex): ContractCall {
  return foreign(to, encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }));
}

function foreign(to: Hex, data: Hex): ContractCall {
  return { to, data, runsForeignCode: true };
}

const NO_MEANS: Means = { decimals: null, allowance: null, balance: null };

/** In the token's own decimals, rounded up; null when no pool could count it. */
function neededOf(quote: IdentifiedQuote, decimals: bigint | null): bigint | null {
  const needed = collateralNeeded(quote);
  if (needed === null || decimals === null || decimals > 18n) return null;
  const scale = 10n ** (18n - decimals);
  return (needed + scale - 1n) / scale;
}
