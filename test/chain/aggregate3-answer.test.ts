import fc from 'fast-check';
import t from 'tap';
import { encodeFunctionResult } from 'viem';
import { multicall3Abi } from '../../src/chain/abi/multicall3.js';
import { decodeAggregate3 } from '../../src/chain/aggregate3-answer.js';
import { ChainAnswerError } from '../../src/chain/chain-answer-error.js';
import type { Hex } from '../../src/engine/quote.js';

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
