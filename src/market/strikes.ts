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
