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
  readonly readBalance?: (strike: bigint) => void;
  readonly now?: number | null;
}

/** Pools that do what they are told, slowly enough that requests meet. */
function opened({ holdings, refuse = () => null, readBalance = () => undefined, now = MATURITY }: Fakes) {
  const sent: string[] = [];
  const holdingAt = (address: Hex) => {
    const found = [...holdings].find(([strike]) => addressOfStrike(strike) === address);
    if (found === undefined) throw new Error(`nobody asked for ${address}`);
    return { strike: found[0], position: found[1] };
  };
  const answer = (call: ContractCall): CallResult => {
    if (call.to === factory) return answerAsFactory(call, [...holdings.keys()], IMPOSSIBLE);
    const { strike, position } = holdingAt(call.to);
    readBalance(strike);
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
  const readBalance = (strike: bigint): void => {
    if (strike === 2n) throw new RpcUnreachable('gone');
  };
  const holdings: Holdings = new Map([1n, 2n, 3n].map((strike) => [strike, { shorts: 1n, longs: 0n }]));
  const { settler } = opened({ holdings, readBalance });
  t.strictSame(await settler.settle([option(1n), option(2n), option(3n)], notingPayer()), {
    type: 'ANSWERED',
    items: [{ type: 'SETTLED' }, { type: 'FAILED', reason: 'The chain does not answer' }, { type: 'SETTLED' }],
  });
});

t.test('while the chain has not been read nobody knows what has expired', async (t) => {
  const { settler } = opened({ holdings: new Map(), now: null });
  t.strictSame(await settler.settle([option(1n)], notingPayer()), { type: 'CHAIN_UNREACHABLE' });
});

t.test('an option expires at its very second', async (t) => {
  const early = opened({ holdings: new Map([[1n, { shorts: 1n, longs: 0n }]]), now: MATURITY - 1 });
  t.match(await early.settler.settle([option(1n)], notingPayer()), { items: [{ reason: 'Option has not expired' }] });
});

t.test('gas is asked for before anything is sent: for two transactions of each pool that there is', async (t) => {
  const holdings: Holdings = new Map([1n, 2n].map((strike) => [strike, { shorts: 1n, longs: 0n }]));
  const { sent, settler } = opened({ holdings });
  const refusal = { type: 'OVER_BUDGET', retryAfterMs: 1 } as const;
  const payer = notingPayer(refusal);
  const options = [option(1n), option(2n), option(1n), option(3n), option(IMPOSSIBLE), option(1n, '06DEC30')];
  t.strictSame(await settler.settle(options, payer), refusal);
  t.strictSame([payer.taken, sent], [[4], []]);
});
