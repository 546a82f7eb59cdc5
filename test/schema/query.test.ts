import fc from 'fast-check';
import t from 'tap';
import { parseQuery } from '../../src/schema/query.js';

const plain = (query: object): Record<string, unknown> => ({ ...query });

t.test('reads names and values', async (t) => {
  t.strictSame(plain(parseQuery('side=ask&size=10')), { side: 'ask', size: '10' });
  t.strictSame(plain(parseQuery('')), {});
});

t.test('skips stray ampersands', async (t) => {
  t.strictSame(plain(parseQuery('&side=ask&&size=10&')), { side: 'ask', size: '10' });
  t.strictSame(plain(parseQuery('&&')), {});
});

t.test('lists are repeated names, with or without brackets, encoded or not', async (t) => {
  const expected = { quoteIds: ['a', 'b'] };
  for (const text of ['quoteIds=a&quoteIds=b', 'quoteIds[]=a&quoteIds[]=b', 'quoteIds%5B%5D=a&quoteIds%5b%5d=b']) {
    t.strictSame(plain(parseQuery(text, ['quoteIds'])), expected, text);
  }
  t.strictSame(plain(parseQuery('quoteIds=a', ['quoteIds'])), { quoteIds: ['a'] });
});

t.test('a name that repeats without being a list becomes one, for its schema to refuse', async (t) => {
  t.strictSame(plain(parseQuery('side=ask&side=bid&side=ask')), { side: ['ask', 'bid', 'ask'] });
});

t.test('names of Object.prototype are names like any other', async (t) => {
  const query = parseQuery('__proto__=a&toString=b&constructor=c');
  t.strictSame(Object.keys(query), ['__proto__', 'toString', 'constructor']);
  t.equal(Object.getPrototypeOf(query), null);
});

t.test('never throws, whatever is written', async (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webQueryParameters()), (text) => {
      parseQuery(text, ['quoteIds']);
    }),
  );
  t.pass('every time');
});
