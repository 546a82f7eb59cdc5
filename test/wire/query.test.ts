import fc from 'fast-check';
import t from 'tap';
import { type ParsedQuery, parseQuery } from '../../src/wire/query.js';

const read = (text: string): ParsedQuery => parseQuery(text, { lists: ['ids'], maxPairs: 20 });

function values(text: string): Record<string, unknown> | string {
  const parsed = read(text);
  return parsed.ok ? { ...parsed.value } : parsed.message;
}

t.test('reads names and values', async (t) => {
  t.strictSame(values('side=ask&size=10'), { side: 'ask', size: '10' });
});

t.test('an empty query has no values', async (t) => {
  for (const text of ['', '&', '&&&']) t.strictSame(values(text), {});
});

t.test('skips stray ampersands wherever they are', async (t) => {
  t.strictSame(values('&a=b&&c=d&'), { a: 'b', c: 'd' });
});

t.test('lists are repeated names, with or without brackets, encoded or not', async (t) => {
  for (const text of ['ids=a&ids=b', 'ids[]=a&ids[]=b', 'ids%5B%5D=a&ids%5b%5d=b', 'ids=a&x=1&ids[]=b']) {
    t.match(values(text), { ids: ['a', 'b'] }, text);
  }
});

t.test('the names of a list may have indexes, as query-string libraries write them', async (t) => {
  for (const text of ['ids[0]=a&ids[1]=b', 'ids%5B0%5D=a&ids%5B1%5D=b', 'ids[10]=a&ids[]=b', 'ids[1]=a&ids[0]=b']) {
    t.strictSame(values(text), { ids: ['a', 'b'] }, text);
  }
  t.strictSame(values('ids[0]=a'), { ids: ['a'] });
});

t.test('what else is in brackets belongs to the name', async (t) => {
  for (const name of ['ids[x]', 'ids[-1]', 'ids[0', 'ids0]', 'ids[0][1]', 'ids[0]x', 'side[0]']) {
    t.strictSame(values(`${name}=a`), { [name]: 'a' }, name);
  }
});

t.test('a list of one is a list', async (t) => {
  t.strictSame(values('ids=a'), { ids: ['a'] });
  t.strictSame(values('ids[]=a'), { ids: ['a'] });
});

t.test('a name that repeats without being a list becomes one, for its schema to refuse', async (t) => {
  t.strictSame(values('side=ask&side=bid&side=ask'), { side: ['ask', 'bid', 'ask'] });
});

t.test('brackets belong to the name of what is no list', async (t) => {
  t.strictSame(values('side[]=ask'), { 'side[]': 'ask' });
});

t.test('a name without a value has the empty string', async (t) => {
  t.strictSame(values('a&b='), { a: '', b: '' });
});

t.test('only the first = divides', async (t) => {
  t.strictSame(values('a=b=c'), { a: 'b=c' });
});

t.test('a + is a space, an encoded one a +', async (t) => {
  t.strictSame(values('a=x+y%2Bz'), { a: 'x y+z' });
});

t.test('encoded separators belong to the value', async (t) => {
  t.strictSame(values('a=1%262%3D3'), { a: '1&2=3' });
});

t.test('malformed escapes are refused, in names too', async (t) => {
  for (const text of ['a=%', 'a=%4', 'a=%zz', '%=a', 'a=%ff', 'a=%c3%28', 'ok=1&a=%u0041', 'a=%ed%a0%80']) {
    t.equal(values(text), 'The query has a malformed percent-encoding', text);
  }
});

t.test('names of Object.prototype are names like any other', async (t) => {
  const parsed = read('__proto__=1&constructor=2&toString=3&__proto__=4');
  if (!parsed.ok) throw new Error(parsed.message);
  t.equal(Object.getPrototypeOf(parsed.value), null);
  t.strictSame(Object.entries(parsed.value), [
    ['__proto__', ['1', '4']],
    ['constructor', '2'],
    ['toString', '3'],
  ]);
});

t.test('bounds the parameters, not counting empty ones', async (t) => {
  t.ok(read('&'.repeat(500) + 'a=1&'.repeat(20)).ok);
  t.equal(values('a=1&'.repeat(21)), 'The query has more than 20 parameters');
});

const names = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('__proto__', 'constructor', 'a', 'b'));
const pairs = fc.array(fc.tuple(names, fc.string({ unit: 'grapheme' })), { maxLength: 12 });

t.test('reads back whatever URLSearchParams writes', async (t) => {
  fc.assert(
    fc.property(pairs, (pairs) => {
      const parsed = parseQuery(new URLSearchParams(pairs).toString(), { maxPairs: 20 });
      const expected = new Map<string, string | string[]>();
      for (const [name, value] of pairs) {
        const earlier = expected.get(name);
        expected.set(name, earlier === undefined ? value : [earlier, value].flat());
      }
      t.strictSame(parsed.ok && new Map(Object.entries(parsed.value)), expected);
    }),
  );
});

t.test('never throws, whatever is written', async (t) => {
  const sloppy = fc.array(
    fc.constantFrom('&', '=', '%', '%5B', '%5D', '[]', '+', 'ids', '%f', '%e2%82', '\ud800', '#'),
  );
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webQueryParameters(),
    sloppy.map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const parsed = read(text);
      return parsed.ok ? Object.getPrototypeOf(parsed.value) === null : parsed.message !== '';
    }),
    { numRuns: 1000 },
  );
  t.pass('every time');
});
