import { hashTypedData, type Hex, type TypedDataDefinition, zeroAddress } from 'viem';
import type { PoolKeyJson, PostedQuoteJson } from '../wire/orderbook.js';
import type { SideText } from '../wire/primitives.js';

/** A signer of quotes, for example a local account of viem. */
export interface QuoteSigner {
  readonly address: Hex;
  signTypedData(definition: TypedDataDefinition<typeof QUOTE_TYPES, 'FillQuoteOB'>): Promise<Hex>;
}

export interface QuotedPool {
  readonly poolAddress: Hex;
  /** `strike` in 1e-18, as on the wire. */
  readonly poolKey: PoolKeyJson;
}

export interface QuoteTerms {
  /** The book's side: `bid` to buy options, `ask` to sell them. */
  readonly side: SideText;
  /** 1e-18: base tokens per contract of a call, quote tokens per contract and unit of strike of a put; at most 1e18. */
  readonly price: bigint;
  /** 1e-18 contracts. */
  readonly size: bigint;
  /** Unix seconds. */
  readonly deadline: number;
  /** Tells quotes of the same terms apart; at most 2^53 - 1. */
  readonly salt: number;
  /** The only taker that may fill the quote; default: anyone. */
  readonly taker?: Hex;
}

export interface SignedOffer {
  /** The signed EIP-712 digest, which is the quote's id. */
  readonly quoteId: Hex;
  /** The quote as POST /quotes takes it. */
  readonly posted: PostedQuoteJson;
}

/** EIP-712 type that a pool's contract checks. */
export const QUOTE_TYPES = {
  FillQuoteOB: [
    { name: 'provider', type: 'address' },
    { name: 'taker', type: 'address' },
    { name: 'price', type: 'uint256' },
    { name: 'size', type: 'uint256' },
    { name: 'isBuy', type: 'bool' },
    { name: 'deadline', type: 'uint256' },
    { name: 'salt', type: 'uint256' },
  ],
} as const;

/** Signs a quote as the pool's contract will check it. `chainId`: the settlement chain's. */
export async function signQuote(
  signer: QuoteSigner,
  chainId: string,
  { poolAddress, poolKey }: QuotedPool,
  { side, price, size, deadline, salt, taker = zeroAddress }: QuoteTerms,
): Promise<SignedOffer> {
  const words = { provider: signer.address, taker, price, size, isBuy: side === 'bid' };
  const typedData = {
    domain: { name: 'Premia', version: '1', chainId: Number(chainId), verifyingContract: poolAddress },
    types: QUOTE_TYPES,
    primaryType: 'FillQuoteOB',
    message: { ...words, deadline: BigInt(deadline), salt: BigInt(salt) },
  } as const;
  const signature = splitSignature(await signer.signTypedData(typedData));
  return {
    quoteId: hashTypedData(typedData),
    posted: {
      poolKey,
      chainId,
      ...words,
      price: price.toString(),
      size: size.toString(),
      deadline,
      salt,
      signature,
    },
  };
}

const SIGNATURE = /^0x([0-9a-f]{64})([0-9a-f]{64})(00|01|1b|1c)$/;
/** Wallets write 0 and 1 as well; contract and service take 27 and 28. */
const V_OFFSET = 27;

/**
 * The parts of a signature of 65 bytes; `v` is 27 or 28. Throws TypeError for any other. `parseSignature` of viem does
 * the same with a whole library for the curve, a third of the client in a browser.
 */
export function splitSignature(signature: Hex): { r: Hex; s: Hex; v: number } {
  const [, r, s, v] = SIGNATURE.exec(signature.toLowerCase()) ?? [];
  if (v === undefined) throw new TypeError('The signer gave no signature of 65 bytes');
  return { r: `0x${r}`, s: `0x${s}`, v: V_OFFSET + (Number.parseInt(v, 16) % V_OFFSET) };
}
