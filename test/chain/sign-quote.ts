import { hashTypedData, parseSignature } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { DevAccount } from '../../src/chain/dev/dev-client.js';
import { type Hex, type Pool, type SignedQuote, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { QUOTE_TYPES } from '../auth/quote-types.js';

/** A maker's terms; the rest has defaults. */
export interface Offer {
  readonly pool: Pool;
  /** 1e-18. */
  readonly price: bigint;
  /** 1e-18 contracts. */
  readonly size: bigint;
  readonly isBuy: boolean;
  /** Unix seconds. */
  readonly deadline: number;
  readonly taker?: Hex;
  readonly salt?: number;
}

export interface SignedOffer extends SignedQuote {
  readonly quoteId: Hex;
}

let salts = 1_700_000_000;

/** Signs as a wallet does (EIP-712 by viem), so that what is tested is not its own witness. */
export async function signOffer(maker: DevAccount, chainId: number, offer: Offer): Promise<SignedOffer> {
  const account = privateKeyToAccount(maker.privateKey);
  const quote = {
    pool: offer.pool,
    provider: maker.address.toLowerCase() as Hex,
    taker: (offer.taker ?? ZERO_ADDRESS).toLowerCase() as Hex,
    price: offer.price,
    size: offer.size,
    isBuy: offer.isBuy,
    deadline: offer.deadline,
    salt: offer.salt ?? salts++,
  };
  const typedData = {
    domain: { name: 'Premia', version: '1', chainId, verifyingContract: offer.pool.poolAddress },
    types: QUOTE_TYPES,
    primaryType: 'FillQuoteOB',
    message: { ...quote, deadline: BigInt(quote.deadline), salt: BigInt(quote.salt) },
  } as const;
  const { r, s, yParity } = parseSignature(await account.signTypedData(typedData));
  return { ...quote, signature: { r, s, v: 27 + yParity }, quoteId: hashTypedData(typedData) };
}
