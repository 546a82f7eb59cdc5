import t from 'tap';
import { decodeFunctionData, numberToHex } from 'viem';
import { optionTokenAbi } from '../../src/chain/abi/option-token.js';
import { poolAbi } from '../../src/chain/abi/pool.js';
import type { CallResult, ContractCall } from '../../src/chain/chain-reader.js';
import { arbitrum } from '../../src/chain/deployments.js';
import { RpcUnreachable } from '../../src/chain/http-rpc.js';
import type { TxOutcome } from '../../src/chain/operator.js';
import { OptionSeries } from '../../src/chain/option-series.js';
import { Settler } from '../../src/chain/settler.js';
import type { Hex } from '../../src/engine/quote.js';
import type { OptionTerms } from '../../src/schema/option-json.js';
import { addressOfStrike, answerAsFactory } from './factory-answers.js';
import { notingPayer } from './noting-payer.js';

const MATURITY = Date.UTC(2030, 10, 29, 8) / 1000;
const IMPOSSIBLE = 99n;
const factory = arbitrum.contracts.poolFactory.address;

/** Shorts and longs that the operator holds, by strike; every strike here is deployed. */
type Holdings = Map<bigint, { shorts: bigint; longs: bigint }>;

function option(strike: bigint, expiration = '29NOV30'): OptionTerms {
  return { base: 'WETH', quote: 'USDC', expiration, strike, type: 'C' };
}

interface Fakes {
  readonly holdings: Holdings;
  /** Null: it works, and closes the position. */
  readonly refuse?: (call: string) => TxOutcome | null;
  /** Hears of each balance that is read; null: the pool tells it. */
  readonly readBalance?: (strike: bigint) => CallResult | null;
  readonly now?: number | null;
}

/** Pools that do what they are told, slowly enough that requests meet. */
function opened({ holdings, refuse = () => null, readBalance = () => null, now = MATURITY }: Fakes) {
  const sent: string[] = [];
  const holdingAt = (address: Hex) => {
    const found = [...holdings].find(([strike]) => addressOfStrike(strike) === address);
    if (found === undefined) throw new Error(`nobody asked for ${address}`);
    return { strike: found[0], position: found[1] };
  };
  const answer = (call: ContractCall): CallResult => {
    if (call.to === factory) return answerAsFactory(call, [...holdings.keys()], IMPOSSIBLE);
    const { strike, position } = holdingAt(call.to);
    const fault = readBalance(strike);
    if (fault !== null) return fault;
    const { args } = decodeFunctionData({ abi: optionTokenAbi, data: call.data });
    const balance = args[1] === 0n ? position.shorts : position.longs;
    return { reverted: false, data: numberToHex(balance, { size: 32 }) };
  };
  const settler = new Settler(
    {
      address: '0x0000000000000000000000000000000000000001',
      async send({ to, data }) {
        await new Promise((resolve) => setImmediate(resolve));
        const { functionName, args } = decodeFunctionData({ abi: poolAbi, data });
        const { strike, position } = holdingAt(to);
        const call = `${functionName}(${functionName === 'annihilate' ? args[0] : ''}) of ${strike}`;
        sent.push(call);
        const refusal = refuse(call);
        if (refusal !== null) return refusal;
        const both = position.shorts < position.longs ? position.shorts : position.longs;
        if (functionName === 'annihilate') position.shorts -= both;
        if (functionName === 'annihilate') position.longs -= both;
        if (functionName === 'settle') position.shorts = 0n;
        if (functionName === 'exercise') position.longs = 0n;
        return { type: 'DONE' };
      },
    },
    { multicall: (calls) => Promise.resolve().then(() => calls.map(answer)) },
    factory,
    new OptionSeries(arbitrum),
    () => now,
    4,
  );
  return { sent, settler };
}

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
      notingPayer(),
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
    settler.settle([option(1n), option(1n)], notingPayer()),
    settler.settle([option(1n)], notingPayer()),
  ]);
  const gone = { type: 'FAILED', reason: 'No balance to settle' };
  t.strictSame(answers, [
    { type: 'ANSWERED', items: [{ type: 'SETTLED' }, gone] },
    { type: 'ANSWERED', items: [gone] },
  ]);
  t.strictSame(sent, ['settle() of 1']);
});

t.test('what cannot be settled is told apart, and asks for no transaction', async (t) => {
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 0n, longs: 0n }]]) });
  const options = [option(1n), option(2n), option(IMPOSSIBLE), option(1n, '06DEC30'), option(1n, '31FEB27')];
  const reasons = [
    'No balance to settle',
    'Pool is not deployed',
    'Pool is not deployed',
    'Option has not expired',
    'Invalid expiration date: 31FEB27',
  ];
  t.strictSame(await settler.settle(options, notingPayer()), {
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
    t.match(await settler.settle([option(1n), option(2n)], notingPayer()), {
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
  t.strictSame(await settler.settle([option(1n), option(2n), option(3n)], notingPayer()), {
    type: 'ANSWERED',
    items: [{ type: 'SETTLED' }, { type: 'FAILED', reason: 'The chain does not answer' }, { type: 'SETTLED' }],
  });
});

t.test('a chain that is silent from the start settles nothing, and nothing is paid', async (t) => {
  const readBalance = (): never => {
    throw new RpcUnreachable('gone');
  };
  const { sent, settler } = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), readBalance });
  const payer = notingPayer();
  t.strictSame(await settler.settle([option(1n)], payer), { type: 'CHAIN_UNREACHABLE' });
  t.strictSame([payer.taken, sent], [[], []]);
});

t.test('a pool that tells no balance fails alone, and takes no gas', async (t) => {
  const holdings: Holdings = new Map([1n, 2n].map((strike) => [strike, { shorts: 1n, longs: 0n }]));
  const readBalance = (strike: bigint): CallResult | null => (strike === 1n ? { reverted: true, data: '0x' } : null);
  const { sent, settler } = opened({ holdings, readBalance });
  const payer = notingPayer();
  t.strictSame(await settler.settle([option(1n), option(2n)], payer), {
    type: 'ANSWERED',
    items: [{ type: 'FAILED', reason: 'The chain refuses: The pool tells no balances' }, { type: 'SETTLED' }],
  });
  t.strictSame([payer.taken, sent], [[2], ['settle() of 2']]);
});

t.test('while the chain has not been read nobody knows what has expired', async (t) => {
  const { settler } = opened({ holdings: new Map(), now: null });
  t.strictSame(await settler.settle([option(1n)], notingPayer()), { type: 'CHAIN_UNREACHABLE' });
});

t.test('an option expires at its very second', async (t) => {
  const early = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), now: MATURITY - 1 });
  t.match(await early.settler.settle([option(1n)], notingPayer()), { items: [{ reason: 'Option has not expired' }] });
});

const REFUSAL = { type: 'OVER_BUDGET', retryAfterMs: 1 } as const;

t.test('gas is asked for before anything is sent: for two transactions of each pool that holds anything', async (t) => {
  const holdings: Holdings = new Map([
    [1n, { shorts: 1n, longs: 0n }],
    [2n, { shorts: 0n, longs: 1n }],
    [3n, { shorts: 0n, longs: 0n }],
  ]);
  const { sent, settler } = opened({ holdings });
  const payer = notingPayer(REFUSAL);
  const options = [1n, 2n, 1n, 3n, 4n, IMPOSSIBLE].map((strike) => option(strike));
  t.strictSame(await settler.settle([...options, option(1n, '06DEC30')], payer), REFUSAL);
  t.strictSame([payer.taken, sent], [[4], []]);
});

t.test('however many pools are asked for in which nothing is held, they take no gas, and no refusal', async (t) => {
  const strikes = Array.from({ length: 90 }, (_, i) => BigInt(i) + 1n);
  const { settler } = opened({ holdings: new Map(strikes.map((strike) => [strike, { shorts: 0n, longs: 0n }])) });
  const payer = notingPayer(REFUSAL);
  t.strictSame(
    await settler.settle(
      strikes.map((strike) => option(strike)),
      payer,
    ),
    { type: 'ANSWERED', items: strikes.map(() => ({ type: 'FAILED', reason: 'No balance to settle' })) },
  );
  t.strictSame(payer.taken, [0]);
});

t.test('what comes into a pool after its gas was counted is left for the next request', async (t) => {
  const position = { shorts: 0n, longs: 0n };
  const holdings: Holdings = new Map([
    [1n, position],
    [2n, { shorts: 1n, longs: 0n }],
  ]);
  const { sent, settler } = opened({ holdings });
  const payer = notingPayer();
  const take = payer.take.bind(payer);
  const late = {
    ...payer,
    take(transactions: number) {
      position.longs = 5n;
      return take(transactions);
    },
  };
  t.match(await settler.settle([option(1n), option(2n)], late), {
    items: [{ reason: 'No balance to settle' }, { type: 'SETTLED' }],
  });
  t.strictSame([payer.taken, sent], [[2], ['settle() of 2']]);
});
