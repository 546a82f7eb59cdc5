import { parseSignature } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Hex, PoolKey } from '../../src/engine/quote.js';
import { QUOTE_TYPES } from '../auth/quote-types.js';

export interface QuoteTerms {
  readonly taker?: string;
  readonly price?: bigint;
  readonly size?: bigint;
  readonly isBuy?: boolean;
  readonly deadline?: number;
  readonly salt?: number;
}

/** A quote as it is posted: JSON values alone. */
export interface WireQuote {
  readonly poolKey: Omit<PoolKey, 'strike'> & { readonly strike: string };
  readonly chainId: string;
  readonly provider: string;
  readonly taker: string;
  readonly price: string;
  readonly size: string;
  readonly isBuy: boolean;
  readonly deadline: number;
  readonly salt: number;
  readonly signature: { readonly r: string; readonly s: string; readonly v: number };
}

export const ZERO = '0x0000000000000000000000000000000000000000';
export const ONE = 10n ** 18n;
let lastSalt = 1_000_000;

/** Signs as a maker's own client would: with viem, not with anything of ours. */
export async function signQuote(
  privateKey: Hex,
  pool: { readonly poolAddress: Hex; readonly poolKey: PoolKey },
  terms: QuoteTerms = {},
  chainId = 421_613,
): Promise<WireQuote> {
  const account = privateKeyToAccount(privateKey);
  const words = {
    provider: account.address,
    taker: (terms.taker ?? ZERO) as Hex,
    price: terms.price ?? ONE / 20n,
    size: terms.size ?? ONE,
    isBuy: terms.isBuy ?? false,
    deadline: terms.deadline ?? Math.floor(Date.now() / 1000) + 3600,
    salt: terms.salt ?? ++lastSalt,
  };
  const signed = await account.signTypedData({
    domain: { name: 'Premia', version: '1', chainId, verifyingContract: pool.poolAddress },
    primaryType: 'FillQuoteOB',
    types: QUOTE_TYPES,
    message: { ...words, deadline: BigInt(words.deadline), salt: BigInt(words.salt) },
  });
  const { r, s, v } = parseSignature(signed);
  return {
    poolKey: { ...pool.poolKey, strike: pool.poolKey.strike.toString() },
    chainId: String(chainId),
    ...words,
    price: words.price.toString(),
    size: words.size.toString(),
    signature: { r, s, v: Number(v) },
  };
}
