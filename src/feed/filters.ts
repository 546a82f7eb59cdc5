import type { EngineEvent } from '../engine/event.js';
import { type Hex, type Quote, type Side, sideOf, ZERO_ADDRESS } from '../engine/quote.js';
import type { Channel, CoverFilterMessage, FilterV2Message, TradesFilterMessage } from '../wire/socket.js';
import type { LevelView } from './level-window.js';

/** A subscriber's filter of one channel. Addresses are in lower case; null means any. */
export interface Filter {
  readonly poolAddress: Hex | null;
  readonly side: Side | null;
  /** `*`: every taker; null: the channel's default. */
  readonly taker: Hex | '*' | null;
  readonly narrowing: Narrowing;
}

/** The part of a filter that its keys don't show. */
export interface Narrowing {
  /** Quotes of this maker alone; on RFQ, requests for this maker, beside those for every maker. */
  readonly provider: Hex | null;
  /** 1e-18 contracts, compared with the size as first signed or asked, so that a followed quote never drops out. */
  readonly minSize: bigint;
}

/** The fields of an event that filters are compared with. */
export interface EventRoute {
  readonly channel: Channel;
  readonly poolAddress: Hex;
  readonly side: Side;
  readonly taker: Hex;
  readonly provider: Hex | null;
  readonly size: bigint;
  /** Of a request: the makers that it is for; absent or empty: every maker. */
  readonly makers?: readonly Hex[];
}

const PREFIX = { QUOTES: 'quotes', RFQ: 'rfq' } as const;

function key(channel: Channel, chainId: string, pool: string, side: string, taker: string): string {
  return `${keyPrefix(channel, chainId)}:${pool}:${side}:${taker}`;
}

/** Prefix of the channel's keys. */
export function keyPrefix(channel: Channel, chainId: string): string {
  return `${PREFIX[channel]}:${chainId}`;
}

/** The parts of a key; `*` stands for any. */
export function keyParts(key: string) {
  const [channel = '', chainId = '', pool = '', side = '', taker = ''] = key.split(':');
  return { prefix: `${channel}:${chainId}`, pool, side, taker };
}

/**
 * The keys that a filter subscribes to, in the order of its acknowledgement. A route matches at most one of them.
 */
export function filterKeys(channel: Channel, chainId: string, filter: Filter): string[] {
  return filterParts(channel, chainId, filter).map(({ key }) => key);
}

/** A key of a filter, with its taker. Zero address: public quotes; `*`: all quotes. */
export interface FilterPart {
  readonly key: string;
  readonly taker: Hex | '*';
}

export function filterParts(channel: Channel, chainId: string, { poolAddress, side, taker }: Filter): FilterPart[] {
  return takersOf(channel, taker).map((each) => ({
    key: key(channel, chainId, poolAddress ?? '*', side ?? '*', each),
    taker: each,
  }));
}

/** Whether the filter matches the route, without regard to the taker. */
export function matchesFilter({ poolAddress, side, narrowing }: Filter, route: EventRoute): boolean {
  if (poolAddress !== null && route.poolAddress !== poolAddress) return false;
  if (side !== null && route.side !== side) return false;
  if (!isForProvider(route, narrowing.provider)) return false;
  return route.size >= narrowing.minSize;
}

/** Whether a filter with that provider, null for none, lets the route through. */
function isForProvider({ channel, provider, makers = [] }: EventRoute, wanted: Hex | null): boolean {
  if (channel === 'QUOTES') return wanted === null || provider === wanted;
  return makers.length === 0 || (wanted !== null && makers.includes(wanted));
}

/**
 * A filter with a taker matches that taker's private quotes beside the public ones. Requests are for every maker.
 */
function takersOf(channel: Channel, taker: Filter['taker']): readonly (Hex | '*')[] {
  if (channel === 'RFQ') return [taker ?? '*'];
  if (taker === null || taker === ZERO_ADDRESS) return [ZERO_ADDRESS];
  return taker === '*' ? ['*'] : [ZERO_ADDRESS, taker];
}

/** The most specific key that an RFQ is published under. */
export function rfqKey(chainId: string, rfq: Pick<EventRoute, 'poolAddress' | 'side' | 'taker'>): string {
  return key('RFQ', chainId, rfq.poolAddress, rfq.side, rfq.taker);
}

type CoverFilter = Omit<CoverFilterMessage['body'], 'poolAddress' | 'instrument'> & { readonly poolAddress: Hex };
export type WireFilter = Pick<FilterV2Message['body'], 'poolAddress' | 'side' | 'size' | 'provider' | 'taker'>;

/** The filter of a FILTER message or a GET /events. */
export function filterOf(body: WireFilter): Filter {
  return {
    poolAddress: lowerCase(body.poolAddress),
    side: body.side ?? null,
    taker: body.taker === '*' ? '*' : lowerCase(body.taker),
    narrowing: { provider: lowerCase(body.provider), minSize: BigInt(body.size ?? 0) },
  };
}

/** Which quotes cover `size` best. Addresses are in lower case. */
export interface CoverRequest {
  readonly poolAddress: Hex;
  readonly side: Side;
  /** 1e-18 contracts, at least 1. */
  readonly size: bigint;
  /** Quotes private to this taker as well; null: public ones only. */
  readonly taker: Hex | null;
  /** This maker's quotes only; null: every maker's. */
  readonly provider: Hex | null;
}

/** The cover of a FILTER on COVER. */
export function coverRequestOf({ poolAddress, side, size, taker, provider }: CoverFilter): CoverRequest {
  const own = lowerCase(taker);
  return {
    poolAddress: lowerCase(poolAddress),
    side,
    size: BigInt(size),
    taker: own === ZERO_ADDRESS ? null : own,
    provider: lowerCase(provider),
  };
}

/** Which trades a reader of TRADES follows. Addresses are in lower case; null: any. */
export interface TradeSelection {
  readonly poolAddress: Hex | null;
  readonly provider: Hex | null;
}

/** The selection of a FILTER on TRADES, whose pool goes by its address. */
export function tradeSelectionOf({
  poolAddress,
  provider,
}: Pick<TradesFilterMessage['body'], 'poolAddress' | 'provider'>): TradeSelection {
  return { poolAddress: lowerCase(poolAddress), provider: lowerCase(provider) };
}

/** The view of a FILTER on ORDERBOOK. */
export function viewOf({ poolAddress, taker }: { poolAddress: Hex; taker?: Hex }, depth: number): LevelView {
  const own = lowerCase(taker);
  return { poolAddress: lowerCase(poolAddress), taker: own === ZERO_ADDRESS ? null : own, depth };
}

function lowerCase(address: Hex): Hex;
function lowerCase(address: Hex | undefined): Hex | null;
function lowerCase(address: Hex | undefined): Hex | null {
  return address === undefined ? null : (address.toLowerCase() as Hex);
}

/** The route of an event; null: no channel publishes it. */
export function routeOf(event: EngineEvent): EventRoute | null {
  switch (event.type) {
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
    case 'TRADE_RECORDED':
    case 'TRADES_UNDONE':
      return null;
    case 'RFQ_PUBLISHED':
    case 'RFQ_CHANGED': {
      const { poolAddress, side, taker, size } = event.rfq;
      const makers = event.type === 'RFQ_CHANGED' ? event.makers : event.terms?.makers;
      const route = { channel: 'RFQ', poolAddress, side, taker, provider: null, size } as const;
      return makers === undefined ? route : { ...route, makers };
    }
    default:
      return quoteRoute(event.order.quote);
  }
}

export function quoteRoute(quote: Quote): EventRoute {
  const { pool, taker, provider, size } = quote;
  return { channel: 'QUOTES', poolAddress: pool.poolAddress, side: sideOf(quote), taker, provider, size };
}
