import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { WalletBalance } from '../../src/chain/wallet-balance.js';
import { address } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

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

t.test('without an answer, or with one that is none, it stays what it was', async (t) => {
  const { clock, head } = balanceOver('0x5', new Error('no answer'), '0x', null, '0x3');
  t.equal(await head(), 5n);
  for (let look = 0; look < 3; look++) {
    clock.advance(1_000);
    t.equal(await head(), 5n);
  }
  clock.advance(1_000);
  t.equal(await head(), 3n);
});
