import type { DeployedPool } from '../../engine/pool-registry.js';
import type { Hex, Pool, PoolKey } from '../../engine/quote.js';
import { formatExpiration } from '../../wire/expiration.js';
import type { OptionTerms } from '../../wire/options.js';
import { formatDecimal } from '../../wire/primitives.js';
import type { Profile, TokenProfile } from '../contracts/deployments.js';

/** An option with the pool that it is traded in. */
interface SeriesPool extends OptionTerms {
  readonly poolAddress: Hex;
}

/** Between options as people name them, by symbols, and pool keys as the contracts do, by addresses. */
export class OptionSeries {
  readonly #bySymbol: ReadonlyMap<string, TokenProfile>;
  readonly #byAddress: ReadonlyMap<string, TokenProfile>;
  readonly #oracleAdapter: Hex;

  constructor({ tokens, contracts }: Pick<Profile, 'tokens' | 'contracts'>) {
    this.#bySymbol = new Map(tokens.map((token) => [token.symbol, token]));
    this.#byAddress = new Map(tokens.map((token) => [token.address.toLowerCase(), token]));
    this.#oracleAdapter = contracts.oracleAdapter.address;
  }

  /** Symbols that have a token on this chain. */
  get symbols(): readonly string[] {
    return [...this.#bySymbol.keys()];
  }

  /** Undefined where the chain has no token of that symbol. */
  token(symbol: string): TokenProfile | undefined {
    return this.#bySymbol.get(symbol);
  }

  /** Undefined where the token of that address has no symbol here. */
  tokenAt(address: Hex): TokenProfile | undefined {
    return this.#byAddress.get(address.toLowerCase());
  }

  /** `maturity`: Unix seconds of the option's expiration. Throws on a symbol without a token. */
  poolKey({ base, quote, strike, type }: Omit<OptionTerms, 'expiration'>, maturity: number): PoolKey {
    return {
      base: this.#address(base),
      quote: this.#address(quote),
      oracleAdapter: this.#oracleAdapter,
      strike,
      maturity,
      isCallPool: type === 'C',
    };
  }

  /**
   * Null when no option has this pool: a token of it has no symbol here, or it prices with another oracle. Anyone may
   * deploy a pool with an oracle of their own, and under the same symbols it would pass for the real one.
   */
  describe({ poolAddress, poolKey }: Pool): SeriesPool | null {
    const { strike, maturity, isCallPool } = poolKey;
    const base = this.#byAddress.get(poolKey.base.toLowerCase());
    const quote = this.#byAddress.get(poolKey.quote.toLowerCase());
    const hasOurOracle = poolKey.oracleAdapter.toLowerCase() === this.#oracleAdapter.toLowerCase();
    if (base === undefined || quote === undefined || !hasOurOracle) return null;
    const expiration = formatExpiration(maturity);
    const type = isCallPool ? 'C' : 'P';
    return { base: base.symbol, quote: quote.symbol, expiration, strike, type, poolAddress };
  }

  /**
   * The option of any pool key, for people to read. A token without a symbol here goes by its address, and so do both tokens
   * of a pool that prices with another oracle: under their symbols it would pass for the real one.
   */
  optionOf({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): OptionTerms {
    const isOurs = oracleAdapter.toLowerCase() === this.#oracleAdapter.toLowerCase();
    const nameOf = (address: Hex): string =>
      (isOurs ? this.#byAddress.get(address.toLowerCase())?.symbol : undefined) ?? address;
    const expiration = formatExpiration(maturity);
    return { base: nameOf(base), quote: nameOf(quote), expiration, strike, type: isCallPool ? 'C' : 'P' };
  }

  /**
   * The option's name, such as `WETH-USDC-29JAN27-2000-C`; a token without a symbol here is named by its address. Null
   * for a pool that prices with another oracle: it goes by its address alone.
   */
  instrument({ poolKey }: Pool): string | null {
    if (poolKey.oracleAdapter.toLowerCase() !== this.#oracleAdapter.toLowerCase()) return null;
    const { base, quote, expiration, strike, type } = this.optionOf(poolKey);
    return `${base}-${quote}-${expiration}-${formatDecimal(strike, 18)}-${type}`;
  }

  #address(symbol: string): Hex {
    const token = this.#bySymbol.get(symbol);
    if (token === undefined) throw new Error(`There is no token ${symbol} on this chain`);
    return token.address;
  }
}

/** Finds deployed pools by address, or by the name of their option. */
export class PoolNames {
  readonly #names = new WeakMap<Pool, { readonly name: string | null }>();

  constructor(
    private readonly pools: () => Iterable<DeployedPool>,
    private readonly series: Pick<OptionSeries, 'instrument'>,
  ) {}

  /** In lower case. An address is taken as it is; null: no deployed pool has the name. */
  addressOf(addressOrName: string): Hex | null {
    if (/^0x[0-9a-fA-F]{40}$/.test(addressOrName)) return addressOrName.toLowerCase() as Hex;
    for (const { pool } of this.pools()) if (this.nameOf(pool) === addressOrName) return pool.poolAddress;
    return null;
  }

  nameOf(pool: Pool): string | null {
    const known = this.#names.get(pool) ?? { name: this.series.instrument(pool) };
    this.#names.set(pool, known);
    return known.name;
  }
}

/** Every filter that is given must hold. */
export interface PoolFilter {
  readonly base?: string;
  readonly quote?: string;
  /** Unix seconds. */
  readonly maturity?: number;
}

/** The pools that are listed: deployed not too long ago, and not expired. */
export class PoolListing {
  constructor(
    /** Deployed pools, the first deployed first. */
    private readonly pools: () => Iterable<DeployedPool>,
    private readonly series: OptionSeries,
    /** Engine time, Unix seconds. */
    private readonly nowSeconds: () => number,
    /** Age in seconds above which a pool is no longer listed. */
    private readonly maxAgeSeconds: number,
  ) {}

  /** Every pool with a name that has not expired, however long ago it was deployed. In the order of their deployment. */
  instruments(): { readonly instrument: string; readonly pool: Pool }[] {
    const now = this.nowSeconds();
    const named: { readonly instrument: string; readonly pool: Pool }[] = [];
    for (const { pool } of this.pools()) {
      const instrument = pool.poolKey.maturity > now ? this.series.instrument(pool) : null;
      if (instrument !== null) named.push({ instrument, pool });
    }
    return named;
  }

  /** In the order of their deployment. */
  list({ base, quote, maturity }: PoolFilter): SeriesPool[] {
    const now = this.nowSeconds();
    const listed: SeriesPool[] = [];
    for (const { pool, deployedAt } of this.pools()) {
      const expiresAt = pool.poolKey.maturity;
      if (expiresAt <= now || deployedAt < now - this.maxAgeSeconds) continue;
      if (maturity !== undefined && expiresAt !== maturity) continue;
      const option = this.series.describe(pool);
      if (option === null) continue;
      if ((base ?? option.base) === option.base && (quote ?? option.quote) === option.quote) listed.push(option);
    }
    return listed;
  }
}

/**
 * Engine time in Unix seconds, which follows the settlement chain; null while the chain has not been read since the
 * start, when nobody can say which dates have passed.
 */
export type ChainSeconds = () => number | null;
