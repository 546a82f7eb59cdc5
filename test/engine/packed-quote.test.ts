import t from 'tap';
import { PackedQuote, packedWords } from '../../src/engine/packed-quote.js';
import type { Hex, Quote } from '../../src/engine/quote.js';
import { sampleQuote, txHashOf } from './samples.js';

const WORD: Hex = `0x${Array.from({ length: 32 }, (_, n) => (n * 8 + 7).toString(16).padStart(2, '0')).join('')}`;
const plain: Quote = {
  ...sampleQuote({ n: 1 }),
  signature: { r: WORD, s: `0x${'fe'.repeat(32)}`, v: 28 },
  origin: { blockNumber: 12, txHash: txHashOf(5), logIndex: 3 },
};

function packed({ signature, origin, ...terms }: Quote): PackedQuote {
  const words = packedWords(signature.r, signature.s, origin.txHash);
  return new PackedQuote({
    ...terms,
    words,
    v: signature.v,
    blockNumber: origin.blockNumber,
    logIndex: origin.logIndex,
  });
}

t.test('a packed quote says what the plain one says', async (t) => {
  const quote = packed(plain);
  const { blockNumber, txHash, logIndex } = quote.origin;
  t.strictSame(quote.signature, plain.signature);
  t.strictSame({ blockNumber, txHash, logIndex }, plain.origin);
  t.strictSame(quote.toJSON(), plain);
  const text = (value: Quote): string =>
    JSON.stringify(value, (_, field: unknown) => (typeof field === 'bigint' ? `${field}` : field));
  const { quoteId, pool, provider, taker, price, size, isBuy, deadline, salt, signature, ts, origin } = plain;
  const inOrder = { quoteId, pool, provider, taker, price, size, isBuy, deadline, salt, signature, ts, origin };
  t.equal(text(quote), text(inOrder), 'in the order in which a log is printed');
});

t.test('two packed quotes do not share their words', async (t) => {
  const [first, second] = [packed(plain), packed({ ...plain, signature: { ...plain.signature, r: txHashOf(9) } })];
  t.equal(second.signature.r, txHashOf(9));
  t.equal(first.signature.r, WORD);
  t.equal(second.origin.txHash, first.origin.txHash);
});

t.test('digits of either case are packed, and other texts are refused', async (t) => {
  const upper: Hex = `0x${WORD.slice(2).toUpperCase()}`;
  t.equal(packedWords(upper, WORD, WORD), packedWords(WORD, WORD, WORD));
  for (const wrong of ['0x', `${WORD}00`, `0x${'0g'.repeat(32)}`, `0x${'00'.repeat(31)}0g`, WORD.slice(2)] as Hex[]) {
    t.throws(() => packedWords(WORD, wrong, WORD), { name: 'RangeError' }, wrong);
  }
});
