import fc from 'fast-check';
import t from 'tap';
import { listStrikes } from '../../src/wire/oracles.js';
import { formatDecimal, parseDecimal } from '../../src/wire/primitives.js';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
t.comment(`seed ${seed}`);

/** A decimal text in 1e-18. */
function units(text: string): bigint {
  const value = parseDecimal(text, 18);
  if (typeof value !== 'bigint') throw new Error(`${text} is no amount`);
  return value;
}

function strikes(spot: string): string[] {
  return listStrikes(units(spot)).map((strike) => formatDecimal(strike, 18));
}

function range(from: number, to: number, step: number): string[] {
  return Array.from({ length: (to - from) / step + 1 }, (_, i) => String(from + i * step));
}

/** The contract's own rule: a strike is a multiple of one tenth of its power of ten, counted in 1e-18. */
function isAllowed(strike: bigint): boolean {
  let interval = 1n;
  while (interval * 100n <= strike) interval *= 10n;
  return strike % interval === 0n;
}

t.test('strikes go from half to double the price in the steps that pools have', async (t) => {
  t.strictSame(strikes('10000'), [...range(5000, 9900, 100), ...range(10_000, 20_000, 1000)]);
  t.strictSame(strikes('1234.5'), [...range(620, 990, 10), ...range(1000, 2500, 100)]);
});

t.test('the end is not lost where floats would pass it', async (t) => {
  t.strictSame(strikes('0.5').slice(-2), ['0.99', '1']);
  t.strictSame(strikes('1').slice(-2), ['1.9', '2']);
  t.strictSame(strikes('1').slice(0, 2), ['0.5', '0.51']);
});

t.test('the smallest prices have the strikes that can be counted', async (t) => {
  t.strictSame(listStrikes(1n), [1n, 2n]);
  t.throws(() => listStrikes(0n), RangeError);
});

t.test('for any price: ascending, all allowed, none left out between the ends, and fewer than 200', async (t) => {
  const spots = fc.oneof(fc.bigInt(1n, 10n ** 20n), fc.bigInt(1n, 10n ** 40n), fc.bigInt(1n, 2n ** 256n - 1n));
  fc.assert(
    fc.property(spots, (spot) => {
      const list = listStrikes(spot);
      if (list.length === 0 || list.length >= 200) return false;
      const isRising = list.every((strike, i) => i === 0 || strike > (list[i - 1] ?? 0n));
      const [first = 0n] = list;
      const last = list.at(-1) ?? 0n;
      // Rounded up, and by less than a step of a tenth at most.
      const reachesEnds = 2n * first >= spot && last >= 2n * spot && last * 10n <= 2n * spot * 11n + 10n;
      const hasNoGap = list.every((strike, i) => {
        const next = list[i + 1];
        return next === undefined || next - strike === stepAt(strike);
      });
      return isRising && reachesEnds && hasNoGap && list.every(isAllowed);
    }),
    { seed, numRuns: 500 },
  );
  t.pass('for 500 prices');
});

/** The distance from an allowed strike to the next allowed one, found by looking for it. */
function stepAt(strike: bigint): bigint {
  let interval = 1n;
  while (interval * 100n <= strike) interval *= 10n;
  return interval;
}
