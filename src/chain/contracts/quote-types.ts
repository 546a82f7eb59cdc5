import { PackedQuote, packedWords } from '../../engine/packed-quote.js';
import {
  type Hex,
  MAX_PRICE,
  type Origin,
  type Pool,
  type Quote,
  type SignedQuote,
  ZERO_ADDRESS,
} from '../../engine/quote.js';

/** A quote with its id; the id is the contract's name for it too. */
export interface IdentifiedQuote extends SignedQuote {
  readonly quoteId: Hex;
}

/**
 * A quote as more of it becomes known. Field by field, in the sequence in which the log's are read: of objects that are
 * made with `{ ...less, more }` V8 gives (measured up to Node 20) each a hidden class of its own, which costs memory,
 * and at every place that reads a field.
 */
export function boundQuote(words: Omit<SignedQuote, 'pool'>, pool: Pool): SignedQuote {
  const { provider, taker, price, size, isBuy, deadline, salt, signature } = words;
  return { pool, provider, taker, price, size, isBuy, deadline, salt, signature };
}

export function identifiedQuote(quote: SignedQuote, quoteId: Hex): IdentifiedQuote {
  const { pool, provider, taker, price, size, isBuy, deadline, salt, signature } = quote;
  return { quoteId, pool, provider, taker, price, size, isBuy, deadline, salt, signature };
}

/** Nothing of it is a piece of the log's text, which would be kept for as long. */
export function publishedQuote(quote: IdentifiedQuote, ts: number, origin: Origin): Quote {
  const { quoteId, pool, provider, taker, price, size, isBuy, deadline, salt, signature } = quote;
  const { blockNumber, txHash, logIndex } = origin;
  return new PackedQuote({
    quoteId,
    pool,
    provider: keptAddress(provider),
    taker: taker === ZERO_ADDRESS ? ZERO_ADDRESS : keptAddress(taker),
    price,
    size,
    isBuy,
    deadline,
    salt,
    words: packedWords(signature.r, signature.s, txHash),
    v: signature.v,
    ts,
    blockNumber,
    logIndex,
  });
}

/** The last one of each last byte: makers and takers come again and again. */
const keptAddresses = new Array<Hex | undefined>(256).fill(undefined);

/** The same text in one piece, and mostly the one that other quotes have. */
function keptAddress(address: Hex): Hex {
  const place = Number.parseInt(address.slice(-2), 16);
  const known = keptAddresses[place];
  if (known === address) return known;
  const kept = Buffer.from(address, 'latin1').toString('latin1') as Hex;
  keptAddresses[place] = kept;
  return kept;
}

const ONE = 10n ** 18n;
/**
 * Position deltas are int256 on chain, products uint256: amounts above these overflow there, at every fill and for
 * ever.
 */
const MAX_INT = 2n ** 255n - 1n;
const MAX_UINT = 2n ** 256n - 1n;

/** A call is backed by the base token, a put by the quote token. */
export function collateralToken({ pool: { poolKey } }: Pick<SignedQuote, 'pool'>): Hex {
  return (poolKey.isCallPool ? poolKey.base : poolKey.quote).toLowerCase() as Hex;
}

/**
 * The amount that the provider of a quote pays when all of it is filled and nothing is closed by it, 1e-18 of the
 * collateral token: the premium for a bid, the collateral less the premium for an ask. Null when the quote asks for
 * nothing, or for more than a pool can count.
 */
export function collateralNeeded(quote: SignedQuote): bigint | null {
  const { price, size, isBuy, pool } = quote;
  if (size === 0n || size > MAX_INT || price > MAX_PRICE) return null;
  const { isCallPool, strike } = pool.poolKey;
  const inCollateral = (contracts: bigint | null): bigint | null =>
    isCallPool ? contracts : product(contracts, strike);
  const premium = inCollateral(product(price, size));
  const collateral = inCollateral(size);
  if (premium === null || collateral === null) return null;
  return isBuy ? premium : collateral - premium;
}

/** With 18 decimals, as the pools multiply; null where they overflow. */
function product(a: bigint | null, b: bigint): bigint | null {
  return a === null || a * b > MAX_UINT ? null : (a * b) / ONE;
}
