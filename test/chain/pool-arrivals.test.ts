import t from 'tap';
import { PoolArrivals } from '../../src/chain/pool-arrivals.js';
import type { Hex } from '../../src/engine/quote.js';
import { ManualClock } from '../system/manual-clock.js';

const A: Hex = '0xa';
const B: Hex = '0xb';

function opened(durable: Promise<void> | null = null) {
  const known = new Set<Hex>();
  const clock = new ManualClock();
  const pools = { knows: (address: Hex) => known.has(address), whenDurable: () => durable };
  return { known, clock, arrivals: new PoolArrivals(pools, clock, 1000) };
}

t.test('a pool that is known needs no waiting', async (t) => {
  const { known, clock, arrivals } = opened();
  known.add(A);
  t.equal(await arrivals.whenKnown(A), true);
  t.equal(clock.pending, 0);
});

t.test('everyone who waits for a pool hears of it, and nobody else', async (t) => {
  const { known, clock, arrivals } = opened();
  const waiting = Promise.all([arrivals.whenKnown(A), arrivals.whenKnown(A)]);
  const other = arrivals.whenKnown(B);
  known.add(A);
  arrivals.arrived(A);
  t.strictSame(await waiting, [true, true]);
  t.equal(clock.pending, 1, 'timers of those who have heard are gone');
  clock.advance(1000);
  t.equal(await other, false);
});

t.test('patience ends', async (t) => {
  const { clock, arrivals } = opened();
  const waiting = arrivals.whenKnown(A);
  clock.advance(1000);
  t.equal(await waiting, false);
  arrivals.arrived(A);
  t.equal(clock.pending, 0);
});

t.test('what is known counts once it is durable', async (t) => {
  let commit: () => void = () => undefined;
  const { known, arrivals } = opened(new Promise((resolve) => (commit = resolve)));
  known.add(A);
  let told = false;
  const waiting = arrivals.whenKnown(A).then(() => (told = true));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(told, false);
  commit();
  t.equal(await waiting, true);
});
