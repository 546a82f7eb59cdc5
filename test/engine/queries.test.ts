import t, { type Test } from 'tap';
import { ListedOrder, BookSide } from '../../src/engine/order-book.js';
import { walkBestFirst, walkPrivate } from '../../src/engine/queries.js';
import type { Hex, InvalidReason } from '../../src/engine/quote.js';
import { Driver, numbers } from './driver.js';
import { type EngineUnderTest, NaiveEngine } from './naive-engine.js';
import {
  address,
  enter,
  MAKER,
  newEngine,
  POOL,
  quoteIdOf,
  REORG_DEPTH,
  samplePool,
  type SampleQuote,
  sampleQuote,
  TAKER,
} from './samples.js';

const OTHER_MAKER = address(0x11);
const OTHER_TAKER = address(0x21);
const OTHER_POOL = samplePool(1);

const ask = { poolAddress: POOL.poolAddress, side: 'ask' } as const;
const bid = { poolAddress: POOL.poolAddress, side: 'bid' } as const;

function queries(t: Test, make: () => EngineUnderTest): void {
  const bookOf = (...quotes: (SampleQuote & { reason?: InvalidReason })[]): EngineUnderTest => {
    const driver = new Driver(make());
    for (const { reason = null, ...quote } of quotes) driver.apply(enter(sampleQuote(quote), { reason }));
    return driver.engine;
  };

  t.test('asks are covered from the lowest price, bids from the highest', async (t) => {
    const engine = bookOf(
      { n: 1, price: 102n },
      { n: 2, price: 101n },
      { n: 3, price: 98n, isBuy: true },
      { n: 4, price: 99n, isBuy: true },
    );
    t.same(numbers(engine.cover({ ...ask, size: 20n })), [2, 1]);
    t.same(numbers(engine.cover({ ...bid, size: 20n })), [4, 3]);
  });

  t.test('of one price the older quote comes first, whenever it was entered', async (t) => {
    const engine = bookOf({ n: 3 }, { n: 1 }, { n: 4, blockNumber: 99 }, { n: 2 });
    t.same(numbers(engine.cover({ ...ask, size: 40n })), [4, 1, 2, 3]);
  });

  t.test('just enough quotes are given, the last one whole', async (t) => {
    const engine = bookOf({ n: 1, size: 5n }, { n: 2, size: 5n }, { n: 3, size: 5n });
    t.same(numbers(engine.cover({ ...ask, size: 0n })), []);
    t.same(numbers(engine.cover({ ...ask, size: 1n })), [1]);
    t.same(numbers(engine.cover({ ...ask, size: 5n })), [1]);
    t.same(numbers(engine.cover({ ...ask, size: 6n })), [1, 2]);
    t.same(numbers(engine.cover({ ...ask, size: 2n ** 255n })), [1, 2, 3]);
  });

  t.test('private quotes are for their taker, merged by price and age with the public ones', async (t) => {
    const engine = bookOf(
      { n: 1, price: 100n },
      { n: 2, price: 100n, taker: TAKER },
      { n: 3, price: 100n },
      { n: 4, price: 99n, taker: TAKER },
      { n: 5, price: 98n, taker: OTHER_TAKER },
      { n: 6, price: 101n, taker: TAKER },
    );
    t.same(numbers(engine.cover({ ...ask, size: 100n })), [1, 3]);
    t.same(numbers(engine.cover({ ...ask, size: 100n, taker: TAKER })), [4, 1, 2, 3, 6]);
    t.same(numbers(engine.cover({ ...ask, size: 25n, taker: OTHER_TAKER })), [5, 1, 3]);
    t.same(numbers(engine.privateQuotes({ ...ask, taker: TAKER })), [4, 2, 6]);
    t.same(numbers(engine.privateQuotes({ ...bid, taker: TAKER })), []);
  });

  t.test('one maker can be asked for alone', async (t) => {
    const engine = bookOf(
      { n: 1, price: 103n },
      { n: 2, price: 101n, provider: OTHER_MAKER },
      { n: 3, price: 102n },
      { n: 4, price: 100n, taker: TAKER },
      { n: 5, pool: OTHER_POOL },
      { n: 6, isBuy: true },
    );
    t.same(numbers(engine.cover({ ...ask, size: 100n, provider: OTHER_MAKER })), [2]);
    t.same(numbers(engine.cover({ ...ask, size: 11n, provider: MAKER })), [3, 1]);
    t.same(numbers(engine.cover({ ...ask, size: 11n, provider: MAKER, taker: TAKER })), [4, 3]);
    t.same(numbers(engine.cover({ ...ask, size: 1n, provider: address(0x1f) })), []);
  });

  t.test('a maker with more quotes than the pool is walked for in the pool', async (t) => {
    const elsewhere = [4, 5, 6, 7].map((n) => ({ n, pool: OTHER_POOL }));
    const engine = bookOf({ n: 1, price: 103n }, { n: 2, price: 101n, provider: OTHER_MAKER }, { n: 3 }, ...elsewhere);
    t.same(numbers(engine.cover({ ...ask, size: 100n, provider: MAKER })), [3, 1]);
  });

  t.test('nothing is found in a pool without quotes', async (t) => {
    const engine = bookOf({ n: 1 });
    const nowhere = { poolAddress: OTHER_POOL.poolAddress, side: 'ask' } as const;
    t.same(engine.cover({ ...nowhere, size: 1n }), []);
    t.same(engine.privateQuotes({ ...nowhere, taker: TAKER }), []);
    t.same(engine.levels({ ...nowhere, taker: TAKER }), []);
    t.same(engine.levelAt({ ...nowhere, taker: TAKER }, 100n), { price: 100n, size: 0n, count: 0 });
    t.same(engine.orders({ poolAddress: OTHER_POOL.poolAddress, provider: OTHER_MAKER }), {
      valid: [],
      invalid: [],
      next: null,
    });
  });

  t.test('orders come newest first, the valid and the invalid apart', async (t) => {
    const engine = bookOf({ n: 1 }, { n: 2, reason: 8 }, { n: 3, blockNumber: 99 }, { n: 4, reason: 9 }, { n: 5 });
    const { valid, invalid } = engine.orders();
    t.same(numbers(valid), [5, 1, 3]);
    t.same(numbers(invalid), [4, 2]);
  });

  t.test('orders are narrowed by every filter that is given', async (t) => {
    const engine = bookOf(
      { n: 1 },
      { n: 2, isBuy: true },
      { n: 3, provider: OTHER_MAKER },
      { n: 4, pool: OTHER_POOL },
      { n: 5, size: 20n },
      { n: 6, taker: TAKER },
      { n: 7, taker: OTHER_TAKER },
    );
    const valid = (filter: Parameters<EngineUnderTest['orders']>[0]) => numbers(engine.orders(filter).valid);
    t.same(valid({ poolAddress: POOL.poolAddress }), [5, 3, 2, 1]);
    t.same(valid({ side: 'bid' }), [2]);
    t.same(valid({ provider: OTHER_MAKER }), [3]);
    t.same(valid({ provider: MAKER, poolAddress: OTHER_POOL.poolAddress }), [4]);
    t.same(valid({ minFillableSize: 11n }), [5]);
    t.same(valid({ taker: TAKER }), [6, 5, 4, 3, 2, 1]);
    t.same(valid({ taker: TAKER, provider: MAKER, side: 'ask', poolAddress: POOL.poolAddress }), [6, 5, 1]);
  });

  t.test('orders that are named by id are shown, private ones too', async (t) => {
    const engine = bookOf({ n: 1 }, { n: 2, taker: TAKER }, { n: 3, taker: OTHER_TAKER }, { n: 4, reason: 8 });
    const ids = [2, 4, 1, 3, 2, 77].map(quoteIdOf);
    t.same(numbers(engine.orders({ quoteIds: ids }).valid), [3, 2, 1]);
    t.same(numbers(engine.orders({ quoteIds: ids }).invalid), [4]);
    t.same(numbers(engine.orders({ quoteIds: ids, taker: TAKER }).valid), [2, 1], 'a taker sees no other one’s');
    t.same(engine.orders({ quoteIds: [] }), { valid: [], invalid: [], next: null });
  });

  t.test('orders that are named by id are narrowed by the other filters as well', async (t) => {
    const engine = bookOf(
      { n: 1 },
      { n: 2, isBuy: true },
      { n: 3, provider: OTHER_MAKER },
      { n: 4, pool: OTHER_POOL },
      { n: 5, size: 20n },
    );
    const valid = (filter: Parameters<EngineUnderTest['orders']>[0]) =>
      numbers(engine.orders({ quoteIds: [1, 2, 3, 4, 5].map(quoteIdOf), ...filter }).valid);
    t.same(valid({ poolAddress: OTHER_POOL.poolAddress }), [4]);
    t.same(valid({ side: 'bid' }), [2]);
    t.same(valid({ provider: OTHER_MAKER }), [3]);
    t.same(valid({ minFillableSize: 20n }), [5]);
  });

  t.test('a maker’s orders of one pool are found whether the maker or the pool has more of them', async (t) => {
    const elsewhere = [4, 5, 6, 7].map((n) => ({ n, pool: OTHER_POOL }));
    const engine = bookOf({ n: 1 }, { n: 2, provider: OTHER_MAKER }, { n: 3 }, ...elsewhere);
    const valid = (provider: Hex) => numbers(engine.orders({ poolAddress: POOL.poolAddress, provider }).valid);
    t.same(valid(MAKER), [3, 1]);
    t.same(valid(OTHER_MAKER), [2]);
  });

  t.test('levels add up what the asker may see', async (t) => {
    const engine = bookOf(
      { n: 1, price: 101n },
      { n: 2, price: 101n, size: 5n },
      { n: 3, price: 101n, taker: TAKER },
      { n: 4, price: 100n, taker: TAKER },
      { n: 5, price: 103n },
      { n: 6, price: 101n, taker: OTHER_TAKER },
      { n: 7, price: 102n, taker: OTHER_TAKER },
    );
    const level = (price: bigint, size: bigint, count: number) => ({ price, size, count });
    t.same(engine.levels({ ...ask, taker: null }), [level(101n, 15n, 2), level(103n, 10n, 1)]);
    t.same(engine.levels({ ...ask, taker: TAKER }), [level(100n, 10n, 1), level(101n, 25n, 3), level(103n, 10n, 1)]);
    t.same(engine.levels({ ...ask, taker: TAKER }, 2), [level(100n, 10n, 1), level(101n, 25n, 3)]);
    t.same(engine.levelAt({ ...ask, taker: TAKER }, 101n), level(101n, 25n, 3));
    t.same(engine.levelAt({ ...ask, taker: null }, 102n), level(102n, 0n, 0));
  });

  t.test('makers are listed while they have live or invalid quotes', async (t) => {
    const engine = bookOf({ n: 1 }, { n: 2, provider: OTHER_MAKER, reason: 8 }, { n: 3 });
    t.same([...engine.providers()].sort(), [MAKER, OTHER_MAKER]);
    t.same(numbers(engine.ordersOf(MAKER)).sort(), [1, 3]);
    t.same(numbers(engine.ordersOf(TAKER)), []);
  });

  t.test('so are pools', async (t) => {
    const engine = bookOf({ n: 1 }, { n: 2, reason: 8 }, { n: 3, pool: OTHER_POOL, reason: 8 });
    t.same([...engine.quotedPools()], [POOL, OTHER_POOL]);
  });
}

t.test('engine', async (t) => queries(t, () => newEngine()));
t.test('naive engine', async (t) => queries(t, () => new NaiveEngine(REORG_DEPTH)));

t.test('a walk ends where its callback ends it, whatever lies behind', async (t) => {
  const side = new BookSide('ask');
  for (const n of [0, 1, 2, 3, 4, 5]) {
    const price = 100n + BigInt(n >> 1);
    for (const more of [{}, { taker: TAKER }]) {
      const order = new ListedOrder(sampleQuote({ n: 'taker' in more ? 10 + n : n, price, ...more }));
      order.fillableSize = order.quote.size;
      side.add(order);
    }
  }
  const walked = (walk: (visit: (order: ListedOrder) => boolean) => void): number[] => {
    const seen: number[] = [];
    walk(({ quote }) => seen.push(quote.salt) < 3);
    return seen;
  };
  t.same(
    walked((visit) => walkBestFirst(side, null, visit)),
    [0, 1, 2],
  );
  t.same(
    walked((visit) => walkBestFirst(side, TAKER, visit)),
    [0, 1, 10],
  );
  t.same(
    walked((visit) => walkPrivate(side, TAKER, visit)),
    [10, 11, 12],
  );
});
