import assert from 'node:assert/strict';
import { Ajv, type AnySchemaObject } from 'ajv';
import fc from 'fast-check';
import t from 'tap';
import Type, { type TSchema } from 'typebox';
import { Option, poolsQuery, postPoolsBody, vaultQuoteQuery } from '../../src/wire/options.js';
import {
  OrderbookQuote,
  ordersBody,
  ordersQuery,
  postQuotesBody,
  PostQuotesResult,
  QuotesQuery,
} from '../../src/wire/orderbook.js';
import { KEYWORD_NAMES, keywords, onChain } from '../../src/wire/primitives.js';
import { FilterMessage, RfqByPoolKeyRequest, ServerMessage, UnsubscribeMessage } from '../../src/wire/socket.js';
import { compile, explain, type SchemaError, type SchemaNode } from '../../src/wire/validation.js';
import { option, orderbookQuote, postedQuote } from './samples.js';

const { taker } = postedQuote;
const coverQuery = { poolAddress: postedQuote.provider, size: '1', side: 'ask', chainId: '42161' };
const ajv = new Ajv({ allErrors: true, strict: false, strictNumbers: true });
for (const keyword of KEYWORD_NAMES) {
  ajv.addKeyword({
    keyword,
    type: ['string', 'number'],
    validate: function validate(_: true, value: string | number, parent?: AnySchemaObject): boolean {
      const refusal = typeof value === parent?.type ? keywords[keyword](value) : null;
      Object.assign(validate, { errors: refusal === null ? null : [{ keyword, ...refusal }] });
      return refusal === null;
    },
  });
}

function ajvErrors(schema: TSchema, value: unknown): SchemaError[] {
  const validate = ajv.compile(schema);
  validate(value);
  return (validate.errors ?? []).map(({ keyword, instancePath, schemaPath, params, message = '' }) => {
    return { keyword, instancePath, schemaPath, params: params as Record<string, unknown>, message };
  });
}

/** Each schema with a value that it takes, from which bad ones are made. */
const schemas: readonly { name: string; schema: TSchema; good: unknown }[] = [
  { name: 'POST /quotes', schema: postQuotesBody(3), good: [postedQuote, postedQuote] },
  {
    name: 'answer of POST /quotes',
    schema: PostQuotesResult,
    good: { created: [orderbookQuote], failed: [], exists: [] },
  },
  { name: 'OrderbookQuote', schema: OrderbookQuote, good: orderbookQuote },
  {
    name: 'GET /quotes',
    schema: QuotesQuery,
    good: coverQuery,
  },
  { name: 'GET /orders', schema: ordersQuery(2), good: { chainId: '421613', quoteIds: [orderbookQuote.quoteId] } },
  {
    name: 'POST /orders/query',
    schema: ordersBody(2),
    good: { chainId: '421613', quoteIds: [orderbookQuote.quoteId], limit: 5 },
  },
  { name: 'GET /pools', schema: poolsQuery(['X.Y']), good: { base: 'WETH', expiration: '03NOV23' } },
  {
    name: 'GET /quotes of another chain',
    schema: onChain(QuotesQuery, '31337'),
    good: { ...coverQuery, chainId: '31337' },
  },
  { name: 'POST /pools', schema: postPoolsBody(['WETH', 'USDC'], 2), good: [option] },
  {
    name: 'GET /vaults/quote',
    schema: vaultQuoteQuery(['WETH', 'USDC']),
    good: { ...option, strike: '1800', size: '1.5', direction: 'buy' },
  },
  { name: 'FILTER', schema: FilterMessage, good: { type: 'FILTER', channel: 'RFQ', body: { chainId: '42161' } } },
  { name: 'UNSUBSCRIBE', schema: UnsubscribeMessage, good: { type: 'UNSUBSCRIBE', channel: 'RFQ', body: null } },
  {
    name: 'RFQ',
    schema: RfqByPoolKeyRequest,
    good: {
      type: 'RFQ',
      body: { poolKey: { ...postedQuote.poolKey, maturity: '1' }, side: 'ask', chainId: '42161', size: '1', taker },
    },
  },
  {
    name: 'texts and amounts with one bound each',
    schema: Type.Object({
      path: Type.String({ minLength: 1 }),
      name: Type.String({ minLength: 2, maxLength: 40 }),
      amount: Type.Refine(Object.assign(Type.String(), { uint256: true }), (text) => keywords.uint256(text) === null),
      strike: Type.Refine(Object.assign(Type.Number(), { fixed18: true }), (value) => keywords.fixed18(value) === null),
    }),
    good: { path: 'a', name: 'ab', amount: '1', strike: 1 },
  },
  { name: 'what the server sends', schema: ServerMessage, good: { type: 'POST_QUOTE', body: orderbookQuote } },
];

/** Values that sit on the edges of the schemas. */
const EDGES: unknown[] = [
  null,
  true,
  '',
  '*',
  '0',
  '0.0',
  '-1',
  'WETH',
  'C',
  '31FEB27',
  '1'.repeat(78),
  '9'.repeat(78),
  '1'.repeat(79),
  '0.1234567890123456789',
  '🙂'.repeat(40),
  '1e5',
  0,
  -1,
  1.5,
  1e-19,
  1e300,
  255,
  256,
  2 ** 53 - 1,
  2 ** 53,
  Infinity,
  [],
  {},
  ['a', 'a', 'a', 'a'],
];

interface Change {
  readonly path: readonly number[];
  readonly act: 'replace' | 'remove' | 'add';
  readonly key: string;
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  path: fc.array(fc.nat(20), { maxLength: 4 }),
  act: fc.constantFrom('replace', 'remove', 'add'),
  key: fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('__proto__', 'a/b~c', '7', 'constructor')),
  value: fc.oneof(fc.constantFrom(...EDGES), fc.jsonValue({ maxDepth: 2 })),
});

/** The value with one place of it changed; the path's numbers pick among the keys that are there. */
function changed(value: unknown, { path, act, key, value: other }: Change): unknown {
  const [pick, ...rest] = path;
  if (typeof value !== 'object' || value === null || pick === undefined) return act === 'replace' ? other : value;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  const keys = Object.keys(copy);
  const at = keys[pick % Math.max(1, keys.length)];
  if (act === 'add' && rest.length === 0) Object.defineProperty(copy, key, { value: other, enumerable: true });
  else if (at === undefined) return copy;
  else if (act === 'remove' && rest.length === 0 && !Array.isArray(value)) Reflect.deleteProperty(copy, at);
  else copy[at] = changed(copy[at], { path: rest, act, key, value: other });
  return copy;
}

for (const { name, schema, good } of schemas) {
  t.test(`${name}: says what AJV says, in its order`, async (t) => {
    const check = compile(schema, 20);
    t.strictSame(check(good), { ok: true, value: good });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const value = changes.reduce<unknown>(changed, good);
        const expected = ajvErrors(schema, value);
        const errors = explain(schema, value, Infinity);
        assert.deepEqual(errors, expected);
        const result = check(value);
        assert.deepEqual(result.ok ? [] : result.errors, expected.slice(0, 20));
      }),
      { numRuns: 500 },
    );
    t.pass('on every change');
  });

  t.test(`${name}: any JSON at all is judged as AJV judges it`, async (t) => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.deepEqual(explain(schema as SchemaNode, value, Infinity), ajvErrors(schema, value));
      }),
    );
    t.pass('on every value');
  });
}

t.test('lists the first twenty and no more', async (t) => {
  const check = compile(postQuotesBody(1000), 20);
  const result = check(Array.from({ length: 1001 }, () => ({})));
  t.match(result, { ok: false, errors: [{ keyword: 'maxItems', message: 'must NOT have more than 1000 items' }] });
  t.equal(result.ok ? 0 : result.errors.length, 20);
  const either = { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'boolean' }] } };
  for (const limit of [1, 2, 3, 4, 5]) t.equal(explain(either, [1, 2], limit).length, limit);
});

t.test('does not walk through a hostile body once the list is full', async (t) => {
  let looks = 0;
  const watched = new Proxy(
    Array.from({ length: 100_000 }, () => 1),
    {
      get(target, key): unknown {
        looks++;
        return Reflect.get(target, key);
      },
    },
  );
  t.equal(explain(postQuotesBody(1000) as SchemaNode, watched, 20).length, 20);
  t.ok(looks < 200, `looked ${looks} times`);
});

t.test('a schema that it could not explain is refused when it is compiled', async (t) => {
  t.throws(() => compile({ type: 'string', format: 'date' }, 20), /without an explanation: format/);
  t.throws(() => compile({ type: 'array', items: { not: {} } }, 20), /without an explanation: not/);
  t.throws(() => compile({ anyOf: [{ type: 'string' }, { not: {} }] }, 20), /without an explanation: not/);
  t.throws(() => compile({ type: 'object', properties: { a: { not: {} } } }, 20), /without an explanation: not/);
});

t.test('the texts that clients read', async (t) => {
  const first = (schema: TSchema, value: unknown): string => {
    const result = compile(schema, 20)(value);
    return result.ok ? '' : (result.errors[0]?.message ?? '');
  };
  t.equal(first(Option, { ...option, strike: '1' }), 'must be number');
  t.equal(first(Option, { ...option, strike: 0 }), 'must be > 0');
  t.equal(first(Option, { ...option, strike: 1e-19 }), 'must NOT have more than 18 decimals');
  t.equal(first(Option, { ...option, type: 'p' }), 'must match pattern "^C$|^P$"');
  t.equal(first(Option, { ...option, expiration: '3NOV23' }), 'must match pattern "^\\d\\d\\w\\w\\w\\d\\d$"');
  t.equal(first(Option, { ...option, more: 1 }), 'must NOT have additional properties');
  t.equal(first(Option, {}), "must have required property 'base'");
  t.equal(first(postQuotesBody(5), []), 'must NOT have fewer than 1 items');
  t.equal(
    first(postQuotesBody(5), [{ ...postedQuote, size: '1'.repeat(79) }]),
    'must NOT have more than 78 characters',
  );
  t.match(first(postQuotesBody(5), [{ ...postedQuote, size: '9'.repeat(78) }]), /^must be <= 1157920892/);
  t.match(first(postQuotesBody(5), [{ ...postedQuote, size: '-1' }]), 'must match pattern "^[0-9]+$"');
  t.equal(first(postQuotesBody(5), [{ ...postedQuote, salt: 2 ** 53 }]), 'must be <= 9007199254740991');
});
