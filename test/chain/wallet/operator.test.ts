import t from 'tap';
import { encodeErrorResult } from 'viem';
import type { CallResult } from '../../../src/chain/contracts/abi-encoding.js';
import { contractErrorsAbi } from '../../../src/chain/contracts/abi.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import {
  InsufficientFunds,
  IntentNotPersisted,
  SpendCapReached,
  TxRefused,
  WalletBusy,
  WalletStopped,
  WouldRevert,
} from '../../../src/chain/wallet/errors.js';
import { Operator } from '../../../src/chain/wallet/operator.js';
import type { TxReceipt } from '../../../src/chain/wallet/transaction.js';
import { ManualClock } from '../../system/manual-clock.js';
import { recordingGasAccount } from '../recording-gas-account.js';

const revert = encodeErrorResult({ abi: contractErrorsAbi, errorName: 'Pool__ZeroSize' });
const mined: TxReceipt = {
  txHash: '0x01',
  blockNumber: 7,
  blockHash: '0x07',
  gasUsed: 21_000n,
  feeWei: 21_000n,
  succeeded: true,
};
const request = { to: '0x02', data: '0x' } as const;

function operator(
  send: () => Promise<TxReceipt>,
  call: () => Promise<CallResult> = () => Promise.reject(new Error('not asked')),
) {
  const seen: TxReceipt[] = [];
  const clock = new ManualClock();
  const wallet = { address: '0x03' as const, send };
  return { seen, clock, operator: new Operator(wallet, { call }, (receipt) => seen.push(receipt), clock, 90_000) };
}

t.test('what is mined is done, and made known', async (t) => {
  const { seen, operator: it } = operator(() => Promise.resolve(mined));
  t.strictSame(await it.send(request, recordingGasAccount()).outcome, { type: 'DONE', receipt: mined });
  t.strictSame(seen, [mined]);
});

t.test('what would revert is named, and was never sent', async (t) => {
  const { seen, operator: it } = operator(() => Promise.reject(new WouldRevert(revert)));
  t.strictSame(await it.send(request, recordingGasAccount()).outcome, {
    type: 'REVERTED',
    name: 'Pool__ZeroSize',
    reason: 'Pool__ZeroSize',
  });
  t.strictSame(seen, []);
});

t.test('what was mined and reverted is asked for its reason at that block', async (t) => {
  const failed = () => Promise.resolve({ ...mined, succeeded: false });
  const asked: unknown[] = [];
  const call = (...args: unknown[]) => {
    asked.push(args);
    return Promise.resolve({ reverted: true, data: revert });
  };
  const { seen, operator: it } = operator(failed, call);
  t.match(await it.send(request, recordingGasAccount()).outcome, { type: 'REVERTED', name: 'Pool__ZeroSize' });
  t.strictSame(asked, [[request, 7, '0x03']]);
  t.equal(seen.length, 1);
});

t.test('a reason that is gone or cannot be asked for leaves the bare fact', async (t) => {
  const failed = () => Promise.resolve({ ...mined, succeeded: false });
  const fact = { type: 'REVERTED', name: null, reason: 'The transaction 0x01 reverted' };
  const fine = operator(failed, () => Promise.resolve({ reverted: false, data: '0x' }));
  t.strictSame(await fine.operator.send(request, recordingGasAccount()).outcome, fact);
  const down = operator(failed, () => Promise.reject(new RpcUnreachable('x')));
  t.strictSame(await down.operator.send(request, recordingGasAccount()).outcome, fact);
});

t.test('a wallet or chain that cannot says so', async (t) => {
  const cases: [Error, string][] = [
    [new InsufficientFunds('0x03'), 'The wallet 0x03 has no money for gas'],
    [new WalletBusy('Too many transactions wait'), 'Too many transactions wait'],
    [new WalletStopped('The service is stopping'), 'The service is stopping'],
    [new TxRefused('The node would not take it'), 'The node would not take it'],
    [new IntentNotPersisted(new Error('no space left')), 'The transaction could not be written down'],
    [new RpcUnreachable('No endpoint'), 'The chain does not answer'],
  ];
  for (const [error, reason] of cases) {
    t.strictSame(await operator(() => Promise.reject(error)).operator.send(request, recordingGasAccount()).outcome, {
      type: 'FAILED',
      reason,
    });
  }
});

t.test('nobody waits for a transaction for ever', async (t) => {
  const { clock, operator: it } = operator(() => new Promise(() => undefined));
  const { outcome } = it.send(request, recordingGasAccount());
  clock.advance(90_000);
  t.equal(await outcome, 'TOO_LONG');
});

t.test('what takes too long has an end all the same', async (t) => {
  let mine: (receipt: TxReceipt) => void = () => undefined;
  const { clock, operator: it } = operator(() => new Promise((resolve) => (mine = resolve)));
  const { outcome, end } = it.send(request, recordingGasAccount());
  clock.advance(90_000);
  await outcome;
  mine(mined);
  t.strictSame(await end, { type: 'DONE', receipt: mined });
});

t.test('a wallet that stops ends what takes too long', async (t) => {
  let stop: (error: Error) => void = () => undefined;
  const { clock, operator: it } = operator(() => new Promise((_, reject) => (stop = reject)));
  const { outcome, end } = it.send(request, recordingGasAccount());
  clock.advance(90_000);
  await outcome;
  stop(new WalletStopped('The service is stopping'));
  t.strictSame(await end, { type: 'FAILED', reason: 'The service is stopping' });
});

t.test('who asks now has as much patience as who sends', async (t) => {
  const { clock, operator: it } = operator(() => Promise.resolve(mined));
  const waited = it.deadline().wait(new Promise(() => undefined));
  clock.advance(90_000);
  t.equal(await waited, 'TOO_LONG');
});

t.test('a bug is not hidden', async (t) => {
  const bug = new TypeError('bug');
  await t.rejects(operator(() => Promise.reject(bug)).operator.send(request, recordingGasAccount()).outcome, bug);
});

t.test("charges the payer: nothing for an unsent transaction, the receipt's gas for a mined one", async (t) => {
  const cases: [() => Promise<TxReceipt>, (bigint | null)[]][] = [
    [() => Promise.resolve(mined), [21_000n]],
    [() => Promise.resolve({ ...mined, succeeded: false }), [21_000n]],
    [() => Promise.reject(new WouldRevert(revert)), []],
    [() => Promise.reject(new InsufficientFunds('0x03')), []],
    [() => Promise.reject(new WalletStopped('The service is stopping')), [null]],
  ];
  for (const [send, used] of cases) {
    const gasAccount = recordingGasAccount();
    await operator(send, () => Promise.resolve({ reverted: false, data: '0x' })).operator.send(request, gasAccount)
      .outcome;
    t.strictSame([gasAccount.used, gasAccount.cappedMs], [used, []]);
  }
});

t.test('what may still be mined is charged once, as it was taken', async (t) => {
  let mine: (receipt: TxReceipt) => void = () => undefined;
  const { seen, clock, operator: it } = operator(() => new Promise((resolve) => (mine = resolve)));
  const gasAccount = recordingGasAccount();
  const { outcome, end } = it.send(request, gasAccount);
  clock.advance(90_000);
  await outcome;
  mine(mined);
  await end;
  t.strictSame([seen, gasAccount.used], [[mined], [null]]);
});

t.test('reports a reached cap with the time until it ends', async (t) => {
  const gasAccount = recordingGasAccount();
  const { operator: it } = operator(() => Promise.reject(new SpendCapReached('0x03', 5_000)));
  const reason = 'The wallet 0x03 has spent what it may in a day';
  t.strictSame(await it.send(request, gasAccount).outcome, { type: 'FAILED', reason });
  t.strictSame([gasAccount.used, gasAccount.cappedMs], [[], [5_000]]);
});
