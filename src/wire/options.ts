import Type, { type Static } from 'typebox';
import { PoolKeyJson } from './orderbook.js';
import {
  Address,
  closed,
  DecimalNumber,
  DecimalText,
  Direction,
  Expiration,
  formatDecimal,
  OptionType,
  parseDecimal,
  text,
  UnixSeconds,
} from './primitives.js';

/** Symbols that GET /pools takes as filters on every deployment, whether it has such a token or not. */
const LISTED_SYMBOLS = ['testWETH', 'WETH', 'WBTC', 'PREMIA', 'LINK', 'USDC', 'DAI', 'ARB'] as const;

const Symbol = Type.String({ description: 'Token symbol.' });

/** One of `symbols`, in their order. A pattern rather than an enum: clients compare the text of the refusal. */
export function symbolOf(symbols: readonly string[]) {
  const pattern = symbols.map((symbol) => `^${symbol.replaceAll('.', '\\.')}$`).join('|');
  return text<string>(pattern, 'Token symbol.');
}

const option = { base: Symbol, quote: Symbol, expiration: Expiration, strike: DecimalNumber, type: OptionType };

export const Option = closed(option, { description: 'One option series, by symbols.' });
export type Option = Static<typeof Option>;

export const PoolJson = closed({ ...option, poolAddress: Address });
export type PoolJson = Static<typeof PoolJson>;

/** `symbols`: those with a token on the deployment's chain, as in all that follow. */
export function poolsQuery(symbols: readonly string[]) {
  const symbol = Type.Optional(symbolOf([...new Set([...LISTED_SYMBOLS, ...symbols])]));
  return closed({ base: symbol, quote: symbol, expiration: Type.Optional(Expiration) });
}
export type PoolsQuery = Static<ReturnType<typeof poolsQuery>>;

export const PoolsResult = Type.Array(PoolJson);

/** A pool that has a name. */
export const InstrumentJson = closed({
  instrument: text<string>(
    '^.{1,150}$',
    'Such as `WETH-USDC-29JAN27-2000-C`; a token without a symbol by its address.',
  ),
  poolAddress: Address,
  poolKey: PoolKeyJson,
  expiry: UnixSeconds,
  strike: Type.String({ description: 'In quote tokens, a decimal number.' }),
});
export type InstrumentJson = Static<typeof InstrumentJson>;

export const InstrumentsResult = Type.Array(InstrumentJson, { description: 'In the order of their deployment.' });

/**
 * Of POST /pools and POST /pool/settle: none. Closed, so that `dryRun`, which only POST /quotes knows, spends no gas.
 */
export const NoQuery = closed({});

/** An option of tokens that the chain has. */
export function optionFields(symbols: readonly string[]) {
  const symbol = symbolOf(symbols);
  return { ...option, base: symbol, quote: symbol };
}

function optionsOf(symbols: readonly string[], maxOptions: number) {
  return Type.Array(closed(optionFields(symbols)), { minItems: 1, maxItems: maxOptions });
}

/** `maxOptions`: most pools in one request. */
export function postPoolsBody(symbols: readonly string[], maxOptions: number) {
  return optionsOf(symbols, maxOptions);
}

export const PostPoolsResult = closed({
  created: Type.Array(PoolJson),
  existed: Type.Array(PoolJson),
  failed: Type.Array(closed({ ...option, reason: Type.String() })),
});
export type PostPoolsResult = Static<typeof PostPoolsResult>;

/** `maxOptions`: most positions in one request. */
export function settleBody(symbols: readonly string[], maxOptions: number) {
  return optionsOf(symbols, maxOptions);
}

export const SettleResponse = closed({
  success: Type.Array(Option),
  failed: Type.Array(closed({ failedOption: Option, reason: Type.String() })),
});
export type SettleResponse = Static<typeof SettleResponse>;

export function vaultQuoteQuery(symbols: readonly string[]) {
  const symbol = symbolOf(symbols);
  return closed({
    base: symbol,
    quote: symbol,
    expiration: Expiration,
    strike: DecimalText,
    type: OptionType,
    size: DecimalText,
    direction: Direction,
  });
}
export type VaultQuoteQuery = Static<ReturnType<typeof vaultQuoteQuery>>;

/** Request to a vault, as its answers repeat it. */
export const VaultMarket = closed({
  vault: Type.String(),
  strike: Type.Number(),
  expiration: Expiration,
  size: Type.Number(),
  direction: Direction,
});

export const VaultQuoteResult = closed({
  market: VaultMarket,
  quote: Type.Number({ description: 'Total cost with the fee, in whole tokens: base for calls, quote for puts.' }),
  takerFee: Type.Number({ description: 'The same as `fee`.' }),
  fee: Type.Number({ description: 'Trading fee contained in `quote`, in whole tokens.' }),
});
export type VaultQuoteResult = Static<typeof VaultQuoteResult>;

/** One option series as it is asked for, with its strike read. */
export interface OptionTerms {
  readonly base: string;
  readonly quote: string;
  /** As written: DDMMMYY. */
  readonly expiration: string;
  /** 1e-18 of a quote token per base token. */
  readonly strike: bigint;
  readonly type: 'C' | 'P';
}

/** `option` has passed its schema. */
export function readOption(option: Option): OptionTerms {
  return { ...option, strike: readAmount(String(option.strike)) };
}

/** In units of 1e-18; the schema has let no other text pass. */
export function readAmount(text: string): bigint {
  const units = parseDecimal(text, 18);
  if (typeof units !== 'bigint') throw new Error(`${text} is no amount, and its schema let it pass`);
  return units;
}

/**
 * JSON text of a pool. The strike is written digit by digit, so that it is exact whatever its size; readers that keep
 * numbers as floats round it themselves.
 */
export function poolJson({ base, quote, expiration, strike, type }: OptionTerms, poolAddress: string): string {
  const before = JSON.stringify({ base, quote, expiration }).slice(0, -1);
  const after = JSON.stringify({ type, poolAddress }).slice(1);
  return `${before},"strike":${formatDecimal(strike, 18)},${after}`;
}
