import { encodeFunctionData } from 'viem';
import type { Hex } from '../engine/quote.js';
import { erc20Abi } from './abi/erc20.js';
import type { CallResult, ChainReader, ContractCall } from './chain-reader.js';
import type { IdentifiedQuote, QuoteError } from './quote-states.js';

const ONE = 10n ** 18n;
/** Position deltas are int256 on chain: amounts above this overflow there. */
const MAX_AMOUNT = 2n ** 255n - 1n;

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
  async check(quotes: readonly IdentifiedQuote[], blockNumber?: number): Promise<(QuoteError | null)[]> {
    const calls = quotes.flatMap((quote) => this.#askMeans(quote));
    const answers = await this.settlement.multicall(calls, blockNumber);
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

/** In the token's own decimals, rounded up; null when the quote asks for nothing, or for more than can exist. */
function neededOf(quote: IdentifiedQuote, decimals: bigint | null): bigint | null {
  const { price, size, isBuy, pool } = quote;
  if (decimals === null || decimals > 18n || size === 0n || price > ONE) return null;
  const { isCallPool, strike } = pool.poolKey;
  const inCollateral = (contracts: bigint): bigint => (isCallPool ? contracts : (contracts * strike) / ONE);
  const premium = inCollateral((price * size) / ONE);
  const collateral = inCollateral(size);
  if (collateral > MAX_AMOUNT) return null;
  const scale = 10n ** (18n - decimals);
  return ((isBuy ? premium : collateral - premium) + scale - 1n) / scale;
}

/** A call is backed by the base token, a put by the quote token. */
export function collateralToken({ pool: { poolKey } }: Pick<IdentifiedQuote, 'pool'>): Hex {
  return (poolKey.isCallPool ? poolKey.base : poolKey.quote).toLowerCase() as Hex;
}

/** One word; null from what is not a token. */
function readAmount({ reverted, data }: CallResult): bigint | null {
  return reverted || data.length !== 66 ? null : BigInt(data);
}
