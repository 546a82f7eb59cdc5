import { decodeEventLog, encodeEventTopics } from 'viem';
import type { Hex, PoolKey, SignedQuote } from '../engine/quote.js';
import { orderbookStreamAbi } from './abi/orderbook-stream.js';
import type { ChainLog } from './chain-reader.js';

/** What a `PublishQuote` event says, nothing of it checked but that JSON can carry its numbers. */
export interface PublishedQuote {
  readonly poolKey: PoolKey;
  readonly words: Omit<SignedQuote, 'pool'>;
}

const [PUBLISH_QUOTE] = encodeEventTopics({ abi: orderbookStreamAbi, eventName: 'PublishQuote' });
export const publishQuoteTopics = [PUBLISH_QUOTE] as const;

/**
 * Null when the log is no `PublishQuote` or a number in it is above 2^53 - 1: no client could compute such a quote's id,
 * since salt, deadline and maturity are JSON integers on the wire.
 */
export function decodePublishedQuote({ topics, data }: ChainLog): PublishedQuote | null {
  const args = decode(topics, data);
  if (args === null) return null;
  const { poolKey, provider, taker, price, size, isBuy, signature } = args;
  const [deadline, salt, maturity] = [args.deadline, args.salt, poolKey.maturity].map(Number);
  if (!isSafe(deadline) || !isSafe(salt) || !isSafe(maturity)) return null;
  return {
    poolKey: { ...poolKey, maturity },
    words: {
      provider: provider.toLowerCase() as Hex,
      taker: taker.toLowerCase() as Hex,
      price,
      size,
      isBuy,
      deadline,
      salt,
      signature,
    },
  };
}

function decode(topics: readonly Hex[], data: Hex) {
  try {
    return decodeEventLog({
      abi: orderbookStreamAbi,
      eventName: 'PublishQuote',
      topics: [...topics] as [Hex, ...Hex[]],
      data,
    }).args;
  } catch {
    return null;
  }
}

function isSafe(value: number | undefined): value is number {
  return Number.isSafeInteger(value);
}
