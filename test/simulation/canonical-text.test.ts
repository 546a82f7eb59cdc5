import t from 'tap';
import { publishedQuote } from '../../src/chain/contracts/quote-types.js';
import { sampleQuote } from '../engine/samples.js';
import { canonicalText } from './canonical-text.js';

t.test('equal values have one text, whatever the order of their fields', (t) => {
  const one = { price: 1n, sides: [{ isBuy: true, taker: null }], text: 'a"b' };
  const other = { text: 'a"b', sides: [{ taker: null, isBuy: true }], price: 1n };
  t.equal(canonicalText(one), canonicalText(other));
  t.equal(canonicalText(one), '{"price":1n,"sides":[{"isBuy":true,"taker":null}],"text":"a\\"b"}');
  t.end();
});

t.test('a packed quote has the text of the plain one', (t) => {
  const quote = sampleQuote({ n: 1 });
  const packed = publishedQuote(quote, quote.ts, quote.origin);
  t.equal(canonicalText({ quote: packed }), canonicalText({ quote }));
  t.end();
});

t.test('values that differ have different texts', (t) => {
  const values = [1, 1n, '1', '1n', null, 'null', [], {}, [1], [[1]], { a: 1 }, { a: 1n }, { b: 1 }, { a: undefined }];
  t.equal(new Set(values.map(canonicalText)).size, values.length);
  t.end();
});
