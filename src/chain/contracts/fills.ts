import { encodeFunctionData } from 'viem';
import { type Hex, MAX_PRICE, type Quote } from '../../engine/quote.js';
import type { ContractCall } from './abi-encoding.js';
import { poolAbi } from './abi.js';

/** Calldata of `fillQuoteOB` for `size` (1e-18 contracts) of a quote. */
export function fillCalldata(quote: Quote, size: bigint, referrer: Hex): Hex {
  const { provider, taker, price, isBuy, signature } = quote;
  const deadline = BigInt(quote.deadline);
  const salt = BigInt(quote.salt);
  const terms = { provider, taker, price, size: quote.size, isBuy, deadline, salt };
  const { v, r, s } = signature;
  return encodeFunctionData({ abi: poolAbi, functionName: 'fillQuoteOB', args: [terms, size, { v, r, s }, referrer] });
}

/** Asks a pool, or the pools' shared diamond, for the fee of a fill: 1e-18 of the collateral token. */
export function fillFeeCall(to: Hex, { price, pool }: Quote, size: bigint, taker: Hex): ContractCall {
  const { strike, isCallPool } = pool.poolKey;
  const args = [taker, size, (price * size) / MAX_PRICE, true, true, strike, isCallPool] as const;
  return { to, data: encodeFunctionData({ abi: poolAbi, functionName: '_takerFeeLowLevel', args }) };
}

/** Amounts that a fill moves, 1e-18 of the collateral token. */
export interface FillAmounts {
  /** To the maker of an ask, to the taker of a bid. */
  readonly premium: bigint;
  /** Of the shorts that a taker who sells opens. */
  readonly collateral: bigint;
  /** Net payment of the taker's account; negative if it receives. */
  readonly pays: bigint;
}

/**
 * As `fillQuoteOB` computes a fill. A buyer pays the premium and the fee, less the collateral of the shorts that it
 * closes; a seller pays the collateral of the shorts that it opens and the fee, less the premium. `closed`: contracts of
 * the taker's position that the fill closes.
 */
export function fillAmounts(
  { price, isBuy, pool }: Pick<Quote, 'price' | 'isBuy' | 'pool'>,
  size: bigint,
  closed: bigint,
  fee: bigint,
): FillAmounts {
  const { isCallPool, strike } = pool.poolKey;
  const inCollateral = (contracts: bigint): bigint => (isCallPool ? contracts : (contracts * strike) / ONE);
  const premium = inCollateral((price * size) / MAX_PRICE);
  const collateral = isBuy ? inCollateral(size - closed) : 0n;
  const pays = isBuy ? collateral - premium + fee : premium + fee - inCollateral(closed);
  return { premium, collateral, pays };
}

const ONE = 10n ** 18n;

/** Amounts of 1e-18 in a token's own smallest units; pools round what they take up to a unit. */
export class TokenUnits {
  readonly #more: bigint;
  readonly #less: bigint;

  constructor(decimals: number) {
    this.#more = 10n ** BigInt(Math.max(decimals - 18, 0));
    this.#less = 10n ** BigInt(Math.max(18 - decimals, 0));
  }

  down(amount: bigint): bigint {
    return (amount * this.#more) / this.#less;
  }

  /** Of an amount of at least 0. */
  up(amount: bigint): bigint {
    return (amount * this.#more + this.#less - 1n) / this.#less;
  }
}
