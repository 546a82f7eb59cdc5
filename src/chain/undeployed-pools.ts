import { encodeFunctionData } from 'viem';
import type { Hex } from '../engine/quote.js';
import { erc20Abi } from './abi/erc20.js';
import type { AtBlock, CallResult, ChainReader, ContractCall } from './chain-reader.js';
import type { IdentifiedQuote, QuoteError } from './quote-states.js';

const ONE = 10n ** 18n;
/** Position deltas are int256 on chain, products uint256: amounts above these overflow there. */
const MAX_INT = 2n ** 255n - 1n;
const MAX_UINT = 2n ** 256n - 1n;

/**
 * Validity of quotes whose pool has no code yet: a fill will deploy it, so what counts is whether the provider could pay.
 * With nothing held in such a pool there is nothing to close, so only the collateral token is asked.
 */
export class UndeployedPools {
  constructor(
    private readonly settlement: ChainReader,
    private readonly router: Hex,
  ) {}

  /** In the order of `quotes`; null: the provider can pay. */
  async check(quotes: readonly IdentifiedQuote[], at: AtBlock): Promise<(QuoteError | null)[]> {
    const calls = quotes.flatMap((quote) => this.#askMeans(quote));
    const answers = await this.settlement.multicall(calls, at);
    return quotes.map((quote, i) => {
      const [decimals, allowance, balance] = answers.slice(3 * i, 3 * i + 3).map(readAmount);
      const needed = neededOf(quote, decimals ?? null);
      if (needed === null) return 'InvalidAssetUpdate';
      if ((allowance ?? 0n) < needed) return 'InsufficientCollateralAllowance';
      if ((balance ?? 0n) < needed) return 'InsufficientCollateralBalance';
      return null;
    });
  }

  #askMeans(quote: IdentifiedQuote): ContractCall[] {
    const to = collateralToken(quote);
    const allowance = [quote.provider, this.router] as const;
    return [
      { to, data: encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }) },
      { to, data: encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: allowance }) },
      { to, data: encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [quote.provider] }) },
    ];
  }
}

/** In the token's own decimals, rounded up; null when the quote asks for nothing, or for more than the pool can count. */
function neededOf(quote: IdentifiedQuote, decimals: bigint | null): bigint | null {
  const { price, size, isBuy, pool } = quote;
  if (decimals === null || decimals > 18n || size === 0n || size > MAX_INT || price > ONE) return null;
  const { isCallPool, strike } = pool.poolKey;
  const inCollateral = (contracts: bigint | null): bigint | null =>
    isCallPool ? contracts : product(contracts, strike);
  const premium = inCollateral(product(price, size));
  const collateral = inCollateral(size);
  if (premium === null || collateral === null || collateral > MAX_INT) return null;
  const scale = 10n ** (18n - decimals);
  return ((isBuy ? premium : collateral - premium) + scale - 1n) / scale;
}

/** With 18 decimals, as the pools multiply; null where they overflow. */
function product(a: bigint | null, b: bigint): bigint | null {
  return a === null || a * b > MAX_UINT ? null : (a * b) / ONE;
}

/** A call is backed by the base token, a put by the quote token. */
export function collateralToken({ pool: { poolKey } }: Pick<IdentifiedQuote, 'pool'>): Hex {
  return (poolKey.isCallPool ? poolKey.base : poolKey.quote).toLowerCase() as Hex;
}

/** One word; null from what is not a token. */
function readAmount({ reverted, data }: CallResult): bigint | null {
  return reverted || data.length !== 66 ? null : BigInt(data);
}
