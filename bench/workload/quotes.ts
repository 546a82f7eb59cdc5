import { publishedQuote } from '../../src/chain/contracts/quote-types.js';
import { ZERO_ADDRESS, type Hex, type Pool, type Quote } from '../../src/engine/quote.js';

/** Engine time at which the workloads begin, Unix seconds. */
export const START_SECONDS = 1_700_000_000;
/** 1e-18. */
export const CONTRACT = 10n ** 18n;
/** Quotes that one stream block brings. */
const QUOTES_PER_BLOCK = 100;
/** Odd numbers by which a quote's number becomes the eight words of its id. */
const SPREADERS = [
  0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f, 0x165667b1, 0xd3a2646c, 0xfd7046c5, 0xb55a4f09,
] as const;

export function hex(n: number, digits: number): Hex {
  return inOnePiece(`0x${n.toString(16).padStart(digits, '0')}`);
}

/**
 * A flat string, as a parser returns. V8 copies a string that was concatenated when it is first read, and the reader
 * would be charged for that.
 */
export function inOnePiece(text: Hex): Hex {
  return Buffer.from(text, 'latin1').toString('latin1') as Hex;
}

let lastBlock: { readonly number: number; readonly hash: Hex } | null = null;

/** Quotes of one block share one string, as those that a reader of the chain submits. */
export function blockHashOf(blockNumber: number): Hex {
  if (lastBlock?.number !== blockNumber) {
    lastBlock = { number: blockNumber, hash: hex(0xb10c_0000_0000 + blockNumber, 64) };
  }
  return lastBlock.hash;
}

export function makerOf(n: number): Hex {
  return hex(0xaa00 + n, 40);
}

export function poolOf(n: number): Pool {
  return {
    poolAddress: hex(0xb00c + n, 40),
    poolKey: {
      base: hex(1, 40),
      quote: hex(2, 40),
      oracleAdapter: hex(3, 40),
      strike: BigInt(1000 + n) * 10n ** 18n,
      maturity: START_SECONDS + 30 * 86_400,
      isCallPool: true,
    },
  };
}

export interface QuoteTerms {
  /** Tells quotes apart, and is their age. */
  readonly n: number;
  readonly pool: Pool;
  /** 1e-18. */
  readonly price: bigint;
  /** 1e-18 contracts; one contract unless it is said. */
  readonly size?: bigint;
  readonly isBuy: boolean;
  readonly provider: Hex;
  readonly taker?: Hex;
  /** Unix seconds; an hour and up to ten minutes after START_SECONDS unless it is said. */
  readonly deadline?: number;
}

/** A quote as it comes off the chain; its signature is not one, which the engine does not look at. */
export function quoteOf(terms: QuoteTerms): Quote {
  const { n, pool, price, size = CONTRACT, isBuy, provider, taker = ZERO_ADDRESS } = terms;
  const { deadline = START_SECONDS + 3600 + (n % 600) } = terms;
  // Ids are digests: their digits are spread as a hash table meets them.
  const words = SPREADERS.map((odd) => (Math.imul(n + 1, odd) >>> 0).toString(16).padStart(8, '0'));
  const signed = {
    quoteId: inOnePiece(`0x${words.join('')}`),
    pool,
    provider,
    taker,
    price,
    size,
    isBuy,
    deadline,
    salt: 1_000_000_000 + n,
    signature: { r: hex(n + 1, 64), s: hex(n + 2, 64), v: 27 },
  };
  return publishedQuote(signed, START_SECONDS, {
    blockNumber: 1000 + Math.floor(n / QUOTES_PER_BLOCK),
    txHash: hex(n + 3, 64),
    logIndex: n % QUOTES_PER_BLOCK,
  });
}
