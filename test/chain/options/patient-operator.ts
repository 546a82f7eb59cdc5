import { setImmediate as turn } from 'node:timers/promises';
import type { Operator, TxOutcome } from '../../../src/chain/wallet/operator.js';
import type { TxRequest } from '../../../src/chain/wallet/transaction.js';
import { Deadline } from '../../../src/system/timers.js';
import type { ManualClock } from '../../system/manual-clock.js';

export const PATIENCE_MS = 90_000;

/** A transaction that succeeded. */
export const MINED: TxOutcome = {
  type: 'DONE',
  receipt: { txHash: `0x${'0a'.repeat(32)}`, blockNumber: 1, blockHash: `0x${'0b'.repeat(32)}` },
};

/** An operator whose transactions end as `send` says, for callers whose deadline follows the clock. Charges nobody. */
export function patientOperator(
  clock: ManualClock,
  send: (request: TxRequest) => Promise<TxOutcome>,
): Pick<Operator, 'address' | 'send' | 'deadline'> {
  const deadline = (): Deadline => new Deadline(clock, PATIENCE_MS);
  return {
    address: '0x0000000000000000000000000000000000000001',
    deadline,
    send(request) {
      const end = send(request);
      return { outcome: deadline().wait(end), end };
    },
  };
}

/** Transactions that end as and when a test says so: `ends` is in the order of sending. */
export function untilTold<T>() {
  const ends: ((outcome: T) => void)[] = [];
  return { ends, send: () => new Promise<T>((resolve) => ends.push(resolve)) };
}

/** Everything that waits for no clock and for no transaction has been done. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await turn();
}
