import Type, { type Static, type TSchema } from 'typebox';
import { TickerJson, TickersResult } from './feed-messages.js';
import { closed, Uint256 } from './primitives.js';

function known<const S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

function estimate(description: string) {
  return known(Type.Number({ description }));
}

/** An estimate of a pool, with `fields=valuation`. */
export const ValuationJson = closed(
  {
    spot: known(Uint256),
    mid: known(Uint256),
    spread: known(Type.String({ pattern: '^-?[0-9]+$' })),
    mark: known(Uint256),
    bidVolatility: estimate('Implied by the best bid; 0.6 is 60 % a year.'),
    askVolatility: estimate('Implied by the best ask.'),
    delta: estimate('By a change of the spot price of one quote token.'),
    gamma: estimate('Change of delta by the same.'),
    vega: estimate('In quote tokens, by a change of the volatility of one percentage point.'),
    theta: estimate('In quote tokens, by a day.'),
    usdValue: estimate('Of one contract at `mark`, in US dollars.'),
  },
  {
    description:
      'Estimates by the model of Black and Scholes. Prices are in 1e-18: `spot` in quote tokens per base token, `mid`, `spread` and `mark` as the prices of quotes. What is not known is null.',
  },
);
export type ValuationJson = Static<typeof ValuationJson>;

const ValuedTicker = closed({
  ...TickerJson.properties,
  instrument: known(Type.String()),
  valuation: ValuationJson,
});

/** Answer of GET /tickers with `fields=valuation`. */
export const ValuedTickersResult = closed({ ...TickersResult.properties, tickers: Type.Array(ValuedTicker) });
export type ValuedTickersResult = Static<typeof ValuedTickersResult>;
