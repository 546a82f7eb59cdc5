import fc from 'fast-check';
import t from 'tap';
import Type, { type TSchema } from 'typebox';
import * as primitives from '../../src/wire/primitives.js';
import { formatDecimal, isExactNumber, keywords, MAX_UINT256, parseDecimal } from '../../src/wire/primitives.js';
import { compile } from '../../src/wire/validation.js';

const MAX_UINT256_TEXT = String(2n ** 256n - 1n);
const hex = (digits: number) => `0x${'aF'.repeat(digits / 2)}`;

/** Schemas have names like types, unlike functions and constants. */
type Named<Key extends string> = Key extends Capitalize<Key> ? (Key extends Uppercase<Key> ? never : Key) : never;
type Name = Named<keyof typeof primitives>;

/** Of each primitive: values that it takes, and values just beside them that it does not. */
const edges: Readonly<Record<Name, readonly [good: readonly unknown[], bad: readonly unknown[]]>> = {
  ChainId: [
    ['42161', '421613'],
    ['421614', '142161', '4216130', '1421613', '', 42161],
  ],
  SideText: [
    ['bid', 'ask'],
    ['abid', 'bids', 'mask', 'asks', 'BID', ''],
  ],
  Address: [[hex(40)], [hex(38), hex(42), `a${hex(40)}`, `0X${hex(40).slice(2)}`, hex(40).replace('a', 'g')]],
  AddressOrAll: [
    [hex(40), '*'],
    ['', '**', `${hex(40)}*`, hex(38)],
  ],
  InstrumentName: [
    ['WETH-USDC-29JAN27-2000.5-C', 'a'.repeat(250)],
    ['', 'a'.repeat(251), 'a b', 'a/b', 7],
  ],
  Hash: [[hex(64)], [hex(62), hex(66), `a${hex(64)}`, hex(64).replace('a', 'g')]],
  Uint256: [
    ['0', '007', MAX_UINT256_TEXT],
    [String(2n ** 256n), '0'.repeat(79), '', '-1', '1.0', '1 ', ' 1', '0x1', 1],
  ],
  PageLimit: [
    ['1', '10', '999', '1000'],
    ['', '0', '01', '1001', '10000', '-1', '1.0', 1],
  ],
  SafeUint: [
    [0, 2 ** 53 - 1],
    [-1, 2 ** 53, 0.5, '1'],
  ],
  UnixSeconds: [
    [0, 2 ** 53 - 1],
    [-1, 2 ** 53, 0.5, '1'],
  ],
  UnixSecondsText: [
    ['0', '007', String(2n ** 53n - 1n)],
    [String(2n ** 53n), '0'.repeat(17), '', '-1', '1.0', '1e3', ' 1', 1],
  ],
  Uint8: [
    [0, 27, 255],
    [-1, 256, 0.5],
  ],
  DecimalText: [
    ['1', '1.', '0.5', '01.50', `0.${'0'.repeat(17)}1`],
    ['0', '0.0', `0.${'0'.repeat(18)}1`, '.5', '-1', '1e3', '1,5', MAX_UINT256_TEXT, ' 1', '1 ', '', 1],
  ],
  NonNegativeText: [
    ['0', '0.0', '1', '0.5', `0.${'0'.repeat(17)}1`],
    [`0.${'0'.repeat(18)}1`, '.5', '-1', '-0', '1e3', MAX_UINT256_TEXT, '', 0],
  ],
  DecimalNumber: [
    [1, 0.5, 1e-18, 1e21],
    [0, -1, 1e-19, 1e60, '1', Infinity],
  ],
  PriceNumber: [
    [1, 0.5, 1e-18],
    [0, -1, 1e-19, 1.000001, 2, '1'],
  ],
  OptionType: [
    ['C', 'P'],
    ['c', 'CC', 'PP', 'CP', ''],
  ],
  Direction: [
    ['buy', 'sell'],
    ['abuy', 'buys', 'asell', 'sells', ''],
  ],
  Expiration: [
    ['03NOV23', '03nov23'],
    ['3NOV23', '103NOV23', '03NOV2023', '03-NOV-23', ''],
  ],
};

t.test('each primitive takes what lies on its edges, and nothing beside them', async (t) => {
  for (const [name, [good, bad]] of Object.entries(edges)) {
    const check = compile(primitives[name as Name] as TSchema, 5);
    for (const value of good) t.ok(check(value).ok, `${name}: ${String(value)}`);
    for (const value of bad) {
      const result = check(value);
      t.ok(!result.ok && result.errors.length > 0, `${name}: not ${String(value)}, and why not`);
    }
  }
});

t.test('a closed object has just its fields', async (t) => {
  const check = compile(primitives.closed({ a: primitives.SideText }), 5);
  t.ok(check({ a: 'ask' }).ok);
  for (const value of [{}, { a: 'ask', b: 'ask' }, { b: 'ask' }]) t.notOk(check(value).ok, JSON.stringify(value));
});

t.test(
  'only a chain besides the protocol’s two has a pattern of its own, wherever a schema names chains',
  async (t) => {
    const { ChainId, closed, onChain } = primitives;
    const schema = closed({
      one: ChainId,
      other: Type.Optional(ChainId),
      many: Type.Array(Type.Union([closed({ chain: ChainId }), Type.Null()])),
      amount: primitives.Uint256,
    });
    for (const known of ['42161', '421613']) t.equal(onChain(schema, known), schema);
    const of = (chain: string, amount = '1') => ({ one: chain, other: chain, many: [{ chain }, null], amount });
    for (const chain of ['1', '4216', '421614']) {
      const check = compile(onChain(schema, chain), 1);
      t.ok(check(of(chain)).ok, chain);
      t.ok(check({ one: chain, many: [], amount: '1' }).ok, 'what is optional stays so');
      t.notOk(check(of(chain, MAX_UINT256_TEXT.replace('1', '9'))).ok, 'and keywords stay');
      const message = `must match pattern "^${chain}$"`;
      for (const other of ['42161', '421613', `${chain}0`])
        t.match(check(of(other)), { ok: false, errors: [{ message }] });
    }
    t.ok(compile(schema, 1)(of('42161')).ok, 'the schema itself stays as it was');
  },
);

t.test('reads decimals as whole units', async (t) => {
  t.equal(parseDecimal('1', 18), 10n ** 18n);
  t.equal(parseDecimal('0.5', 18), 5n * 10n ** 17n);
  t.equal(parseDecimal('7.', 6), 7_000_000n);
  t.equal(parseDecimal('0012.50', 2), 1250n);
  t.equal(parseDecimal('-0.25', 2), -25n);
  t.equal(parseDecimal('0.000000000000000001', 18), 1n);
});

t.test('a JSON number is exact if the shortest text of its double, or that of 17 digits, is the same', async (t) => {
  for (const text of [
    '0',
    '-0',
    '0.10',
    '1e23',
    '1800.5',
    '0.30000000000000004',
    '0.10000000000000001',
    '1.10000000000000010e+00',
    '0.29999999999999999',
    '5.0000000000000001e-3',
    '1E-18',
    '9007199254740991',
    '5e-324',
  ])
    t.ok(isExactNumber(text), text);
  for (const text of [
    '0.100000000000000001',
    '0.1000000000000000055',
    '9.0000000000000001',
    '1800.4999999999999',
    '9007199254740993',
    '1.234567890123456789',
    '1e-400',
    '0.1e-330',
  ])
    t.notOk(isExactNumber(text), text);
  const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
  const written = fc.tuple(digits(20), digits(20), fc.integer({ min: -20, max: 10 }));
  const numbers = fc.oneof(
    written.map(([whole, fraction, exponent]) => `${BigInt(whole)}.${fraction}e${exponent}`),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-18, max: 1e30 }).map(String),
  );
  // In so small a unit that each of them is a whole number of it.
  const units = (text: string) => parseDecimal(text, 45);
  fc.assert(
    fc.property(numbers, (text) => {
      const [written, read] = [units(text), units(String(Number(text)))];
      t.type(written, 'bigint');
      const is17Digits =
        written ===
        units(
          Number(text)
            .toPrecision(17)
            .replace(/\.?0+(?=e|$)/, ''),
        );
      t.equal(isExactNumber(text), written === read || is17Digits, text);
    }),
  );
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
      t.ok(isExactNumber(double.toPrecision(17)), `${double}`);
      t.ok(isExactNumber(double.toExponential(16)), `${double}`);
    }),
  );
});

t.test('reads exponents', async (t) => {
  t.equal(parseDecimal('1e-7', 18), 10n ** 11n);
  t.equal(parseDecimal('1.5E+3', 0), 1500n);
  t.equal(parseDecimal('0e999999999999', 18), 0n);
});

t.test('refuses what is no number', async (t) => {
  for (const text of ['', '.', '.5', '-', '1e', '0x10', ' 1', '1 ', '1,5', 'NaN', 'Infinity', '--1', '1.2.3', '١']) {
    t.equal(parseDecimal(text, 18), 'NOT_A_NUMBER', JSON.stringify(text));
  }
});

t.test('refuses more decimals than the unit has, also when they are zeros or come from an exponent', async (t) => {
  t.equal(parseDecimal('0.0000000000000000001', 18), 'TOO_PRECISE');
  t.equal(parseDecimal('1.0000000000000000000', 18), 'TOO_PRECISE');
  t.equal(parseDecimal('1e-19', 18), 'TOO_PRECISE');
  t.equal(parseDecimal('1e-999999999999', 18), 'TOO_PRECISE');
});

t.test('refuses what does not fit in 256 bits, without building the number', async (t) => {
  t.equal(MAX_UINT256, BigInt(`0x${'f'.repeat(64)}`));
  t.equal(parseDecimal(MAX_UINT256.toString(), 0), MAX_UINT256);
  t.equal(parseDecimal((MAX_UINT256 + 1n).toString(), 0), 'TOO_LARGE');
  t.equal(parseDecimal('1e999999999999', 18), 'TOO_LARGE');
  t.equal(parseDecimal('9'.repeat(1_000_000), 0), 'TOO_LARGE');
});

t.test('reads JSON numbers by their shortest text', async (t) => {
  t.equal(parseDecimal(String(0.1), 18), 10n ** 17n);
  t.equal(parseDecimal(String(1e-7), 18), 10n ** 11n);
  t.equal(parseDecimal(String(1e21), 18), 10n ** 39n);
  t.equal(parseDecimal(String(1234.5678), 18), 12345678n * 10n ** 14n);
  t.equal(parseDecimal(String(1e-19), 18), 'TOO_PRECISE');
  t.equal(parseDecimal(String(Number.NaN), 18), 'NOT_A_NUMBER');
});

t.test('writes units as the shortest exact decimal', async (t) => {
  t.equal(formatDecimal(0n, 18), '0');
  t.equal(formatDecimal(1n, 18), '0.000000000000000001');
  t.equal(formatDecimal(1_500_000n, 6), '1.5');
  t.equal(formatDecimal(-25n, 2), '-0.25');
  t.equal(formatDecimal(42n, 0), '42');
  t.equal(formatDecimal(MAX_UINT256, 0), MAX_UINT256.toString());
});

t.test('reads back what it wrote, for any amount and unit', async (t) => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -MAX_UINT256, max: MAX_UINT256 }),
      fc.integer({ min: 0, max: 30 }),
      (units, decimals) => {
        return parseDecimal(formatDecimal(units, decimals), decimals) === units;
      },
    ),
  );
  t.pass('every time');
});

t.test('writes JSON numbers', async (t) => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
      fc.integer({ min: 0, max: 20 }),
      (units, decimals) => {
        return JSON.parse(formatDecimal(units, decimals)) === Number(formatDecimal(units, decimals));
      },
    ),
  );
  t.pass('every time');
});

t.test('moves the point by the exponent, nothing else', async (t) => {
  const exponent = fc.integer({ min: -18, max: 30 });
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 29n }), exponent, (digits, power) => {
      const expected = digits * 10n ** BigInt(18 + power);
      return parseDecimal(`${digits}e${power}`, 18) === expected;
    }),
  );
  t.pass('every time');
});

const MAX = String(2n ** 256n - 1n);

t.test('what a keyword says of a value has the shape of AJV’s errors', async (t) => {
  t.strictSame(keywords.uint256(String(2n ** 256n)), {
    params: { comparison: '<=', limit: MAX },
    message: `must be <= ${MAX}`,
  });
  const tokens = `${MAX.slice(0, -18)}.${MAX.slice(-18)}`;
  t.strictSame(keywords.fixed18('1e60'), {
    params: { comparison: '<=', limit: tokens },
    message: `must be <= ${tokens}`,
  });
  t.strictSame(keywords.fixed18(1e-19), { params: { limit: 18 }, message: 'must NOT have more than 18 decimals' });
  t.strictSame(keywords.positive('0.0'), { params: { comparison: '>', limit: 0 }, message: 'must be > 0' });
  t.strictSame(keywords.safeUint(String(2n ** 53n)), {
    params: { comparison: '<=', limit: '9007199254740991' },
    message: 'must be <= 9007199254740991',
  });
});

t.test('a keyword has nothing to say of what it is not broken by, or not meant for', async (t) => {
  t.equal(keywords.uint256(MAX), null);
  t.equal(keywords.fixed18(1e-18), null);
  t.equal(keywords.positive('0.01'), null);
  t.equal(keywords.safeUint(String(2n ** 53n - 1n)), null);
  for (const keyword of Object.values(keywords)) t.equal(keyword('x'.repeat(80)), null);
});
