import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { GasBudget, gasOfQuotes, GasReservation } from '../../src/quota/gas-budget.js';
import { OperatorCaps } from '../../src/quota/operator-caps.js';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { ManualClock } from '../system/manual-clock.js';

const DAY_MS = 24 * 60 * 60_000;
const free = { id: 'a', tier: 'free' } as const;

function gasOf(
  quotesPerDay: number,
  gasPerDay: number,
  kept: MemoryKeyValueStore | null = null,
  clock = new ManualClock(),
) {
  const charged: unknown[] = [];
  const refused: unknown[] = [];
  const gas = new GasBudget({
    of: () => ({ quotesPerDay, gasPerDay }),
    nowMs: () => clock.monotonicMs(),
    kept,
    onCharged: (holder, quotes, used) => charged.push([holder.id, quotes, used]),
    onRefusal: (holder) => refused.push(holder.id),
  });
  return { clock, gas, charged, refused };
}

t.test('limits the quotes of a key in a day, and returns when the day ends', async (t) => {
  const { clock, gas } = gasOf(10, 1e9);
  t.equal(gas.take(free, 10), 0);
  clock.advance(1_000);
  t.equal(gas.take(free, 1), DAY_MS - 1_000);
  t.equal(gas.take({ id: 'b', tier: 'free' }, 1), 0, 'others have their own day');
  clock.advance(DAY_MS - 1_001);
  t.equal(gas.take(free, 1), 1, 'to the last millisecond');
  clock.advance(1);
  t.equal(gas.take(free, 10), 0);
});

t.test('a key has so much gas a day, each request paying for a transaction of its own', async (t) => {
  const { gas } = gasOf(1_000, 100_000);
  t.equal(gas.take(free, 1), 0);
  t.equal(gas.take(free, 3), 0, 'two transactions and four quotes are 92,000');
  t.equal(gas.take(free, 1), DAY_MS);
});

t.test('what was not sent is given back, of quotes and of gas', async (t) => {
  const { gas, charged } = gasOf(10, 200_000);
  t.equal(gas.take(free, 10), 0);
  await gas.settle(free, 10, 4, gas.nowMs());
  t.strictSame(charged, [['a', 4, 21_800 + 4 * 12_100]]);
  t.equal(gas.take(free, 7), DAY_MS);
  t.equal(gas.take(free, 6), 0);
  await gas.settle(free, 6, 0, gas.nowMs());
  t.equal(charged.length, 1, 'nothing was published');
  t.equal(gas.take(free, 6), 0);
});

t.test('gas is given to a key whose quotes of the day are used up, also where it may have fewer by now', (t) => {
  let quotesPerDay = 10;
  const gas = new GasBudget({
    of: () => ({ quotesPerDay, gasPerDay: 1e9 }),
    nowMs: () => 0,
    kept: null,
    onCharged: () => undefined,
    onRefusal: () => undefined,
  });
  t.equal(gas.take(free, 10), 0);
  t.equal(gas.take(free, 0, 1), 0);
  quotesPerDay = 5;
  t.equal(gas.take(free, 1), DAY_MS);
  t.equal(gas.take(free, 0, 1), 0);
  t.end();
});

t.test('what is refused for its gas uses up no quotes', async (t) => {
  const { gas } = gasOf(2, 40_000);
  t.equal(gas.take(free, 2), DAY_MS);
  t.equal(gas.take(free, 1), 0);
});

t.test('what is refused for its quotes gives back none that were used', async (t) => {
  const { gas } = gasOf(10, 1e9);
  t.equal(gas.take(free, 8), 0);
  for (let times = 0; times < 3; times++) t.equal(gas.take(free, 3), DAY_MS);
  t.equal(gas.take(free, 2), 0);
});

t.test('each refusal is heard of once', async (t) => {
  const { gas, refused } = gasOf(2, 40_000);
  gas.take(free, 3);
  gas.take(free, 2);
  gas.take(free, 0, 40_001);
  gas.take(free, 1);
  t.strictSame(refused, ['a', 'a', 'a']);
});

t.test('other transactions use up the same gas, and no quotes', async (t) => {
  const { gas, charged } = gasOf(1, 100_000);
  t.equal(gas.take(free, 0, 60_000), 0);
  t.equal(gas.take(free, 0, 40_001), DAY_MS);
  t.equal(gas.take(free, 1), 0, '33,900 more');
  await gas.settle(free, 1, 0, gas.nowMs());
  await gas.settleGas(free, 60_000, 10_000, gas.nowMs());
  t.strictSame(charged, [['a', 0, 10_000]]);
  t.equal(gas.take(free, 0, 90_001), DAY_MS);
  t.equal(gas.take(free, 0, 90_000), 0);
});

t.test('what cost more than was taken for it counts in full', async (t) => {
  const { gas } = gasOf(1, 100_000);
  gas.take(free, 0, 50_000);
  await gas.settleGas(free, 50_000, 120_000, gas.nowMs());
  t.equal(gas.take(free, 0, 1), DAY_MS);
});

t.test('what is given back after its day has ended adds nothing to the next', async (t) => {
  const { clock, gas } = gasOf(10, 1e9);
  gas.take(free, 10);
  const takenMs = gas.nowMs();
  clock.advance(DAY_MS);
  await gas.settle(free, 10, 0, takenMs);
  t.equal(gas.take(free, 11), DAY_MS);
  t.equal(gas.take(free, 10), 0);
});

t.test('nor where the next day is on and used up: none of its quotes, and none of its gas', async (t) => {
  const { clock, gas } = gasOf(10, 200_000);
  gas.take(free, 4);
  gas.take(free, 0, 100_000);
  const takenMs = gas.nowMs();
  clock.advance(DAY_MS);
  t.equal(gas.take(free, 10), 0);
  t.equal(gas.take(free, 0, 50_000), 0);
  await gas.settle(free, 4, 0, takenMs);
  await gas.settleGas(free, 100_000, 0, takenMs);
  t.equal(gas.take(free, 1), DAY_MS);
  t.equal(gas.take(free, 0, 10_000), DAY_MS);
});

t.test('what was taken on a day and given back on it counts for nothing, however late that is', async (t) => {
  const { clock, gas } = gasOf(10, 1e9);
  gas.take(free, 10);
  const takenMs = gas.nowMs();
  clock.advance(DAY_MS - 1);
  await gas.settle(free, 10, 0, takenMs);
  t.equal(gas.take(free, 10), 0);
});

t.test('whatever gas a node says was used, what is kept of it can be read again', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, gas } = gasOf(10, 200_000, kept);
  gas.take(free, 0, 1);
  await gas.settleGas(free, 1, Number.MAX_SAFE_INTEGER, gas.nowMs());
  await gas.settleGas(free, 0, Number.MAX_SAFE_INTEGER, gas.nowMs());
  t.ok(gasOf(10, 200_000, kept.reopened(), clock).gas.take(free, 0, 1) > 0);
});

t.test('what was used outlives the process, and its day ends when it would have', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, gas } = gasOf(10, 1e9, kept);
  t.equal(gas.take(free, 8), 0);
  await gas.settle(free, 8, 6, gas.nowMs());
  clock.advance(1_000);
  const { gas: next } = gasOf(10, 1e9, kept.reopened(), clock);
  t.equal(next.take(free, 5), DAY_MS - 1_000);
  t.equal(next.take(free, 4), 0);
  clock.advance(DAY_MS - 1_000);
  t.equal(next.take(free, 10), 0);
});

t.test('so does the gas', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, gas } = gasOf(10, 100_000, kept);
  t.equal(gas.take(free, 0, 60_000), 0);
  await gas.settleGas(free, 60_000, 50_000, gas.nowMs());
  const { gas: next } = gasOf(10, 100_000, kept.reopened(), clock);
  t.equal(next.take(free, 0, 50_001), DAY_MS);
  t.equal(next.take(free, 0, 50_000), 0);
});

t.test('settling resolves only after the usage is durable', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { gas } = gasOf(10, 1e9, kept);
  t.equal(gas.take(free, 5), 0);
  let keep = (): void => undefined;
  kept.put = () => new Promise((resolve) => (keep = resolve));
  let isTold = false;
  const told = gas.settle(free, 5, 5, gas.nowMs()).then(() => (isTold = true));
  await turn();
  t.equal(isTold, false);
  keep();
  t.equal(await told, true);
});

t.test('what was taken counts after a crash, whether it was sent or not', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, gas } = gasOf(10, 1e9, kept);
  t.equal(gas.take(free, 10), 0);
  t.ok(gasOf(10, 1e9, kept.reopened(), clock).gas.take(free, 1) > 0);
});

t.test('days that ended before a start are kept no longer', async (t) => {
  const kept = new MemoryKeyValueStore(new Map([['wallet 1 0x', 'of a wallet']]));
  const { clock, gas } = gasOf(10, 1e9, kept);
  gas.take(free, 1);
  clock.advance(DAY_MS);
  gas.take({ id: 'b', tier: 'free' }, 1);
  const next = kept.reopened();
  gasOf(10, 1e9, next, clock);
  t.strictSame([...next.values.keys()], ['wallet 1 0x', 'key b']);
});

t.test('a day of which one part is still on is kept', async (t) => {
  const ended = { endsMs: 0, used: 1 };
  const on = { endsMs: DAY_MS, used: 1 };
  const kept = new MemoryKeyValueStore(
    new Map([
      ['key a', { quotes: ended, gas: on }],
      ['key b', { quotes: on, gas: ended }],
      ['key c', { quotes: ended, gas: ended }],
    ]),
  );
  gasOf(10, 1e9, kept);
  t.strictSame([...kept.values.keys()], ['key a', 'key b']);
});

t.test('on a full disk no key may take more until what was used is kept, and nothing is lost', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, gas } = gasOf(10, 1e9, kept);
  const other = { id: 'b', tier: 'paid' } as const;
  const put = kept.put.bind(kept);
  t.equal(gas.canKeep(free), true);
  kept.put = () => Promise.reject(new Error('ENOSPC'));
  t.equal(gas.take(free, 5), 0);
  await gas.settle(free, 5, 5, gas.nowMs());
  for (const holder of [free, other]) t.equal(gas.canKeep(holder), false, holder.id);
  await turn();
  t.equal(gas.canKeep(free), false, 'still full');
  kept.put = put;
  t.equal(gas.canKeep(free), false, 'tried again, and not known yet');
  await turn();
  for (const holder of [free, other]) t.equal(gas.canKeep(holder), true, holder.id);
  t.ok(gasOf(10, 1e9, kept.reopened(), clock).gas.take(free, 6) > 0, 'a restart gives nothing back');
});

t.test('what is kept in a form that is not understood stops the start', async (t) => {
  const good = { endsMs: 1, used: 1 };
  const bad = [undefined, {}, { endsMs: '1', used: 1 }, { endsMs: 1, used: '1' }];
  const halves = bad.flatMap((day) => [
    { quotes: day, gas: good },
    { quotes: good, gas: day },
  ]);
  for (const value of [null, {}, ...halves]) {
    t.throws(() => gasOf(10, 1e9, new MemoryKeyValueStore(new Map([['key a', value]]))), /not understood/);
  }
});

t.test('the days of keys that are gone are deleted once they have ended', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, gas } = gasOf(10, 1e9, kept);
  const keys = (): string[] => [...kept.reopened().found.keys()].sort();
  for (const id of ['a', 'b']) t.equal(gas.take({ id, tier: 'free' }, 1), 0);
  await turn();
  clock.advance(DAY_MS - 1);
  gas.take({ id: 'c', tier: 'free' }, 1);
  await turn();
  t.strictSame(keys(), ['key a', 'key b', 'key c']);
  clock.advance(1);
  gas.take({ id: 'b', tier: 'free' }, 1);
  await turn();
  t.strictSame(keys(), ['key b', 'key c']);
});

const GAS_PER_TX = 100;
const holder = { id: 'a', tier: 'free' } as const;
const wallet = '0x03';

/** A key that may use `gasPerDay`, and a wallet whose cap ends in so many milliseconds. */
function requests(gasPerDay: number, capWaitMs = 0, kept: MemoryKeyValueStore | null = null) {
  const clock = new ManualClock();
  const charged: number[] = [];
  const gas = new GasBudget({
    of: () => ({ quotesPerDay: 1, gasPerDay }),
    nowMs: () => clock.monotonicMs(),
    kept,
    onCharged: (...[, , used]) => charged.push(used),
    onRefusal: () => undefined,
  });
  const sender = { address: wallet, waitMs: () => capWaitMs } as const;
  return { charged, clock, next: () => new GasReservation(gas, sender, holder, GAS_PER_TX) };
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

t.test(
  'what was not used of the reservation that begins a day is given back, though time passes meanwhile',
  async (t) => {
    let nowMs = 0;
    const gas = new GasBudget({
      of: () => ({ quotesPerDay: 1, gasPerDay: 1_000 }),
      nowMs: () => (nowMs += 1),
      kept: null,
      onCharged: () => undefined,
      onRefusal: () => undefined,
    });
    const caps = new OperatorCaps({ routeGasPerDay: 1_000, gasPerDay: 1_000, nowMs: () => (nowMs += 1), kept: null });
    const action = { cap: caps.of('POST /pool/settle'), onMined: () => undefined };
    const reserve = () => new GasReservation(gas, { address: wallet, waitMs: () => 0 }, holder, GAS_PER_TX, action);
    await reserve().run(async (charge) => t.equal(charge.take(10), null));
    t.equal(reserve().take(10), null, 'the whole day is left, of the key and of the route');
  },
);

t.test('what a refusal by one cap took of another is given back, though time passes meanwhile', (t) => {
  let nowMs = 0;
  const caps = new OperatorCaps({ routeGasPerDay: 1_000, gasPerDay: 500, nowMs: () => (nowMs += 1), kept: null });
  t.match(caps.of('POST /pool/settle').take(600), { type: 'OPERATOR_CAP', spender: 'keys with the scope operator' });
  t.equal(caps.of('POST /pool/settle').take(500), null, 'more than 400, the rest of the route');
  t.end();
});

t.test('what needs more than a whole day has is refused for ever, and takes nothing of the day', async (t) => {
  const { charged, next } = requests(1_000);
  const refusal = { type: 'BEYOND_DAY', unit: 'gas', needed: 1_100, limit: 1_000 };
  t.strictSame(await next().run(async (charge) => charge.take(11)), refusal);
  t.strictSame(charged, []);
  t.equal(next().take(10), null, 'a whole day is left');
});

t.test('the quotes and the gas of a day bound what a request can ever have published', (t) => {
  const refused: string[] = [];
  const budgetOf = (quotesPerDay: number, gasPerDay: number) =>
    new GasBudget({
      of: () => ({ quotesPerDay, gasPerDay }),
      nowMs: () => 0,
      kept: null,
      onCharged: () => undefined,
      onRefusal: ({ id }) => refused.push(id),
    });
  const gas = gasOfQuotes(3);
  t.equal(budgetOf(3, gas).beyondDay(holder, 3, gas), null);
  t.strictSame(refused, []);
  t.strictSame(budgetOf(2, gas).beyondDay(holder, 3, gas), { type: 'BEYOND_DAY', unit: 'quotes', needed: 3, limit: 2 });
  t.strictSame(budgetOf(3, gas - 1).beyondDay(holder, 3, gas), {
    type: 'BEYOND_DAY',
    unit: 'gas',
    needed: gas,
    limit: gas - 1,
  });
  t.strictSame(refused, ['a', 'a']);
  t.end();
});

t.test('a request that needs no transaction is answered with what it found', async (t) => {
  const { charged, next } = requests(1_000);
  t.equal(await next().run(async (charge) => charge.take(0) ?? 'all of them exist'), 'all of them exist');
  t.strictSame(charged, []);
});

t.test('while it cannot be kept what keys use, a request sends nothing', async (t) => {
  const kept = new MemoryKeyValueStore();
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
  const kept = new MemoryKeyValueStore();
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
  const kept = new MemoryKeyValueStore();
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

t.test('a cap reached half-way still reports the finished part', async (t) => {
  const { next } = requests(1_000);
  const outcome = await next().run((charge) => {
    charge.take(2);
    charge.sent(50n);
    charge.capped(7_000);
    return Promise.resolve('answered');
  });
  t.equal(outcome, 'answered');
});
