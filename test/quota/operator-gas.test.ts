import t from 'tap';
import { WalletSpending } from '../../src/chain/wallet-spending.js';
import { OperatorGas } from '../../src/quota/operator-gas.js';
import { ManualClock } from '../system/manual-clock.js';

const DAY_MS = 24 * 60 * 60_000;
const free = { id: 'a', tier: 'free' } as const;

function gasOf(quotesPerDay: number, gasPerDay: number) {
  const clock = new ManualClock();
  const published: unknown[] = [];
  const of = () => ({ quotesPerDay, gasPerDay });
  const gas = new OperatorGas(of, clock, (holder, quotes, used) => published.push([holder.id, quotes, used]));
  return { clock, gas, published };
}

t.test('a key has so many quotes published in a day, and is told when the day ends', async (t) => {
  const { clock, gas } = gasOf(10, 1e9);
  t.equal(gas.take(free, 10), 0);
  clock.advance(1_000);
  t.equal(gas.take(free, 1), DAY_MS - 1_000);
  t.equal(gas.take({ id: 'b', tier: 'free' }, 1), 0, 'others have their own day');
  clock.advance(DAY_MS - 1_000);
  t.equal(gas.take(free, 10), 0);
});

t.test('a key has so much gas a day, each request paying for a transaction of its own', async (t) => {
  const { gas } = gasOf(1_000, 100_000);
  t.equal(gas.take(free, 1), 0);
  t.equal(gas.take(free, 3), 0, 'two transactions and four quotes are 92,000');
  t.equal(gas.take(free, 1), DAY_MS);
});

t.test('what was not sent is given back, of quotes and of gas', async (t) => {
  const { gas, published } = gasOf(10, 200_000);
  t.equal(gas.take(free, 10), 0);
  gas.settle(free, 10, 4);
  t.strictSame(published, [['a', 4, 21_800 + 4 * 12_100]]);
  t.equal(gas.take(free, 7), DAY_MS);
  t.equal(gas.take(free, 6), 0);
  gas.settle(free, 6, 0);
  t.equal(published.length, 1, 'nothing was published');
  t.equal(gas.take(free, 6), 0);
});

t.test('what is refused for its gas uses up no quotes', async (t) => {
  const { gas } = gasOf(3, 40_000);
  t.equal(gas.take(free, 2), DAY_MS);
  t.equal(gas.take(free, 1), 0);
});

t.test('a wallet spends its cap in a day, and what was under way then', async (t) => {
  const clock = new ManualClock();
  const spending = new WalletSpending(100n, clock);
  spending.add(99n);
  t.equal(spending.waitMs(), 0);
  spending.add(50n);
  clock.advance(500);
  t.equal(spending.waitMs(), DAY_MS - 500);
  t.equal(spending.spentWei, 149n);
  clock.advance(DAY_MS);
  t.strictSame([spending.waitMs(), spending.spentWei], [0, 0n]);
});

t.test('without a cap a wallet spends what it has', async (t) => {
  const spending = new WalletSpending(null, new ManualClock());
  spending.add(10n ** 30n);
  t.equal(spending.waitMs(), 0);
});
