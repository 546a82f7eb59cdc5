import t from 'tap';
import { canonicalText } from './canonical-text.js';

t.test('equal values have one text, whatever the order of their fields', (t) => {
  const one = { price: 1n, sides: [{ isBuy: true, taker: null }], text: 'a"b' };
  const other = { text: 'a"b', sides: [{ taker: null, isBuy: true }], price: 1n };
  t.equal(canonicalText(one), canonicalText(other));
  t.equal(canonicalText(one), '{"price":1n,"sides":[{"isBuy":true,"taker":null}],"text":"a\\"b"}');
  t.end();
});

t.test('values that differ have different texts', (t) => {
  const values = [1, 1n, '1', '1n', null, 'null', [], {}, [1], [[1]], { a: 1 }, { a: 1n }, { b: 1 }, { a: undefined }];
  t.equal(new Set(values.map(canonicalText)).size, values.length);
  t.end();
});
