import type { Hex, Origin, Pool, Quote, SignedQuote } from '../engine/quote.js';
import type { IdentifiedQuote } from './quote-states.js';

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

export function publishedQuote(quote: IdentifiedQuote, ts: number, origin: Origin): Quote {
  const { quoteId, pool, provider, taker, price, size, isBuy, deadline, salt, signature } = quote;
  return { quoteId, pool, provider, taker, price, size, isBuy, deadline, salt, signature, ts, origin };
}
