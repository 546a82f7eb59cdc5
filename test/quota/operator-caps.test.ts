import t from 'tap';
import { GasBudget, GasReservation } from '../../src/quota/gas-budget.js';
import { OperatorCaps } from '../../src/quota/operator-caps.js';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { ManualClock } from '../system/manual-clock.js';

const DAY_MS = 24 * 60 * 60_000;

function capsOf(kept: MemoryKeyValueStore | null = null, clock = new ManualClock()) {
  return new OperatorCaps({ routeGasPerDay: 100, gasPerDay: 150, nowMs: () => clock.monotonicMs(), kept });
}

function capped(spender: string, retryAfterMs = DAY_MS) {
  return { type: 'OPERATOR_CAP', spender, retryAfterMs };
}

const ALL = 'keys with the scope operator';

t.test('caps the gas of each route, and of all together', (t) => {
  const caps = capsOf();
  t.equal(caps.of('POST /a').take(100), null);
  t.strictSame(caps.of('POST /a').take(1), capped('POST /a'));
  t.strictSame(caps.of('POST /b').take(51), capped(ALL));
  t.equal(caps.of('POST /b').take(50), null, 'a refusal takes nothing');
  t.strictSame(caps.of('POST /c').take(1), capped(ALL));
  t.end();
});

t.test('a day ends 24 hours after its first charge', (t) => {
  const clock = new ManualClock();
  const caps = capsOf(null, clock);
  caps.of('POST /a').take(100);
  clock.advance(DAY_MS - 1);
  t.strictSame(caps.of('POST /a').take(1), capped('POST /a', 1));
  clock.advance(1);
  t.equal(caps.of('POST /a').take(100), null);
  t.end();
});

t.test('what was not used is given back, and what was used beyond it is charged', async (t) => {
  const caps = capsOf();
  caps.of('POST /a').take(100);
  await caps.of('POST /a').settle(100, 30, 0);
  t.equal(caps.of('POST /a').take(70), null);
  await caps.of('POST /a').settle(70, 110, 0);
  t.strictSame(caps.of('POST /b').take(11), capped(ALL));
  t.equal(caps.of('POST /b').take(10), null);
});

t.test('what was used survives a restart', async (t) => {
  const kept = new MemoryKeyValueStore();
  const cap = capsOf(kept).of('POST /a');
  cap.take(90);
  await cap.settle(90, 90, 0);
  const again = capsOf(kept.reopened());
  t.strictSame(again.of('POST /a').take(11), capped('POST /a'));
  t.strictSame(again.of('POST /b').take(61), capped(ALL));
  t.equal(again.of('POST /a').take(10), null);
});

t.test('a reservation that the key has no gas for leaves the caps as they were', async (t) => {
  const caps = capsOf();
  const gas = new GasBudget({
    of: () => ({ quotesPerDay: 1, gasPerDay: 50 }),
    nowMs: () => 0,
    kept: null,
    onCharged: () => undefined,
    onRefusal: () => undefined,
  });
  const mined: unknown[] = [];
  const reserve = (id: string, gasPerTx: number): GasReservation =>
    new GasReservation(gas, { address: '0xaa', waitMs: () => 0 }, { id, tier: 'paid' }, gasPerTx, {
      cap: caps.of('POST /a'),
      onMined: (holder, txHash, succeeded) => mined.push([holder.id, txHash, succeeded]),
    });
  await reserve('a', 50).run(async (gasAccount) => {
    t.equal(gasAccount.take(1), null);
    gasAccount.mined('0xbb', true);
    gasAccount.sent(40n);
  });
  t.strictSame(mined, [['a', '0xbb', true]]);
  t.match(await reserve('a', 20).run(async (gasAccount) => gasAccount.take(1)), { type: 'OVER_BUDGET' });
  t.equal(caps.of('POST /a').take(60), null, '40 were used of 100');
  t.strictSame(caps.of('POST /a').take(1), capped('POST /a'));
});
