import { limits } from '../../src/config/limits.js';
import type { Hex, Quote } from '../../src/engine/quote.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import type { PublishSchedule } from '../servers/publish-schedule.js';
import { makerOf, poolOf, quoteOf } from './quotes.js';
import { CHAIN_ID } from './signed-quotes.js';

export const POOLS = Array.from({ length: 8 }, (_, n) => poolOf(n));
const MAKERS = 20;
/** Frame of a server's text message of 126 to 65,535 bytes: RFC 6455, 5.2. */
const TEXT_FRAME = 0x81;
const LENGTH_IN_TWO_BYTES = 126;

const quoteJson = new QuoteJson(String(CHAIN_ID), limits.writtenQuotes);

/** The `n`th quote that the server publishes: pools and sides in turn, prices and makers spread. */
export function publishedQuote(n: number): Quote {
  const pool = POOLS[n % POOLS.length];
  if (pool === undefined) throw new RangeError(`There is no quote ${n}`);
  const price = BigInt(1 + ((n * 7919) % 1000)) * 10n ** 14n;
  return quoteOf({ n, pool, price, isBuy: (n >> 3) % 2 === 0, provider: makerOf(n % MAKERS) });
}

/** All quotes of these bursts. */
export function publishedQuotes({
  first,
  bursts,
  perBurst,
}: Pick<PublishSchedule, 'first' | 'bursts' | 'perBurst'>): Quote[] {
  return Array.from({ length: bursts * perBurst }, (_, i) => publishedQuote(first + i));
}

/** The message that a subscriber gets of it. */
export function publishedMessage(quote: Quote): Buffer {
  return Buffer.from(`{"type":"POST_QUOTE","body":${quoteJson.encodeQuote(quote, quote.size)}}`);
}

/** The same as it goes over the connection. */
export function publishedFrame(quote: Quote): Buffer {
  const message = publishedMessage(quote);
  const head = Buffer.from([TEXT_FRAME, LENGTH_IN_TWO_BYTES, 0, 0]);
  head.writeUInt16BE(message.length, 2);
  return Buffer.concat([head, message]);
}

/** Filter of some of the subscribers. */
export interface SubscriptionKind {
  /** Of its topic, where there is one for it alone. */
  readonly name: string;
  /** The body of the FILTER that asks for it. */
  readonly filter: {
    readonly chainId: string;
    readonly poolAddress?: Hex;
    readonly side?: 'bid' | 'ask';
    readonly taker?: '*';
  };
  takes(quote: Quote): boolean;
}

const chainId = String(CHAIN_ID);

export const everything: SubscriptionKind = { name: 'public', filter: { chainId }, takes: () => true };

const pools = POOLS.map(({ poolAddress }): SubscriptionKind => ({
  name: poolAddress,
  filter: { chainId, poolAddress },
  takes: ({ pool }) => pool.poolAddress === poolAddress,
}));

const sides = POOLS.flatMap(({ poolAddress }) =>
  (['bid', 'ask'] as const).map((side): SubscriptionKind => ({
    name: `${poolAddress} ${side}`,
    filter: { chainId, poolAddress, side },
    takes: ({ pool, isBuy }) => pool.poolAddress === poolAddress && isBuy === (side === 'bid'),
  })),
);

const everybodys: SubscriptionKind = { name: 'everybody', filter: { chainId, taker: '*' }, takes: () => true };

/** Every kind of subscription; each quote is in four of them. */
export const subscriptionKinds: readonly SubscriptionKind[] = [everything, everybodys, ...pools, ...sides];

/**
 * Of the `n`th subscriber: a quarter each follow all public quotes, everybody's, those of a pool, and one side of a
 * pool.
 */
export function mixedSubscription(n: number): SubscriptionKind {
  const turn = n >> 2;
  const kinds = [everything, everybodys, pools[turn % pools.length], sides[turn % sides.length]];
  return kinds[n % 4] ?? everything;
}
