import { QuoteDigest } from '../../src/auth/quote-signature.js';
import { START_SECONDS } from '../workload/quotes.js';
import { CHAIN_ID, Makers, type SignedWork } from '../workload/signed-quotes.js';
import { POOLS } from '../workload/published-quotes.js';
import { requestBytes } from './http-connection.js';

export interface Postage {
  readonly requests: number;
  readonly batch: number;
  readonly apiKey: string;
  /** Tells these quotes from all that were posted before; each request has its own salts from there on. */
  readonly firstSalt: number;
}

/** Requests that post truly signed quotes, none of them twice. */
export function postings({ requests, batch, apiKey, firstSalt }: Postage): Buffer[] {
  const makers = new Makers(new QuoteDigest(CHAIN_ID, POOLS.length), 5, firstSalt);
  return Array.from({ length: requests }, () =>
    postingOf(makers.signMany(POOLS, START_SECONDS + 86_400, batch), apiKey),
  );
}

/** One request that posts these. */
export function postingOf(quotes: readonly SignedWork[], apiKey: string): Buffer {
  return requestBytes('POST', '/quotes', apiKey, JSON.stringify(quotes.map(toWire)));
}

function toWire({ quote }: SignedWork): object {
  const { pool, provider, taker, price, size, isBuy, deadline, salt, signature } = quote;
  return {
    poolKey: { ...pool.poolKey, strike: pool.poolKey.strike.toString() },
    chainId: String(CHAIN_ID),
    provider,
    taker,
    price: price.toString(),
    size: size.toString(),
    isBuy,
    deadline,
    salt,
    signature,
  };
}
