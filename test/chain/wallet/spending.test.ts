import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { WalletBalance, WalletSpending } from '../../../src/chain/wallet/spending.js';
import { address } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';

const DAY_MS = 24 * 60 * 60_000;
const WALLET = address(1);

function newSpending(
  capWei: bigint | null,
  kept: MemoryKeyValueStore | null = null,
  clock = new ManualClock(),
  remembered = 8,
) {
  const spending = new WalletSpending({
    capWei,
    nowMs: () => clock.monotonicMs(),
    remembered,
    kept: kept && { values: kept, name: 'wallet' },
  });
  return { clock, spending };
}

t.test('a wallet spends its cap in a day, and what was under way then', async (t) => {
  const { clock, spending } = newSpending(100n);
  await spending.mined(0, 99n);
  t.equal(spending.waitMs(), 0);
  await spending.mined(1, 50n);
  clock.advance(500);
  t.equal(spending.waitMs(), DAY_MS - 500);
  t.equal(spending.spentWei, 149n);
  clock.advance(DAY_MS);
  t.strictSame([spending.waitMs(), spending.spentWei], [0, 0n]);
});

t.test('without a cap a wallet spends what it has', async (t) => {
  const { spending } = newSpending(null);
  await spending.mined(0, 10n ** 30n);
  t.equal(spending.waitMs(), 0);
});

t.test('a nonce that is mined again after a reorg is paid for once, at what it cost at last', async (t) => {
  const { spending } = newSpending(100n);
  await spending.mined(0, 40n);
  await spending.mined(0, 30n);
  t.equal(spending.spentWei, 30n);
  await spending.mined(0, 45n);
  t.equal(spending.spentWei, 45n);
});

t.test("a nonce that went to another signer's after a reorg cost nothing", async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, spending } = newSpending(100n, kept);
  await spending.mined(0, 40n);
  await spending.mined(1, 50n);
  await spending.lost(0);
  await spending.lost(0);
  await spending.lost(7);
  t.equal(spending.spentWei, 50n);
  t.equal(newSpending(100n, kept.reopened(), clock).spending.spentWei, 50n, 'nor for the next process');
});

t.test('what a reorg takes back of a day that has ended makes no room in the next', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, spending } = newSpending(100n, kept);
  await spending.mined(0, 40n);
  await spending.mined(1, 40n);
  clock.advance(DAY_MS);
  await spending.mined(2, 90n);
  await spending.lost(0);
  await spending.mined(1, 30n);
  t.equal(spending.spentWei, 90n);
  const { spending: next } = newSpending(100n, kept.reopened(), clock);
  await next.lost(1);
  t.equal(next.spentWei, 90n);
  await next.lost(2);
  t.equal(next.spentWei, 0n);
});

t.test('what an earlier version kept, without the days of its nonces, is of the day that was on', async (t) => {
  const value = { endsMs: DAY_MS, spentWei: '60', feesWei: [[0, '40']] };
  const { spending } = newSpending(100n, new MemoryKeyValueStore(new Map([['wallet', value]])));
  await spending.lost(0);
  t.equal(spending.spentWei, 20n);
});

t.test('a restart goes on with what was spent, and counts no nonce again that was counted', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { clock, spending } = newSpending(100n, kept);
  await spending.mined(0, 60n);
  clock.advance(1_000);
  const { spending: next } = newSpending(100n, kept.reopened(), clock);
  t.equal(next.spentWei, 60n);
  await next.mined(0, 60n);
  t.equal(next.spentWei, 60n);
  await next.mined(1, 60n);
  t.equal(next.waitMs(), DAY_MS - 1_000);
});

t.test('a capped wallet spends nothing more until what it has spent is kept', async (t) => {
  const kept = new MemoryKeyValueStore();
  const full = new Error('ENOSPC');
  const { clock, spending } = newSpending(100n, kept);
  const { spending: uncapped } = newSpending(null, kept);
  const put = kept.put.bind(kept);
  kept.put = () => Promise.reject(full);
  await uncapped.mined(0, 60n);
  await spending.mined(0, 60n);
  t.equal(spending.waitMs(), 0);
  t.throws(() => spending.check(WALLET), { name: 'IntentNotPersisted', cause: full });
  uncapped.check(WALLET);
  kept.put = put;
  t.throws(() => spending.check(WALLET), { name: 'IntentNotPersisted' }, 'tries again to keep it');
  await turn();
  spending.check(WALLET);
  t.equal(newSpending(100n, kept.reopened(), clock).spending.spentWei, 60n, 'a restart gives nothing back');
});

t.test('only so many nonces are remembered, the newest', async (t) => {
  const kept = new MemoryKeyValueStore();
  const { spending } = newSpending(null, kept, new ManualClock(), 2);
  for (const nonce of [0, 1, 2]) await spending.mined(nonce, 1n);
  t.match(kept.values.get('wallet'), {
    spentWei: '3',
    feesWei: [
      [1, '1', DAY_MS],
      [2, '1', DAY_MS],
    ],
  });
});

t.test('what is kept in a form that is not understood stops the start', async (t) => {
  const whole = { endsMs: 1, spentWei: '1', feesWei: [] };
  for (const value of [7, {}, { ...whole, spentWei: 1 }, { ...whole, feesWei: null }, { ...whole, endsMs: 'x' }]) {
    t.throws(() => newSpending(null, new MemoryKeyValueStore(new Map([['wallet', value]]))), /not understood/);
  }
});

/** Looks every 1,000 ms; `answers` are given in turn, and an Error is one that does not come. */
function balanceOver(...answers: readonly unknown[]) {
  const clock = new ManualClock();
  const asked: unknown[] = [];
  const rpc = {
    request(args: unknown): Promise<unknown> {
      const answer = answers[asked.length];
      asked.push(args);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  const balance = new WalletBalance(rpc, address(1), clock, 1_000);
  const head = async (): Promise<bigint | null> => {
    balance.onHead();
    await turn();
    return balance.wei;
  };
  return { clock, asked, balance, head };
}

t.test('it is what the chain says, of any size, and unknown before that', async (t) => {
  const { asked, balance, head } = balanceOver('0xffffffffffffffffffffffff');
  t.equal(balance.wei, null);
  t.equal(await head(), 2n ** 96n - 1n);
  t.strictSame(asked, [{ method: 'eth_getBalance', params: [address(1), 'latest'] }]);
});

t.test('it is looked at with a new block, and not so often as they come', async (t) => {
  const { clock, asked, head } = balanceOver('0x5', '0x4');
  t.equal(await head(), 5n);
  clock.advance(999);
  t.equal(await head(), 5n);
  clock.advance(1);
  t.equal(asked.length, 1);
  t.equal(await head(), 4n);
});

t.test('the balance stays the same without a valid answer', async (t) => {
  const { clock, head } = balanceOver('0x5', new Error('no answer'), '0x', null, '0x3');
  t.equal(await head(), 5n);
  for (let look = 0; look < 3; look++) {
    clock.advance(1_000);
    t.equal(await head(), 5n);
  }
  clock.advance(1_000);
  t.equal(await head(), 3n);
});
