import fc from 'fast-check';
import t from 'tap';
import { readAmounts, readJson } from '../../src/http/parse.js';

const read = (text: string, maxParts: number) => readJson(Buffer.from(text), maxParts);

t.test('a body of more objects, arrays and fields than are allowed is refused unparsed', async (t) => {
  const refusal = {
    keyword: 'maxParts',
    instancePath: '',
    schemaPath: '#',
    params: { limit: 5 },
    message: 'must NOT have more than 5 objects, arrays and fields',
  };
  for (const text of ['[{},{},{},{},{}]', '[[],[],[],[],[]]', '{"a":0,"b":0,"c":0,"d":0,"e":0}', '[[[[[[']) {
    t.strictSame(read(text, 5), { ok: false, code: 'malformed_body', error: [refusal] }, text);
  }
});

t.test('one of just as many is read, whatever else is in it', async (t) => {
  t.strictSame(read('[{"a":[1,2,3,4],"b":"five"}]', 5), { ok: true, value: [{ a: [1, 2, 3, 4], b: 'five' }] });
  t.match(read('[{"a":[]}', 5), { ok: false, code: 'malformed_body', error: [{ keyword: 'json' }] });
});

t.test('an amount is the number that was written, or the body is refused', async (t) => {
  const amounts = (text: string) => readAmounts({ body: Buffer.from(text) }, (value) => ({ ok: true, value }), 100);
  const refusal = {
    keyword: 'exactNumber',
    instancePath: '',
    schemaPath: '#',
    params: { number: '0.123456789012345678' },
    message:
      'must NOT have numbers with more digits than a double holds: 0.123456789012345678 would be 0.12345678901234568',
  };
  const body = '[{"a":"\\"0.123456789012345678","b":[1e3,0.123456789012345678]}]';
  t.strictSame(amounts(body), { ok: false, code: 'invalid_parameter', error: [refusal] });
  t.strictSame(amounts('[0.10000000000000001]'), { ok: true, value: [0.1] }, 'a double with 17 digits is that double');
  t.match(amounts(`[${'9'.repeat(1_000)}1e-900]`), { error: [{ params: { number: '9'.repeat(80) } }] });
  t.match(amounts('[1'), { error: [{ keyword: 'json' }] });
  const text = fc.string({ unit: fc.constantFrom('"', '\\', '0.12345678901234567890', 'e', ',', ' ', '\u2028') });
  const exact = fc.record({ text, amount: fc.double({ noNaN: true, noDefaultInfinity: true }), list: fc.array(text) });
  fc.assert(
    fc.property(exact, fc.constantFrom(undefined, 1), (value, indent) => {
      t.strictSame(amounts(JSON.stringify(value, null, indent)), {
        ok: true,
        value: JSON.parse(JSON.stringify(value)) as unknown,
      });
      const longer = JSON.stringify(value).replace('"amount":', '"more":9007199254740993,"amount":');
      t.match(amounts(longer), { ok: false, error: [{ params: { number: '9007199254740993' } }] });
    }),
    { numRuns: 50 },
  );
});
