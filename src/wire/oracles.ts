import Type from 'typebox';
import { symbolOf } from './options.js';
import { closed, Expiration } from './primitives.js';
import { type Check, compile, type SchemaError } from './validation.js';

const SpotPrice = Type.String({ description: 'Price in USDC, a decimal number above 0 with at most 18 decimals.' });

/** Every parameter that GET /pools/strikes may have. `symbols`: those with a token on the chain, as in all that follow. */
export function strikesQuery(symbols: readonly string[]) {
  return closed({ market: Type.Optional(symbolOf(symbols)), spotPrice: Type.Optional(SpotPrice) });
}

/** Exactly one of both. */
export type StrikesQuery = { readonly market: string } | { readonly spotPrice: string };

/**
 * Checks a query of GET /pools/strikes. A refusal is that of JSON Schema's `oneOf`: the first error of each alternative,
 * and that not exactly one of them matches.
 */
export function strikesCheck(symbols: readonly string[]): Check<StrikesQuery> {
  const alternatives: readonly Check<StrikesQuery>[] = [
    compile(closed({ market: symbolOf(symbols) }), 1),
    compile(closed({ spotPrice: SpotPrice }), 1),
  ];
  return (value) => {
    const errors: SchemaError[] = [];
    for (const [index, check] of alternatives.entries()) {
      const result = check(value);
      if (result.ok) return result;
      const inAlternative = (path: string): string => path.replace(/^#/, `#/oneOf/${index}`);
      errors.push(...result.errors.map((error) => ({ ...error, schemaPath: inAlternative(error.schemaPath) })));
    }
    const keyword = 'oneOf';
    const message = 'must match exactly one schema in oneOf';
    const last = { keyword, instancePath: '', schemaPath: '#/oneOf', params: { passingSchemas: null }, message };
    return { ok: false, errors: [...errors, last] };
  };
}

export const StrikesResult = Type.Array(Type.Number(), {
  description: 'Strikes from half to double the spot price, ascending.',
});

export const MaturitiesResult = Type.Array(Expiration, { description: 'Ascending.' });

export function spotQuery(symbols: readonly string[]) {
  return closed({ markets: Type.Array(symbolOf(symbols), { minItems: 1 }) });
}

export const SpotResult = Type.Array(
  closed({ market: Type.String(), price: Type.Number({ description: 'In USDC, rounded to 6 decimals.' }) }),
  { description: 'In the order of the request.' },
);

/** `bases`: the names of the base tokens that have a vault. */
export function ivQuery(bases: readonly string[]) {
  return closed({ market: symbolOf(bases), expiration: Expiration, spotPrice: Type.Optional(SpotPrice) });
}

export const IvResult = Type.Array(
  closed({ strike: Type.Number(), iv: Type.Number({ description: '0.75 is 75 % a year; rounded to 2 decimals.' }) }),
  { description: 'By strike, ascending.' },
);

/** Strikes are counted in 1e-20 here, so that half a spot price of 1e-18 has two digits of its own. */
const FINER = 100n;

/**
 * The strikes from half to double a spot price that a pool may have, ascending: the first is half the price and the last
 * double the price, each rounded up to a strike; steps follow the contract's rule (a strike is a multiple of one tenth of
 * its power of ten). Everything is in 1e-18 of the quote token. At most 91, whatever the price: a decade has 90.
 */
export function listStrikes(spot: bigint): bigint[] {
  if (spot <= 0n) throw new RangeError('a spot price is above 0');
  const last = roundUp(2n * spot * FINER);
  const strikes: bigint[] = [];
  for (let strike = roundUp((spot * FINER) / 2n); strike <= last; strike += strikeInterval(strike)) {
    // Next to 0 there are strikes between the units that the contracts count in.
    if (strike % FINER === 0n) strikes.push(strike / FINER);
  }
  return strikes;
}

/** 10^(floor(log10 x) - 1), from x = 10 units on. */
function strikeInterval(x: bigint): bigint {
  return 10n ** BigInt(x.toString().length - 2);
}

function roundUp(x: bigint): bigint {
  const interval = strikeInterval(x);
  return ((x + interval - 1n) / interval) * interval;
}
