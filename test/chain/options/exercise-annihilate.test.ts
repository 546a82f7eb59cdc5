import t from 'tap';
import type { TxOutcome } from '../../../src/chain/wallet/operator.js';
import { recordingGasAccount } from '../recording-gas-account.js';
import { IMPOSSIBLE, MATURITY, opened, option } from './held-positions.js';
import { settled, untilTold } from './patient-operator.js';

const DONE = { type: 'SETTLED' } as const;
const failed = (reason: string) => ({ type: 'FAILED', reason });

t.test('exercise sends the longs alone, and leaves shorts and pairs as they are', async (t) => {
  const holdings = new Map([
    [1n, { shorts: 7n, longs: 5n }],
    [2n, { shorts: 3n, longs: 0n }],
    [3n, { shorts: 0n, longs: 4n }],
  ]);
  const { sent, settler } = opened({ holdings });
  const gasAccount = recordingGasAccount();
  t.strictSame(await settler.exercise([option(1n), option(2n), option(3n), option(3n)], gasAccount), {
    type: 'ANSWERED',
    items: [DONE, failed('No balance to settle'), DONE, failed('No balance to settle')],
  });
  t.strictSame([[...sent].sort(), gasAccount.taken], [['exercise() of 1', 'exercise() of 3'], [2]]);
  t.equal(holdings.get(1n)?.shorts, 7n);
});

t.test('exercise fails for each option alone that is not one of an expired pool', async (t) => {
  const holdings = new Map([[1n, { shorts: 0n, longs: 5n }]]);
  const options = [option(1n, '27DEC30'), option(1n, '31FEB27'), option(8n), option(IMPOSSIBLE), option(1n)];
  const { sent, settler } = opened({ holdings });
  t.strictSame(await settler.exercise(options, recordingGasAccount()), {
    type: 'ANSWERED',
    items: [
      failed('Option has not expired'),
      failed('Invalid expiration date: 31FEB27'),
      failed('Pool is not deployed'),
      failed('Can not get pool address'),
      DONE,
    ],
  });
  t.strictSame(sent, ['exercise() of 1']);
});

t.test('annihilate gives up as many longs as shorts, before or after maturity', async (t) => {
  for (const now of [MATURITY - 86_400, MATURITY]) {
    const holdings = new Map([
      [1n, { shorts: 7n, longs: 5n }],
      [2n, { shorts: 3n, longs: 0n }],
    ]);
    const { sent, settler } = opened({ holdings, now });
    const gasAccount = recordingGasAccount();
    t.strictSame(await settler.annihilate([option(1n), option(2n), option(1n)], gasAccount), {
      type: 'ANSWERED',
      items: [DONE, failed('No positions to annihilate'), failed('No positions to annihilate')],
    });
    t.strictSame([sent, gasAccount.taken], [['annihilate(5) of 1'], [1]]);
  }
});

t.test('a revert is named by its error', async (t) => {
  const name = 'Pool__InsufficientFunds';
  const refuse = (): TxOutcome => ({ type: 'REVERTED', name, reason: name });
  const { settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 1n }]]), refuse });
  t.match(await settler.annihilate([option(1n)], recordingGasAccount()), { items: [failed(name)] });
  t.match(await settler.exercise([option(1n)], recordingGasAccount()), { items: [failed(name)] });
});

t.test('what settles, exercises and annihilates takes turns at a pool', async (t) => {
  const { ends, send: refuse } = untilTold<TxOutcome | null>();
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 7n, longs: 5n }]]), refuse });
  const first = settler.annihilate([option(1n)], recordingGasAccount());
  const second = settler.exercise([option(1n)], recordingGasAccount());
  await settled();
  t.strictSame(sent, ['annihilate(5) of 1']);
  ends[0]?.(null);
  t.match(await first, { items: [DONE] });
  t.match(await second, { items: [failed('No balance to settle')] }, 'its balance is read in its turn');
  t.equal(sent.length, 1);
});

t.test('before the chain has been read nobody knows what has expired', async (t) => {
  const { settler } = opened({ holdings: new Map(), now: null });
  t.strictSame(await settler.exercise([option(1n)], recordingGasAccount()), { type: 'CHAIN_UNREACHABLE' });
  t.strictSame(await settler.annihilate([option(1n)], recordingGasAccount()), { type: 'CHAIN_UNREACHABLE' });
});
