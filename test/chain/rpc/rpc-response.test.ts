import t from 'tap';
import { ChainAnswerError, readQuantity, readWideQuantity } from '../../../src/chain/rpc/rpc-response.js';

t.test('a number of wei or gas has a word of the EVM at most', (t) => {
  t.equal(readWideQuantity('0x0'), 0n);
  t.equal(readWideQuantity(`0x${'f'.repeat(64)}`), 2n ** 256n - 1n);
  for (const wrong of ['0x', 1, null, `0x1${'0'.repeat(64)}`, `0x${'f'.repeat(1_000_000)}`])
    t.throws(() => readWideQuantity(wrong), ChainAnswerError);
  t.end();
});

t.test('a number that counts blocks or transactions is exact as a float', (t) => {
  t.equal(readQuantity('0x1fffffffffffff'), Number.MAX_SAFE_INTEGER);
  for (const wrong of ['0x', '1', null, '0x20000000000000', `0x${'f'.repeat(1_000)}`])
    t.throws(() => readQuantity(wrong), ChainAnswerError);
  t.end();
});
