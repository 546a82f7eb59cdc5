/**
 * The model of Black and Scholes for European options without dividends (Hull, "Options, Futures, and Other
 * Derivatives"). Its results are estimates and plain floats: no amount of money is computed with them.
 */
export interface ModelTerms {
  /** Price of the base token, in the quote token. */
  readonly spot: number;
  readonly strike: number;
  /** Years until the option matures, above 0. */
  readonly years: number;
  readonly isCall: boolean;
  /** Continuously compounded a year. */
  readonly rate: number;
}

/** Of one contract, in the quote token. `theta` is by year, `vega` by a volatility of 1. */
export interface OptionValue {
  readonly price: number;
  readonly delta: number;
  readonly gamma: number;
  readonly vega: number;
  readonly theta: number;
}

/** `volatility`: above 0; 0.6 is 60 % a year. */
export function valueOption({ spot, strike, years, isCall, rate }: ModelTerms, volatility: number): OptionValue {
  const deviation = volatility * Math.sqrt(years);
  const d1 = (Math.log(spot / strike) + (rate + volatility ** 2 / 2) * years) / deviation;
  const d2 = d1 - deviation;
  const discounted = strike * Math.exp(-rate * years);
  const density = Math.exp(-(d1 ** 2) / 2) / Math.sqrt(2 * Math.PI);
  const decay = (-spot * density * volatility) / (2 * Math.sqrt(years));
  const sign = isCall ? 1 : -1;
  return {
    price: sign * (spot * cumulativeNormal(sign * d1) - discounted * cumulativeNormal(sign * d2)),
    delta: sign * cumulativeNormal(sign * d1),
    gamma: density / (spot * deviation),
    vega: spot * density * Math.sqrt(years),
    theta: decay - sign * rate * discounted * cumulativeNormal(sign * d2),
  };
}

/** Volatilities that are looked for; a price beyond them has none. */
const LEAST_VOLATILITY = 0.0001;
const MOST_VOLATILITY = 20;
/** Each halves the interval: after so many it is as small as a float can tell. */
const HALVINGS = 60;

/**
 * The volatility at which the model gives this price; null where none does, as for a price below the option's intrinsic
 * value. Prices rise with the volatility, so halving the interval always finds it.
 */
export function impliedVolatility(terms: ModelTerms, price: number): number | null {
  let low = LEAST_VOLATILITY;
  let high = MOST_VOLATILITY;
  const isBetween = price > valueOption(terms, low).price && price < valueOption(terms, high).price;
  if (!isBetween) return null;
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (valueOption(terms, middle).price < price) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

const NUMERATOR = [
  0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383, 112.079291497871, 221.213596169931,
  220.206867912376,
];
const DENOMINATOR = [
  0.0883883476483184, 1.75566716318264, 16.064177579207, 86.7807322029461, 296.564248779674, 637.333633378831,
  793.826512519948, 440.413735824752,
];
/** Beyond it a continued fraction is closer. */
const FRACTION_FROM = 7.07106781186547;

/** Hart's algorithm 5666, exact to about 14 digits (G. West, "Better approximations to cumulative normal functions"). */
export function cumulativeNormal(x: number): number {
  const size = Math.abs(x);
  if (Number.isNaN(x)) return NaN;
  if (size > 37) return x > 0 ? 1 : 0;
  const density = Math.exp(-(size ** 2) / 2);
  const polynomial = (terms: readonly number[]): number => terms.reduce((sum, term) => sum * size + term, 0);
  const tail =
    size < FRACTION_FROM
      ? (density * polynomial(NUMERATOR)) / polynomial(DENOMINATOR)
      : density / (size + 1 / (size + 2 / (size + 3 / (size + 4 / (size + 0.65))))) / Math.sqrt(2 * Math.PI);
  return x > 0 ? 1 - tail : tail;
}
