import t from 'tap';
import type { CallResult } from '../../../src/chain/contracts/abi-encoding.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { TxOutcome } from '../../../src/chain/wallet/operator.js';
import { recordingGasAccount } from '../recording-gas-account.js';
import { type Holdings, IMPOSSIBLE, MATURITY, opened, option } from './held-positions.js';
import { settled, untilTold } from './patient-operator.js';

t.test('writers settle, holders exercise, and who is both gives up the pairs first', async (t) => {
  const holdings: Holdings = new Map([
    [1n, { shorts: 5n, longs: 0n }],
    [2n, { shorts: 0n, longs: 5n }],
    [3n, { shorts: 5n, longs: 5n }],
    [4n, { shorts: 7n, longs: 5n }],
    [5n, { shorts: 5n, longs: 7n }],
  ]);
  const { sent, settler } = opened({ holdings });
  t.strictSame(
    await settler.settle(
      [...holdings.keys()].map((strike) => option(strike)),
      recordingGasAccount(),
    ),
    {
      type: 'ANSWERED',
      items: Array.from({ length: 5 }, () => ({ type: 'SETTLED' })),
    },
  );
  t.strictSame(sent.sort(), [
    'annihilate(5) of 3',
    'annihilate(5) of 4',
    'annihilate(5) of 5',
    'exercise() of 2',
    'exercise() of 5',
    'settle() of 1',
    'settle() of 4',
  ]);
});

t.test('one position is settled once, however many ask for it in one request and at the same time', async (t) => {
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]) });
  const answers = await Promise.all([
    settler.settle([option(1n), option(1n)], recordingGasAccount()),
    settler.settle([option(1n)], recordingGasAccount()),
  ]);
  const gone = { type: 'FAILED', reason: 'No balance to settle' };
  t.strictSame(answers, [
    { type: 'ANSWERED', items: [{ type: 'SETTLED' }, gone] },
    { type: 'ANSWERED', items: [gone] },
  ]);
  t.strictSame(sent, ['settle() of 1']);
});

t.test('of many positions a few are under way at once, and each that ends makes room for one', async (t) => {
  const holdings: Holdings = new Map(Array.from({ length: 10 }, (_, i) => [BigInt(i + 1), { shorts: 1n, longs: 0n }]));
  const { ends, send } = untilTold<null>();
  const { settler } = opened({ holdings, refuse: send });
  const answer = settler.settle(
    [...holdings.keys()].map((strike) => option(strike)),
    recordingGasAccount(),
  );
  for (let ended = 0; ended < holdings.size; ended++) {
    await settled();
    t.equal(ends.length, Math.min(ended + 4, holdings.size));
    ends[ended]?.(null);
  }
  t.match(await answer, { items: Array.from({ length: holdings.size }, () => ({ type: 'SETTLED' })) });
});

t.test('distinguishes options that cannot be settled, and sends nothing for them', async (t) => {
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 0n, longs: 0n }]]) });
  const options = [option(1n), option(2n), option(IMPOSSIBLE), option(1n, '06DEC30'), option(1n, '31FEB27')];
  const reasons = [
    'No balance to settle',
    'Pool is not deployed',
    'Pool is not deployed',
    'Option has not expired',
    'Invalid expiration date: 31FEB27',
  ];
  t.strictSame(await settler.settle(options, recordingGasAccount()), {
    type: 'ANSWERED',
    items: reasons.map((reason) => ({ type: 'FAILED', reason })),
  });
  t.strictSame(sent, []);
});

t.test(
  'a revert fails its position by name; that the chain thinks it is early is no other reason than ours',
  async (t) => {
    const refuse = (call: string): TxOutcome => {
      const name = call.endsWith('1') ? 'Pool__OptionNotExpired' : 'ERC1155Base__BurnExceedsBalance';
      return { type: 'REVERTED', name, reason: name };
    };
    const held = { shorts: 1n, longs: 0n };
    const { settler } = opened({
      holdings: new Map([
        [1n, held],
        [2n, held],
      ]),
      refuse,
    });
    t.match(await settler.settle([option(1n), option(2n)], recordingGasAccount()), {
      items: [{ reason: 'Option has not expired' }, { reason: 'ERC1155Base__BurnExceedsBalance' }],
    });
  },
);

t.test('a chain that falls silent half-way fails what it kept from being settled, and nothing else', async (t) => {
  const holdings: Holdings = new Map([1n, 2n, 3n].map((strike) => [strike, { shorts: 1n, longs: 0n }]));
  let readings = 0;
  const readBalance = (strike: bigint): null => {
    // Its shorts and longs were read before the first transaction.
    if (strike === 2n && ++readings > 2) throw new RpcUnreachable('gone');
    return null;
  };
  const { settler } = opened({ holdings, readBalance });
  t.strictSame(await settler.settle([option(1n), option(2n), option(3n)], recordingGasAccount()), {
    type: 'ANSWERED',
    items: [{ type: 'SETTLED' }, { type: 'FAILED', reason: 'The chain does not answer' }, { type: 'SETTLED' }],
  });
});

t.test('a chain that is silent from the start settles nothing, and nothing is paid', async (t) => {
  const readBalance = (): never => {
    throw new RpcUnreachable('gone');
  };
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), readBalance });
  const gasAccount = recordingGasAccount();
  t.strictSame(await settler.settle([option(1n)], gasAccount), { type: 'CHAIN_UNREACHABLE' });
  t.strictSame([gasAccount.taken, sent], [[], []]);
});

t.test('a pool that tells no balance fails alone, and takes no gas', async (t) => {
  const holdings: Holdings = new Map([1n, 2n].map((strike) => [strike, { shorts: 1n, longs: 0n }]));
  const readBalance = (strike: bigint): CallResult | null => (strike === 1n ? { reverted: true, data: '0x' } : null);
  const { sent, settler } = opened({ holdings, readBalance });
  const gasAccount = recordingGasAccount();
  t.strictSame(await settler.settle([option(1n), option(2n)], gasAccount), {
    type: 'ANSWERED',
    items: [{ type: 'FAILED', reason: 'The chain refuses: The pool tells no balances' }, { type: 'SETTLED' }],
  });
  t.strictSame([gasAccount.taken, sent], [[2], ['settle() of 2']]);
});

t.test('a pool that tells one of the two balances tells nothing', async (t) => {
  for (const untold of [0, 1]) {
    let asked = 0;
    const readBalance = (): CallResult | null => (asked++ % 2 === untold ? { reverted: true, data: '0x' } : null);
    const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 1n }]]), readBalance });
    t.match(await settler.settle([option(1n)], recordingGasAccount()), {
      items: [{ type: 'FAILED', reason: 'The chain refuses: The pool tells no balances' }],
    });
    t.strictSame(sent, []);
  }
});

t.test('a pool that tells no balance when its turn has come is sent nothing', async (t) => {
  let readings = 0;
  const readBalance = (): CallResult | null => (++readings > 2 ? { reverted: true, data: '0x' } : null);
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), readBalance });
  t.match(await settler.settle([option(1n)], recordingGasAccount()), {
    items: [{ type: 'FAILED', reason: 'The chain refuses: The pool tells no balances' }],
  });
  t.strictSame(sent, []);
});

t.test('a bug is no answer of the chain', async (t) => {
  const bug = new Error('a bug');
  const readBalance = (): never => {
    throw bug;
  };
  const { settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), readBalance });
  await t.rejects(settler.settle([option(1n)], recordingGasAccount()), bug);
});

t.test('while the chain has not been read nobody knows what has expired', async (t) => {
  const { settler } = opened({ holdings: new Map(), now: null });
  t.strictSame(await settler.settle([option(1n)], recordingGasAccount()), { type: 'CHAIN_UNREACHABLE' });
});

t.test('an option expires at its very second', async (t) => {
  const early = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), now: MATURITY - 1 });
  t.match(await early.settler.settle([option(1n)], recordingGasAccount()), {
    items: [{ reason: 'Option has not expired' }],
  });
});

const REFUSAL = { type: 'OVER_BUDGET', retryAfterMs: 1 } as const;

t.test('gas is asked for before anything is sent: for two transactions of each pool that holds anything', async (t) => {
  const holdings: Holdings = new Map([
    [1n, { shorts: 1n, longs: 0n }],
    [2n, { shorts: 0n, longs: 1n }],
    [3n, { shorts: 0n, longs: 0n }],
  ]);
  const { sent, settler } = opened({ holdings });
  const gasAccount = recordingGasAccount(REFUSAL);
  const options = [1n, 2n, 1n, 3n, 4n, IMPOSSIBLE].map((strike) => option(strike));
  t.strictSame(await settler.settle([...options, option(1n, '06DEC30')], gasAccount), REFUSAL);
  t.strictSame([gasAccount.taken, sent], [[4], []]);
});

t.test('however many pools are asked for in which nothing is held, they take no gas, and no refusal', async (t) => {
  const strikes = Array.from({ length: 90 }, (_, i) => BigInt(i) + 1n);
  const { settler } = opened({ holdings: new Map(strikes.map((strike) => [strike, { shorts: 0n, longs: 0n }])) });
  const gasAccount = recordingGasAccount(REFUSAL);
  t.strictSame(
    await settler.settle(
      strikes.map((strike) => option(strike)),
      gasAccount,
    ),
    { type: 'ANSWERED', items: strikes.map(() => ({ type: 'FAILED', reason: 'No balance to settle' })) },
  );
  t.strictSame(gasAccount.taken, [0]);
});

t.test('what comes into a pool after its gas was counted is left for the next request', async (t) => {
  const position = { shorts: 0n, longs: 0n };
  const holdings: Holdings = new Map([
    [1n, position],
    [2n, { shorts: 1n, longs: 0n }],
  ]);
  const { sent, settler } = opened({ holdings });
  const gasAccount = recordingGasAccount();
  const take = gasAccount.take.bind(gasAccount);
  const late = {
    ...gasAccount,
    take(transactions: number) {
      position.longs = 5n;
      return take(transactions);
    },
  };
  t.match(await settler.settle([option(1n), option(2n)], late), {
    items: [{ reason: 'No balance to settle' }, { type: 'SETTLED' }],
  });
  t.strictSame([gasAccount.taken, sent], [[2], ['settle() of 2']]);
});
