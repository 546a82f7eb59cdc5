import fc from 'fast-check';
import type { Engine } from '../../src/engine/engine.js';
import { type Hex, type Order, sideOf } from '../../src/engine/quote.js';
import { MAKERS, POOLS, TAKERS } from '../engine/random-commands.js';
import { levelsHash, type ModelReader, quotesHash } from './model-reader.js';

interface QuotesBody {
  readonly poolAddress?: Hex;
  readonly side?: 'bid' | 'ask';
  readonly taker?: Hex | '*';
  readonly provider?: Hex;
  readonly size?: string;
}
interface BookBody {
  readonly poolAddress: Hex;
  readonly depth?: number;
  readonly taker?: Hex;
}

/** A reader's subscription: the body of its FILTER. */
export type Wish =
  | { readonly channel: 'QUOTES'; readonly body: QuotesBody }
  | { readonly channel: 'ORDERBOOK'; readonly body: BookBody };

const maybe = <T>(values: readonly T[]) => fc.constantFrom(undefined, ...values);
const pools = POOLS.map(({ poolAddress }) => poolAddress);

export const quotesBody: fc.Arbitrary<QuotesBody> = fc
  .record({
    poolAddress: maybe(pools),
    side: maybe(['bid', 'ask'] as const),
    taker: maybe([...TAKERS, '*' as const]),
    provider: maybe(MAKERS),
    size: maybe(['2', '5']),
  })
  .map(present);

export const wish: fc.Arbitrary<Wish> = fc.oneof(
  quotesBody.map((body) => ({ channel: 'QUOTES' as const, body })),
  fc
    .record({ poolAddress: fc.constantFrom(...pools), depth: maybe([1, 2, 5]), taker: maybe(TAKERS) })
    .map((body) => ({ channel: 'ORDERBOOK' as const, body: present(body) })),
);

function present<T extends object>(body: T) {
  return JSON.parse(JSON.stringify(body)) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Of the book that the reader has put together. */
export function ownHash(reader: ModelReader, { channel }: Wish): Hex {
  return channel === 'QUOTES' ? quotesHash(reader.allQuotes) : reader.levelsHash;
}

/** Of the book that the engine has, for a reader with this wish. */
export function trueHash(engine: Engine, wish: Wish): Hex {
  return wish.channel === 'QUOTES' ? quotesHash(quotesSeen(engine, wish.body)) : bookHash(engine, wish.body);
}

export function quotesSeen(engine: Engine, { poolAddress, side, taker, provider, size = '0' }: QuotesBody) {
  const isSeen = ({ quote, state }: Order): boolean =>
    state === 'live' &&
    (poolAddress === undefined || quote.pool.poolAddress === poolAddress) &&
    (side === undefined || sideOf(quote) === side) &&
    (provider === undefined || quote.provider === provider) &&
    quote.size >= BigInt(size) &&
    (taker === '*' || /^0x0+$/.test(quote.taker) || quote.taker === taker);
  return [...engine.known()]
    .filter(isSeen)
    .map(({ quote, fillableSize }) => ({ quoteId: quote.quoteId, fillableSize: fillableSize.toString() }));
}

function bookHash(engine: Engine, { poolAddress, depth = Infinity, taker }: BookBody): Hex {
  const side = (of: 'bid' | 'ask') =>
    engine
      .levels({ poolAddress, side: of, taker: taker ?? null }, depth)
      .map(({ price, size, count }) => ({ price: price.toString(), size: size.toString(), count }));
  return levelsHash(side('bid'), side('ask'));
}
