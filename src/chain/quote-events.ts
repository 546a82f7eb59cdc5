import { encodeEventTopics } from 'viem';
import type { Hex, PoolKey, SignedQuote } from '../engine/quote.js';
import { orderbookStreamAbi } from './abi/orderbook-stream.js';
import type { ChainLog } from './chain-log.js';

/** What a `PublishQuote` event says, nothing of it checked but that JSON can carry its numbers. */
export interface PublishedQuote {
  readonly poolKey: PoolKey;
  readonly words: Omit<SignedQuote, 'pool'>;
}

const [PUBLISH_QUOTE] = encodeEventTopics({ abi: orderbookStreamAbi, eventName: 'PublishQuote' });
export const publishQuoteTopics = [PUBLISH_QUOTE] as const;

/**
 * Null when the log is no `PublishQuote` or a number in it is above 2^53 - 1: no client could compute such a quote's
 * id, since salt, deadline and maturity are JSON integers on the wire.
 */
export function decodePublishedQuote({ topics, data }: ChainLog): PublishedQuote | null {
  const [name, , providerWord] = topics;
  if (name !== PUBLISH_QUOTE || providerWord === undefined || topics.length !== 3) return null;
  const words = new Words(data);
  if (words.count < WORDS) return null;
  const isBuy = words.bool(3);
  const isCallPool = words.bool(14);
  const [deadline, salt, maturity] = [4, 5, 13].map((at) => Number(words.uint(at)));
  if (isBuy === null || isCallPool === null) return null;
  if (!isSafe(deadline) || !isSafe(salt) || !isSafe(maturity)) return null;
  return {
    poolKey: {
      base: words.address(9),
      quote: words.address(10),
      oracleAdapter: words.address(11),
      strike: words.uint(12),
      maturity,
      isCallPool,
    },
    words: {
      provider: `0x${providerWord.slice(-ADDRESS_DIGITS).toLowerCase()}`,
      taker: words.address(0),
      price: words.uint(1),
      size: words.uint(2),
      isBuy,
      deadline,
      salt,
      signature: { r: words.bytes32(6), s: words.bytes32(7), v: Number(words.uint(8)) },
    },
  };
}

/**
 * All that is not indexed: taker, price, size, isBuy, deadline, salt, the signature's three words, the pool key's six.
 */
const WORDS = 15;
const WORD_DIGITS = 64;
const ADDRESS_DIGITS = 40;

/**
 * The words of an event's data, which are all static. viem's decoder gives the same (a test compares them) and takes
 * twenty times as long, since it hashes the event's signature and each address anew.
 */
class Words {
  readonly count: number;

  constructor(private readonly data: Hex) {
    this.count = Math.floor((data.length - 2) / WORD_DIGITS);
  }

  uint(at: number): bigint {
    return BigInt(this.bytes32(at));
  }

  /** Null: neither true nor false. */
  bool(at: number): boolean | null {
    const value = this.uint(at);
    return value > 1n ? null : value === 1n;
  }

  /** In lower case. */
  address(at: number): Hex {
    return `0x${this.bytes32(at).slice(-ADDRESS_DIGITS)}`;
  }

  bytes32(at: number): Hex {
    const start = 2 + at * WORD_DIGITS;
    return `0x${this.data.slice(start, start + WORD_DIGITS).toLowerCase()}`;
  }
}

function isSafe(value: number | undefined): value is number {
  return Number.isSafeInteger(value);
}
