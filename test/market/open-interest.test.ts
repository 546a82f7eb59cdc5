import t from 'tap';
import type { JournalRecord } from '../../src/engine/ports.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { FollowedInterest, OpenInterest } from '../../src/market/open-interest.js';
import { blockHashOf, MAKER, originAt, POOL, quoteIdOf, samplePool, TAKER } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

const other = samplePool(1);
const limits = { openInterestPools: 2, openInterestMaxAgeMs: 1_000 };

function openInterest(answer: (asked: readonly Hex[]) => readonly (bigint | null)[]) {
  const clock = new ManualClock();
  const asked: (readonly Hex[])[] = [];
  const readSupplies = (pools: readonly Hex[]) => {
    asked.push(pools);
    return Promise.resolve(answer(pools));
  };
  return { clock, asked, interest: new OpenInterest({ readSupplies, clock, limits }) };
}

t.test('each pool is asked for once until its number is too old, also when many ask together', async (t) => {
  let size = 5n;
  const { clock, asked, interest } = openInterest((pools) => pools.map(() => size));
  const [first, second] = await Promise.all([interest.prepare([POOL]), interest.prepare([POOL, other])]);
  t.strictSame([first(POOL), second(POOL), second(other)], [5n, 5n, 5n]);
  t.strictSame(asked, [[POOL.poolAddress], [other.poolAddress]]);
  size = 7n;
  t.equal((await interest.prepare([POOL]))(POOL), 5n);
  clock.advance(1_001);
  t.equal((await interest.prepare([POOL]))(POOL), 7n);
});

t.test('what the chain does not say is null, and never 0', async (t) => {
  const { interest } = openInterest(() => [null, 0n]);
  const of = await interest.prepare([POOL, other]);
  t.strictSame([of(POOL), of(other), of(samplePool(2))], [null, 0n, null]);
});

t.test('no more pools are asked for than the limit', async (t) => {
  const { asked, interest } = openInterest((pools) => pools.map(() => 1n));
  await interest.prepare([POOL, other, samplePool(2)]);
  t.strictSame(asked, [[POOL.poolAddress, other.poolAddress]]);
});

t.test('what changes is asked for again whatever its age, also while it is read', async (t) => {
  let size = 5n;
  const { asked, interest } = openInterest((pools) => pools.map(() => size));
  interest.changed(POOL.poolAddress);
  t.equal((await interest.prepare([POOL]))(POOL), 5n);
  interest.changed(POOL.poolAddress);
  const reading = interest.prepare([POOL]);
  interest.changed(POOL.poolAddress);
  t.equal((await reading)(POOL), 5n);
  size = 6n;
  t.equal((await interest.prepare([POOL]))(POOL), 6n, 'what was read may have been of before');
  await interest.prepare([POOL]);
  t.equal(asked.length, 3);
});

/** Looks each 100 ms; a number is too old after a second. */
function followed() {
  const { clock, asked, interest } = openInterest((pools) => pools.map((pool) => sizes.get(pool) ?? null));
  const sizes = new Map<Hex, bigint | null>([[POOL.poolAddress, 5n]]);
  const shown: [Hex, bigint][][] = [];
  const readers = new Set<Pool>();
  const feed = {
    followedTickerPools: () => readers,
    showOpenInterest: (known: ReadonlyMap<Hex, bigint>) => void shown.push([...known]),
  };
  const onFault = (error: unknown): void => {
    throw error;
  };
  const watch = new FollowedInterest({ interest, feed, clock, limits: { openInterestLookMs: 100 }, onFault });
  watch.start();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, asked, sizes, shown, readers, watch, pass };
}

t.test('while nobody follows, the chain is not asked; while somebody does, each pool once in its time', async (t) => {
  const { clock, asked, sizes, shown, readers, watch, pass } = followed();
  await pass(5_000);
  t.strictSame([asked.length, shown.length], [0, 0]);
  readers.add(POOL);
  await pass(100);
  t.strictSame(shown.at(-1), [[POOL.poolAddress, 5n]]);
  sizes.set(POOL.poolAddress, 9n);
  await pass(900);
  t.strictSame([asked.length, shown.at(-1)], [1, [[POOL.poolAddress, 5n]]]);
  await pass(300);
  t.strictSame([asked.length, shown.at(-1)], [2, [[POOL.poolAddress, 9n]]]);
  await pass(10_000);
  t.ok(asked.length >= 10 && asked.length <= 13, `${asked.length} batches in 11 seconds`);
  sizes.set(POOL.poolAddress, null);
  await pass(1_200);
  t.strictSame(shown.at(-1), [], 'the chain does not answer');
  sizes.set(POOL.poolAddress, 9n);
  await pass(1_200);
  readers.clear();
  await pass(100);
  t.strictSame(shown.at(-1), [], 'what may grow old is not shown');
  const { length } = asked;
  await pass(5_000);
  t.equal(asked.length, length);
  watch.stop();
  t.equal(clock.pending, 0);
});

t.test('a trade of a pool has it asked for at the next look, and many trades once', async (t) => {
  const { asked, sizes, shown, readers, watch, pass } = followed();
  readers.add(POOL);
  await pass(200);
  sizes.set(POOL.poolAddress, 6n);
  const trade = {
    pool: POOL,
    quoteId: quoteIdOf(1),
    provider: MAKER,
    taker: TAKER,
    price: 1n,
    size: 1n,
    fee: 0n,
    isBuy: true,
    time: 0,
    blockHash: blockHashOf(1),
  };
  const cause = { chain: 'settlement', ...originAt(1) } as const;
  const traded: JournalRecord = {
    stamp: { index: 1, tsMs: 0 },
    command: { type: 'TICK' },
    events: [1, 2, 3].map((seq) => ({ type: 'TRADE_RECORDED', seq, cause, trade })),
  };
  watch.onRecords([traded, traded]);
  await pass(100);
  t.strictSame([asked.length, shown.at(-1)], [2, [[POOL.poolAddress, 6n]]]);
  await pass(300);
  t.equal(asked.length, 2);
  watch.stop();
});
