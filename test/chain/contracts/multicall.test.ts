import fc from 'fast-check';
import t from 'tap';
import { decodeFunctionData, encodeFunctionResult } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { multicall3Abi } from '../../../src/chain/contracts/abi.js';
import { type CallOne, decodeAggregate3, Multicall } from '../../../src/chain/contracts/multicall.js';
import { RETURN_TOO_LONG, RpcError } from '../../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address } from '../../engine/samples.js';

const MULTICALL3 = address(0x3);
const GAS = 5_000;
const LIMITS = { callsPerBatch: 4, batchesInFlight: 2, gasPerCall: GAS, gasPerCheck: GAS };

/** Calldata that makes the contract do something; it returns any other as it came. */
const REVERTS: Hex = '0xdead';
/** Takes the gas of those after it in its batch, which fail without a word. */
const EATS: Hex = '0xea';
/** Returns more than is read. */
const FLOODS: Hex = '0xf1';
/** Takes all the gas there is: its batch fails as a whole. */
const BURNS: Hex = '0xb0';

const callsOf = (...data: readonly Hex[]): ContractCall[] => data.map((each) => ({ to: address(1), data: each }));
const given = (data: Hex): CallResult => ({ reverted: false, data });
const BROKEN: CallResult = { reverted: true, data: '0x' };

/** A chain with Multicall3 (or without), and what it was asked: the calls of each request, and the request's gas. */
function opened(multicall3: Hex | null = MULTICALL3) {
  const asked: [calls: readonly Hex[], gas: number | undefined][] = [];
  const askOne: CallOne = ({ to, data }, _at, { gas }) => {
    if (to !== MULTICALL3) {
      asked.push([[data], gas]);
      if (data === BURNS) return Promise.reject(new RpcError(-32000, 'out of gas', null));
      return Promise.resolve(data === REVERTS ? { reverted: true, data } : given(data));
    }
    const [calls = []] = decodeFunctionData({ abi: multicall3Abi, data }).args;
    const datas = calls.map(({ callData }) => callData);
    asked.push([datas, gas]);
    if (datas.includes(FLOODS)) return Promise.reject(new RpcError(-32000, RETURN_TOO_LONG, null));
    if (datas.includes(BURNS)) return Promise.resolve(BROKEN);
    const eaten = datas.includes(EATS) ? datas.indexOf(EATS) : Infinity;
    const result = datas.map((returnData, i) => {
      if (i > eaten) return { success: false, returnData: '0x' as const };
      return { success: returnData !== REVERTS, returnData };
    });
    return Promise.resolve(given(encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result })));
  };
  return { multicall: new Multicall(askOne, multicall3, LIMITS), asked };
}

t.test('answers stand in the order of the calls, and so many calls go in one request', async (t) => {
  const { multicall, asked } = opened();
  const data: Hex[] = ['0x01', '0x0203', `0x${'04'.repeat(32)}`, REVERTS, '0x05', `0x${'06'.repeat(33)}`];
  t.strictSame(
    await multicall.ask(callsOf(...data), undefined),
    data.map((each) => ({ reverted: each === REVERTS, data: each })),
  );
  t.strictSame(asked, [
    [data.slice(0, 4), undefined],
    [data.slice(4), undefined],
  ]);
  t.strictSame(await multicall.ask([], undefined), []);
});

t.test('what fails without a word is asked again alone, with gas of its own, and what says why is not', async (t) => {
  const { multicall, asked } = opened();
  t.strictSame(await multicall.ask(callsOf(REVERTS, EATS, '0x01', '0x02'), undefined), [
    { reverted: true, data: REVERTS },
    given(EATS),
    given('0x01'),
    given('0x02'),
  ]);
  t.strictSame(asked.slice(1), [
    [['0x01'], GAS],
    [['0x02'], GAS],
  ]);
});

t.test('a call that takes all the gas fails alone, whatever it is asked with', async (t) => {
  const { multicall } = opened();
  t.strictSame(await multicall.ask(callsOf('0x01', BURNS, '0x02'), undefined), [given('0x01'), BROKEN, given('0x02')]);
  t.strictSame(await multicall.ask(callsOf(BURNS), undefined), [BROKEN]);
});

t.test('without Multicall3 each call is its own request, and code that breaks is an answer', async (t) => {
  const { multicall, asked } = opened(null);
  t.strictSame(await multicall.ask(callsOf('0x01', BURNS, REVERTS), undefined), [
    given('0x01'),
    BROKEN,
    { reverted: true, data: REVERTS },
  ]);
  t.strictSame(asked, [
    [['0x01'], GAS],
    [[BURNS], GAS],
    [[REVERTS], GAS],
  ]);
});

t.test(
  'a node that fails has not answered, and where there is no Multicall3 nothing is known of any call',
  async (t) => {
    const failure = new RpcError(-32000, 'header not found', null);
    const failing = new Multicall(() => Promise.reject(failure), MULTICALL3, LIMITS);
    await t.rejects(failing.ask(callsOf('0x01'), undefined), failure);
    const missing = new Multicall(() => Promise.resolve(given('0x')), MULTICALL3, LIMITS);
    await t.rejects(
      missing.ask(callsOf('0x01'), undefined),
      new ChainAnswerError(`There is no Multicall3 at ${MULTICALL3}`),
    );
  },
);

t.test('a contract that returns more than is read is asked once, and breaks no call of another', async (t) => {
  const { multicall, asked } = opened();
  t.strictSame(await multicall.ask(callsOf('0x01', FLOODS, '0x02'), undefined), [BROKEN, BROKEN, BROKEN]);
  t.equal(asked.length, 1);
  const mixed = [...callsOf('0x01', FLOODS), { to: address(2), data: '0x02' } as const];
  t.match(await multicall.ask(mixed, undefined), [{}, { reverted: true }, given('0x02')]);
});

const bytes = fc.uint8Array({ maxLength: 100 }).map((all): Hex => `0x${Buffer.from(all).toString('hex')}`);
const results = fc.array(fc.record({ success: fc.boolean(), returnData: bytes }), { maxLength: 20 });
const encode = (result: readonly { success: boolean; returnData: Hex }[]): Hex =>
  encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result });

t.test('what viem encodes is read as it was', async (t) => {
  fc.assert(
    fc.property(results, (result) => {
      t.strictSame(
        decodeAggregate3(encode(result)),
        result.map(({ success, returnData }) => ({ reverted: !success, data: returnData })),
      );
    }),
  );
});

t.test('an answer that was cut short is no answer', async (t) => {
  const whole = encode([
    { success: true, returnData: `0x${'ab'.repeat(40)}` },
    { success: false, returnData: '0x' },
  ]);
  // The last item has no bytes, and its length is the last word; the end of the first one's is within the answer still.
  for (let end = 2; end < whole.length; end += 2) {
    t.throws(() => decodeAggregate3(whole.slice(0, end) as Hex), ChainAnswerError, `of ${end} digits`);
  }
});

t.test('counts and offsets beyond the answer are refused, not followed', async (t) => {
  const huge = 'f'.repeat(64);
  const word = (n: number): string => n.toString(16).padStart(64, '0');
  for (const words of [
    [huge],
    [word(32), huge],
    [word(32), word(1000)],
    [word(32), word(1), huge],
    [word(32), word(1), word(32), word(1), huge],
    [word(32), word(1), word(32), word(1), word(64), huge],
  ]) {
    t.throws(() => decodeAggregate3(`0x${words.join('')}`), ChainAnswerError);
  }
});

t.test('what is not hex is refused', async (t) => {
  for (const data of ['0x0', '0xzz', 'ab']) t.throws(() => decodeAggregate3(data as Hex), ChainAnswerError);
});
