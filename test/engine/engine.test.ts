import t from 'tap';
import type { Command } from '../../src/engine/command.js';
import type { Hex, Quote } from '../../src/engine/quote.js';
import { Driver, numbers } from './driver.js';
import {
  address,
  at,
  enter,
  MAKER,
  newEngine,
  originAt,
  POOL,
  quoteIdOf,
  samplePool,
  sampleQuote,
  START,
  TAKER,
} from './samples.js';

const OTHER_MAKER = address(0x11);

const begin = (...commands: Command[]) => {
  const driver = new Driver(newEngine());
  driver.apply(...commands);
  return driver;
};

const stamp = (index: number, tsMs = START * 1000) => ({ index, tsMs });

t.test('records must follow one another, and time must not go back', async (t) => {
  const engine = newEngine();
  engine.apply({ type: 'TICK' }, stamp(1));
  t.throws(() => engine.apply({ type: 'TICK' }, stamp(1)), { name: 'AssertionFailure' });
  t.throws(() => engine.apply({ type: 'TICK' }, stamp(3)), { name: 'AssertionFailure' });
  t.throws(() => engine.apply({ type: 'TICK' }, stamp(2, START * 1000 - 1)), { name: 'AssertionFailure' });
  t.same([engine.index, engine.seq, engine.tsMs], [1, 0, START * 1000]);
});

t.test('a state that cannot be is refused as a bug', async (t) => {
  const driver = begin();
  t.throws(() => driver.apply(enter(sampleQuote({ n: 1 }), { fillableSize: 11n })), { name: 'AssertionFailure' });
  t.throws(() => newEngine(0), { name: 'AssertionFailure' });
});

t.test('the state hash says nothing of how the state came about', async (t) => {
  const one = begin(
    enter(sampleQuote({ n: 1 })),
    enter(sampleQuote({ n: 2, pool: samplePool(1) })),
    enter(sampleQuote({ n: 3, taker: TAKER })),
  );
  const other = begin(
    enter(sampleQuote({ n: 3, taker: TAKER }), { reason: 8 }),
    { type: 'PUBLISH_RFQ', rfq: { poolAddress: POOL.poolAddress, side: 'ask', size: 1n, taker: TAKER, body: '{}' } },
    enter(sampleQuote({ n: 2, pool: samplePool(1) })),
    enter(sampleQuote({ n: 1 })),
    { type: 'SET_VALIDITY', quoteId: quoteIdOf(3), reason: null, origin: null, position: at('settlement', 50) },
  );
  one.apply({ type: 'ADVANCE_POSITION', position: at('settlement', 50) });
  t.equal(one.engine.stateHash(), other.engine.stateHash());
  t.match(one.engine.stateHash(), /^[0-9a-f]{64}$/);
});

t.test('the state hash changes with everything that matters', async (t) => {
  const base: Command[] = [enter(sampleQuote({ n: 1 })), { type: 'ADVANCE_POSITION', position: at('settlement', 50) }];
  const position = at('settlement', 50);
  const more: Record<string, Command[]> = {
    nothing: [],
    quote: [enter(sampleQuote({ n: 2 }))],
    fill: [
      { type: 'FILL_QUOTE', quoteId: quoteIdOf(1), size: 1n, origin: originAt(51), position: at('settlement', 51) },
    ],
    cancel: [{ type: 'CANCEL_QUOTE', quoteId: quoteIdOf(1), origin: originAt(50), position }],
    reason: [{ type: 'SET_VALIDITY', quoteId: quoteIdOf(1), reason: 8, origin: null, position }],
    'other reason': [{ type: 'SET_VALIDITY', quoteId: quoteIdOf(1), reason: 9, origin: null, position }],
    pool: [{ type: 'DEPLOY_POOL', pool: POOL, deployedAt: START, origin: originAt(50), position }],
    'stream position': [{ type: 'ADVANCE_POSITION', position: at('stream', 101) }],
    'settlement position': [{ type: 'ADVANCE_POSITION', position: at('settlement', 51) }],
  };
  const hashes = Object.values(more).map((commands) => begin(...base, ...commands).engine.stateHash());
  t.equal(new Set(hashes).size, hashes.length);
});

t.test('the state hash changes with the first of many orders as with the last', async (t) => {
  const hashWith = (invalid: number | null) => {
    const quotes = Array.from({ length: 2_500 }, (_, n) =>
      enter(sampleQuote({ n }), { reason: n === invalid ? 8 : null }),
    );
    return begin(...quotes).engine.stateHash();
  };
  t.equal(new Set([null, 0, 1_200, 2_499].map(hashWith)).size, 4);
});

t.test('the pools of an exported state are by address', async (t) => {
  const pools = [7, 3, 9, 1].map((n) => samplePool(n));
  const { engine } = begin(...pools.map((pool, n) => enter(sampleQuote({ n, pool }))));
  const rows = engine.exportState().pools.map(([poolAddress]) => poolAddress);
  t.strictSame(rows, pools.map(({ poolAddress }) => poolAddress).sort());
});

t.test('a request for quote leaves the state hash as it is', async (t) => {
  const driver = begin(enter(sampleQuote({ n: 1 })));
  const before = driver.engine.stateHash();
  const rfq = { poolAddress: POOL.poolAddress, side: 'ask', size: 1n, taker: TAKER, body: '{}' } as const;
  driver.apply({ type: 'PUBLISH_RFQ', rfq });
  t.equal(driver.engine.stateHash(), before);
});

t.test('an exported state is plain data that another engine goes on from', async (t) => {
  const { engine } = begin(enter(sampleQuote({ n: 1 })), enter(sampleQuote({ n: 2 }), { reason: 8 }));
  const copy = newEngine();
  copy.importState(structuredClone(engine.exportState()));
  copy.checkInvariants();
  t.same([copy.index, copy.seq, copy.tsMs], [2, 2, START * 1000]);
  t.equal(copy.stateHash(), engine.stateHash());
  const next = enter(sampleQuote({ n: 3 }));
  t.same(copy.apply(next, stamp(3))[0]?.seq, engine.apply(next, stamp(3))[0]?.seq);
  t.same(numbers(copy.orders().valid), [3, 1]);
  t.throws(() => copy.importState(engine.exportState()), { name: 'AssertionFailure' });
});

t.test('pools are listed in the order of their deployment, after an import too', async (t) => {
  const engine = newEngine();
  [7, 3, 9, 1].forEach((n, place) => {
    const origin = originAt(50 + (place >> 1), place);
    const position = at('settlement', origin.blockNumber);
    const command = { type: 'DEPLOY_POOL', pool: samplePool(n), deployedAt: START, origin, position } as const;
    engine.apply(command, { index: place + 1, tsMs: START * 1000 });
  });
  const copy = newEngine();
  copy.importState(engine.exportState());
  for (const each of [engine, copy]) {
    t.strictSame(
      [...each.pools()].map(({ pool }) => pool.poolAddress),
      [7, 3, 9, 1].map((n) => samplePool(n).poolAddress),
    );
  }
});

t.test('a reorg undoes pools of one place on two branches in the same order after an import', async (t) => {
  const engine = newEngine();
  [9, 3].forEach((n, i) => {
    const position = at('settlement', 50, i);
    const command = {
      type: 'DEPLOY_POOL',
      pool: samplePool(n),
      deployedAt: START,
      origin: originAt(50),
      position,
    } as const;
    engine.apply(command, { index: i + 1, tsMs: START * 1000 });
  });
  const copy = newEngine();
  copy.importState(engine.exportState());
  const rewind = {
    type: 'REWIND_SETTLEMENT',
    position: at('settlement', 49),
    settlementBlock: 49,
    restated: [],
  } as const;
  const [undone, undoneByCopy] = [engine, copy].map((each) => each.apply(rewind, { index: 3, tsMs: START * 1000 }));
  t.equal(undone?.length, 2);
  t.strictSame(undoneByCopy, undone);
});

t.test('orders of one pool share the pool after an import', async (t) => {
  const { engine } = begin(enter(sampleQuote({ n: 1 })), enter(sampleQuote({ n: 2, pool: structuredClone(POOL) })));
  const copy = newEngine();
  copy.importState(engine.exportState());
  t.equal(copy.get(quoteIdOf(1))?.quote.pool, copy.get(quoteIdOf(2))?.quote.pool);
});

t.test('a pool with quotes is not among the pools before it is deployed', async (t) => {
  const { engine } = begin(enter(sampleQuote({ n: 1 })));
  t.same([...engine.pools()], []);
});

t.test(
  'live and invalid orders are listed, of everyone, of a pool and of a maker, and gone ones are not',
  async (t) => {
    const elsewhere = samplePool(1);
    const { engine } = begin(
      enter(sampleQuote({ n: 1 })),
      enter(sampleQuote({ n: 2, taker: TAKER }), { reason: 8 }),
      enter(sampleQuote({ n: 3, pool: elsewhere })),
      enter(sampleQuote({ n: 4 })),
      { type: 'CANCEL_QUOTE', quoteId: quoteIdOf(4), origin: originAt(60), position: at('settlement', 60) },
    );
    t.same(numbers(engine.known()).sort(), [1, 2, 3]);
    t.same(numbers(engine.ordersIn(POOL.poolAddress)).sort(), [1, 2]);
    t.same(numbers(engine.ordersIn(elsewhere.poolAddress)), [3]);
    t.same(numbers(engine.ordersIn(samplePool(2).poolAddress)), []);
    t.same(numbers(engine.ordersOf(MAKER)).sort(), [1, 2, 3]);
    t.equal(engine.exportState().orders.length, 4, 'a reorg may bring the gone one back');
  },
);

t.test('who holds an order that time takes sees it gone, with what was left of it', async (t) => {
  const driver = begin(enter(sampleQuote({ n: 1 })), enter(sampleQuote({ n: 2 }), { reason: 8 }));
  const held = [1, 2].map((n) => driver.engine.get(quoteIdOf(n)));
  driver.tickAt(2000);
  for (const order of held) t.match(order, { state: 'gone', reason: null, fillableSize: 10n });
  t.equal(driver.engine.exportState().orders.length, 0);
});

t.test('ten thousand quotes of one price come back in any order, to their places', async (t) => {
  const quotes = Array.from({ length: 10_000 }, (_, n) => sampleQuote({ n, blockNumber: 100 }));
  const driver = begin(...quotes.map((quote) => enter(quote, { reason: 8 })));
  // 7919 is prime to 10,000, so this visits each once, far from the one before.
  for (let step = 0; step < quotes.length; step += 1) {
    const quoteId = quoteIdOf((step * 7919) % quotes.length);
    driver.apply({ type: 'SET_VALIDITY', quoteId, reason: null, origin: null, position: at('settlement', 50) });
  }
  driver.engine.checkInvariants();
  const found = driver.engine.cover({ poolAddress: POOL.poolAddress, side: 'ask', size: 2n ** 200n });
  t.same(
    numbers(found),
    quotes.map(({ salt }) => salt),
  );
});

t.test('thousands of prices keep a level while they have a quote, and no longer', async (t) => {
  // More levels than an array keeps, and in the end as few as it takes back.
  const PRICES = 2_500;
  const driver = begin();
  const numbersAt = (price: number) => [0, 1, 2, 3].map((place) => 4 * price + place);
  for (let price = 0; price < PRICES; price += 1) {
    for (const n of numbersAt(price)) {
      driver.apply(enter(sampleQuote({ n, price: BigInt(price), ...(n % 2 === 1 && { taker: TAKER }) })));
    }
  }
  const cancel = (n: number) =>
    driver.apply({
      type: 'CANCEL_QUOTE',
      quoteId: quoteIdOf(n),
      origin: originAt(60),
      position: at('settlement', 60),
    });
  const counts = (taker: Hex | null) =>
    driver.engine.levels({ poolAddress: POOL.poolAddress, side: 'ask', taker }).map(({ count }) => count);
  const times = (count: number, levels: number) => Array.from({ length: levels }, () => count);
  t.strictSame([counts(null), counts(TAKER)], [times(2, PRICES), times(4, PRICES)]);
  for (let price = 0; price < PRICES; price += 1) numbersAt(price).slice(0, 2).forEach(cancel);
  driver.engine.checkInvariants();
  t.strictSame([counts(null), counts(TAKER)], [times(1, PRICES), times(2, PRICES)]);
  for (let price = 0; price < PRICES - 3; price += 1) numbersAt(price).slice(2).forEach(cancel);
  driver.engine.checkInvariants();
  t.strictSame([counts(null), counts(TAKER)], [times(1, 3), times(2, 3)]);
});

t.test('timers and fill limits read no quotes of other providers, and withdraw gone ones', async (t) => {
  let reads = 0;
  const other = (n: number): Quote => ({
    ...sampleQuote({ n }),
    get provider(): Hex {
      reads += 1;
      return OTHER_MAKER;
    },
  });
  const driver = begin(
    ...[1, 2, 3].map((n) => enter(sampleQuote({ n }))),
    ...[4, 5, 6].map((n) => enter(other(n))),
    { type: 'CANCEL_QUOTE', quoteId: quoteIdOf(3), origin: originAt(60), position: at('settlement', 60) },
    {
      ...{ type: 'SET_FILL_LIMIT', provider: MAKER, poolAddress: POOL.poolAddress, until: START + 60, signed: null },
      bounds: { contracts: 1n, fills: 0, seconds: 60 },
    },
  );
  reads = 0;
  const ids = driver.engine.notWithdrawnOf(MAKER, 10);
  t.strictSame([...ids].sort(), [1, 2, 3].map(quoteIdOf));
  t.equal(driver.engine.notWithdrawnOf(MAKER, 2).length, 2);
  const trade = { pool: POOL, provider: MAKER, taker: TAKER, price: 100n, fee: 0n, isBuy: false, time: START };
  const fill = { quoteId: quoteIdOf(1), size: 2n, origin: originAt(61), position: at('settlement', 61) };
  t.match(driver.apply({ type: 'FILL_QUOTE', ...fill, trade }), [
    { type: 'TRADE_RECORDED' },
    { type: 'QUOTE_FILLED' },
    { type: 'QUOTE_WITHDRAWN', quoteId: quoteIdOf(1) },
    { type: 'QUOTE_WITHDRAWN', quoteId: quoteIdOf(2) },
  ]);
  t.strictSame(driver.engine.notWithdrawnOf(MAKER, 10), []);
  t.equal(reads, 0);
});
