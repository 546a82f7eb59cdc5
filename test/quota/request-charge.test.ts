import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { OperatorGas } from '../../src/quota/operator-gas.js';
import { RequestCharge } from '../../src/quota/request-charge.js';
import { MemoryKeptValues } from '../chain/memory-kept-values.js';
import { ManualClock } from '../system/manual-clock.js';

const DAY_MS = 24 * 60 * 60_000;
const GAS_PER_TX = 100;
const holder = { id: 'a', tier: 'free' } as const;
const wallet = '0x03';

/** A key that may use `gasPerDay`, and a wallet whose cap ends in so many milliseconds. */
function requests(gasPerDay: number, capWaitMs = 0, kept: MemoryKeptValues | null = null) {
  const clock = new ManualClock();
  const charged: number[] = [];
  const gas = new OperatorGas({
    of: () => ({ quotesPerDay: 1, gasPerDay }),
    nowMs: () => clock.monotonicMs(),
    kept,
    onCharged: (...[, , used]) => charged.push(used),
    onRefusal: () => undefined,
  });
  const sender = { address: wallet, waitMs: () => capWaitMs } as const;
  return { charged, clock, next: () => new RequestCharge(gas, sender, holder, GAS_PER_TX) };
}

t.test('what its transactions may cost is taken at once, and what was not used given back', async (t) => {
  const { charged, next } = requests(1_000);
  await next().run(async (charge) => {
    t.equal(charge.take(10), null);
    await turn();
    t.strictSame(next().take(1), { type: 'OVER_BUDGET', retryAfterMs: DAY_MS }, 'nothing is left meanwhile');
    charge.sent(30n);
    charge.sent(null);
  });
  t.strictSame(charged, [30 + GAS_PER_TX]);
  t.type(next().take(9), Object, '870 are left');
  t.equal(next().take(8), null);
});

t.test('a request that needs no transaction is answered with what it found', async (t) => {
  const { charged, next } = requests(1_000);
  t.equal(await next().run(async (charge) => charge.take(0) ?? 'all of them exist'), 'all of them exist');
  t.strictSame(charged, []);
});

t.test('while it cannot be kept what keys use, a request sends nothing', async (t) => {
  const kept = new MemoryKeptValues();
  const { charged, next } = requests(1_000, 0, kept);
  const put = kept.put.bind(kept);
  kept.put = () => Promise.reject(new Error('ENOSPC'));
  t.equal(next().take(1), null);
  await turn();
  t.strictSame(await next().run(async (charge) => charge.take(1)), { type: 'STORAGE_FULL' });
  t.equal(next().take(0), null, 'what costs nothing is answered');
  kept.put = put;
  t.strictSame(next().take(1), { type: 'STORAGE_FULL' }, 'tries again to keep it');
  await turn();
  t.equal(next().take(1), null);
  t.strictSame(charged, []);
});

t.test('a request is answered once it is kept what it used', async (t) => {
  const kept = new MemoryKeptValues();
  const { next } = requests(1_000, 0, kept);
  let keep = (): void => undefined;
  let isAnswered = false;
  const answered = next()
    .run(async (charge) => {
      charge.take(1);
      kept.put = () => new Promise((resolve) => (keep = resolve));
      charge.sent(30n);
    })
    .then(() => (isAnswered = true));
  await turn();
  t.equal(isAnswered, false);
  keep();
  t.equal(await answered, true);
});

t.test('a request that fails gives back what it did not use, on whatever day it was taken', async (t) => {
  const { clock, next } = requests(1_000);
  clock.advance(DAY_MS);
  const bug = new Error('a bug');
  const failing = next().run((charge) => {
    charge.take(10);
    return Promise.reject(bug);
  });
  await t.rejects(failing, bug);
  t.equal(next().take(10), null);
});

t.test('nothing is taken for nothing, whatever the wallet has spent', async (t) => {
  const { next } = requests(0, 5_000);
  t.equal(next().take(0), null);
});

t.test("a wallet that has spent its cap is what refuses, and takes nothing of the key's day", async (t) => {
  const kept = new MemoryKeptValues();
  const { next } = requests(1_000, 5_000, kept);
  t.strictSame(next().take(1), { type: 'SPEND_CAP', wallet, retryAfterMs: 5_000 });
  t.equal(kept.values.size, 0);
});

t.test('a cap that is reached before anything was sent is the outcome of all', async (t) => {
  const { next } = requests(1_000);
  const outcome = await next().run(async (charge) => {
    charge.take(2);
    await turn();
    charge.capped(7_000);
    return 'answered';
  });
  t.strictSame(outcome, { type: 'SPEND_CAP', wallet, retryAfterMs: 7_000 });
  t.equal(next().take(10), null, 'all of the day is left');
});

t.test('a cap that is reached half-way leaves what was done to be told', async (t) => {
  const { next } = requests(1_000);
  const outcome = await next().run((charge) => {
    charge.take(2);
    charge.sent(50n);
    charge.capped(7_000);
    return Promise.resolve('answered');
  });
  t.equal(outcome, 'answered');
});
