import type { EngineEvent } from '../../src/engine/event.js';
import { InvalidReason } from '../../src/engine/quote.js';
import { eventOf, orderOf, posted, type QuoteTraits } from './event-samples.js';
import { address, chainId, goodKey, otherKey, poolAddress } from './gateway-fixture.js';

/** One thing that is done to a server of the plain protocol: by a client, or by the chains. */
export type Act = { readonly socket: number; readonly says: unknown } | { readonly happens: readonly EngineEvent[] };

const taker = address(0xfab2);
const maker = address(0xb2);
const otherPool = address(0xa2);
const broke = InvalidReason.InsufficientLongBalance;

const auth = (socket: number, apiKey: string): Act => ({ socket, says: { type: 'AUTH', apiKey, body: null } });
const filter = (socket: number, channel: string, body: object = {}): Act => ({
  socket,
  says: { type: 'FILTER', channel, body: { chainId, ...body } },
});
const unsubscribe = (socket: number, channel: string): Act => ({
  socket,
  says: { type: 'UNSUBSCRIBE', channel, body: null },
});
const happens = (...events: readonly EngineEvent[]): Act => ({ happens: events });

/** Everything that can happen to one quote, on and off the book. */
function lifeOf(traits: QuoteTraits): EngineEvent[] {
  const order = orderOf(traits);
  const size = order.quote.size;
  const left = size - size / 4n;
  return [
    posted(traits),
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: left, size: size / 4n, valid: true }),
    eventOf({ type: 'QUOTE_INVALIDATED', order, fillableSize: left, reason: broke }),
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: left, size: 1n, valid: false }),
    eventOf({ type: 'QUOTE_REVALIDATED', order, fillableSize: left }),
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: size, wasValid: true, reason: null }),
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: size, wasValid: true, reason: broke }),
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: size, wasValid: false, reason: broke }),
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: size, wasValid: false, reason: null }),
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 0n, size, valid: true }),
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'FILLED', valid: true }),
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: size, wasValid: false, reason: null }),
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'CANCELLED', valid: true }),
    eventOf({ type: 'QUOTE_POSTED', order, fillableSize: size, reason: broke }),
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: size, why: 'EXPIRED', valid: false }),
    posted(traits),
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: size, why: 'EXPIRED', valid: true }),
    posted(traits),
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: size, why: 'REWOUND', valid: true }),
    eventOf({ type: 'POOL_DEPLOYED', pool: order.quote.pool }),
    eventOf({ type: 'POOL_WITHDRAWN', pool: order.quote.pool }),
  ];
}

const lives = [
  { n: 1 },
  { n: 2, isBuy: true, size: 8n },
  { n: 3, taker, provider: maker },
  { n: 4, taker: address(9), size: 40n, poolAddress: otherPool },
  { n: 5, provider: maker, size: 3n, poolAddress: otherPool, isBuy: true },
].map(lifeOf);

/** All of them at once, a moment of each by turns. */
const mixed = (lives[0] ?? []).flatMap((_, moment) => lives.flatMap((life) => life.slice(moment, moment + 1)));

const rfq = { side: 'ask', chainId, size: '1000000000000000', taker };
const { poolKey } = orderOf({ n: 1 }).quote.pool;
const rfqByKey = { ...rfq, poolKey: { ...poolKey, strike: poolKey.strike.toString() } };

/** Five clients of the plain protocol, with all messages of either direction. */
export const SOCKETS = 5;
export const acts: readonly Act[] = [
  { socket: 0, says: '{"type":' },
  filter(0, 'QUOTES'),
  auth(0, 'nobody'),
  auth(0, ''),
  ...[0, 1, 2, 3].map((socket) => auth(socket, goodKey)),
  auth(4, otherKey),
  filter(0, 'QUOTES'),
  filter(1, 'QUOTES', { taker }),
  filter(2, 'QUOTES', { taker: '*', side: 'bid' }),
  filter(3, 'QUOTES', { provider: maker, size: '4' }),
  happens(...mixed),
  filter(3, 'QUOTES', { poolAddress: otherPool.toUpperCase().replace('0X', '0x'), taker: '*' }),
  filter(2, 'QUOTES', { taker: address(0) }),
  filter(4, 'RFQ'),
  filter(1, 'RFQ', { side: 'ask', taker, size: '1000000000000000' }),
  filter(2, 'RFQ', { poolAddress, side: 'bid' }),
  happens(...mixed),
  { socket: 1, says: { type: 'RFQ', body: { ...rfq, poolAddress } } },
  { socket: 0, says: { type: 'RFQ', body: rfqByKey } },
  { socket: 0, says: { type: 'RFQ', body: { ...rfq, poolAddress, side: 'bid', size: '1' } } },
  unsubscribe(0, 'QUOTES'),
  unsubscribe(1, 'RFQ'),
  unsubscribe(4, 'QUOTES'),
  happens(...mixed),
  { socket: 1, says: { type: 'RFQ', body: { ...rfq, poolAddress } } },
  auth(0, otherKey),
  filter(0, 'QUOTES', { side: 'ask' }),
  happens(...(lives[0] ?? [])),
  ...[
    'no JSON',
    '[]',
    'null',
    '',
    {},
    { type: 'HELLO' },
    { type: 'AUTH' },
    { type: 'AUTH', apiKey: 7 },
    { type: 'FILTER', channel: 'TRADES', body: { chainId } },
    { type: 'FILTER', channel: 'QUOTES' },
    { type: 'FILTER', channel: 'QUOTES', body: {} },
    { type: 'FILTER', channel: 'QUOTES', body: { chainId: '42161' } },
    { type: 'FILTER', channel: 'QUOTES', body: { chainId, side: 'buy' } },
    { type: 'FILTER', channel: 'QUOTES', body: { chainId, size: '-1' } },
    { type: 'FILTER', channel: 'QUOTES', body: { chainId, fromSeq: 1 } },
    { type: 'FILTER', channel: 'QUOTES', body: { chainId, snapshot: true } },
    { type: 'UNSUBSCRIBE' },
    { type: 'RFQ', body: { chainId } },
    { type: 'RFQ', body: { ...rfq, poolAddress, size: '0' } },
    { type: 'RFQ', body: { ...rfq, poolAddress, extra: 1 } },
  ].map((says): Act => ({ socket: 3, says })),
  unsubscribe(3, 'QUOTES'),
];
