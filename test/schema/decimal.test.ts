import fc from 'fast-check';
import t from 'tap';
import { MAX_UINT256, formatDecimal, parseDecimal } from '../../src/schema/decimal.js';

t.test('reads decimals as whole units', async (t) => {
  t.equal(parseDecimal('1', 18), 10n ** 18n);
  t.equal(parseDecimal('0.5', 18), 5n * 10n ** 17n);
  t.equal(parseDecimal('7.', 6), 7_000_000n);
  t.equal(parseDecimal('0012.50', 2), 1250n);
  t.equal(parseDecimal('-0.25', 2), -25n);
  t.equal(parseDecimal('0.000000000000000001', 18), 1n);
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
