import t from 'tap';
import type { Hex } from '../../src/engine/quote.js';
import { OpenInterest } from '../../src/market/open-interest.js';
import { POOL, samplePool } from '../engine/samples.js';
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
