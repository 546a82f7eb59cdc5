import t from 'tap';
import type { TxOutcome } from '../../../src/chain/wallet/operator.js';
import { recordingGasAccount } from '../recording-gas-account.js';
import { opened, option } from './held-positions.js';
import { PATIENCE_MS, settled, untilTold } from './patient-operator.js';

const LATE = { type: 'FAILED', reason: 'Transaction not confirmed yet' } as const;
const GONE = { type: 'FAILED', reason: 'No balance to settle' } as const;

t.test('a settlement that takes too long is not sent again, however often it is asked for', async (t) => {
  const { ends, send: refuse } = untilTold<TxOutcome | null>();
  const { sent, clock, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), refuse });
  for (let times = 0; times < 3; times++) {
    const asked = settler.settle([option(1n)], recordingGasAccount());
    await settled();
    clock.advance(PATIENCE_MS);
    t.strictSame(await asked, { type: 'ANSWERED', items: [LATE] });
  }
  ends[0]?.(null);
  await settled();
  t.match(await settler.settle([option(1n)], recordingGasAccount()), { items: [GONE] });
  t.strictSame([sent, clock.pending], [['settle() of 1'], 0]);
});

t.test('one request waits once for the same option repeated, and sends it once', async (t) => {
  const { send: refuse } = untilTold<TxOutcome | null>();
  const { sent, clock, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), refuse });
  const gasAccount = recordingGasAccount();
  const asked = settler.settle(
    Array.from({ length: 5 }, () => option(1n)),
    gasAccount,
  );
  await settled();
  clock.advance(PATIENCE_MS);
  t.match(await asked, { items: Array.from({ length: 5 }, () => LATE) });
  t.strictSame([sent, gasAccount.taken], [['settle() of 1'], [2]]);
});

t.test(
  'a transaction whose end is a fault leaves its pool to the next, though nobody waits to hear of it',
  async (t) => {
    let fail: (error: Error) => void = () => undefined;
    const { sent, clock, settler } = opened({
      holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]),
      refuse: () => (sent.length > 1 ? null : new Promise((_, reject) => (fail = reject))),
    });
    const asked = settler.settle([option(1n)], recordingGasAccount());
    await settled();
    clock.advance(PATIENCE_MS);
    t.match(await asked, { items: [LATE] });
    fail(new Error('a bug'));
    await settled();
    t.match(await settler.settle([option(1n)], recordingGasAccount()), { items: [{ type: 'SETTLED' }] });
  },
);

t.test("the turn comes with the end of the transaction, not with the sender's deadline", async (t) => {
  const { ends, send: refuse } = untilTold<TxOutcome | null>();
  const { sent, clock, settler } = opened({ holdings: new Map([[1n, { shorts: 7n, longs: 5n }]]), refuse });
  const first = settler.settle([option(1n)], recordingGasAccount());
  await settled();
  clock.advance(PATIENCE_MS - 1);
  const second = settler.settle([option(1n)], recordingGasAccount());
  await settled();
  clock.advance(1);
  t.match(await first, { items: [LATE] });
  await settled();
  t.strictSame(sent, ['annihilate(5) of 1']);
  ends[0]?.(null);
  await settled();
  t.strictSame(sent, ['annihilate(5) of 1', 'settle() of 1'], 'it sends what the first has left');
  ends[1]?.(null);
  t.match(await second, { items: [{ type: 'SETTLED' }] });
});

t.test('a request that waits for several settlements has one deadline for all', async (t) => {
  const { ends, send: refuse } = untilTold<TxOutcome | null>();
  const { sent, clock, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), refuse });
  const asked = [1, 2, 3].map(() => settler.settle([option(1n)], recordingGasAccount()));
  await settled();
  clock.advance(PATIENCE_MS - 1);
  ends[0]?.({ type: 'FAILED', reason: 'no gas' });
  await settled();
  t.equal(sent.length, 2);
  clock.advance(1);
  t.match(await asked[2], { items: [LATE] });
  ends[1]?.(null);
  t.match(await Promise.all(asked.slice(0, 2)), [
    { items: [{ type: 'FAILED', reason: 'no gas' }] },
    { items: [{ type: 'SETTLED' }] },
  ]);
});
