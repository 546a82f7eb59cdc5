import Type from 'typebox';
import type { Static } from 'typebox';
import { Address, DecimalNumber, DecimalText, Direction, Expiration, OptionType, closed } from './primitives.js';

/** The tokens that options are listed in. */
const SYMBOLS = ['testWETH', 'WETH', 'WBTC', 'PREMIA', 'LINK', 'USDC', 'DAI', 'ARB'] as const;

/** Only the listing restricts symbols; elsewhere one that the chain has no token for is refused by name. */
const Symbol = Type.String({ description: 'Token symbol.' });
const ListedSymbol = Type.Enum([...SYMBOLS], { type: 'string' });

const option = { base: Symbol, quote: Symbol, expiration: Expiration, strike: DecimalNumber, type: OptionType };

export const Option = closed(option, { description: 'One option series, by symbols.' });
export type Option = Static<typeof Option>;

export const Pool = closed({ ...option, poolAddress: Address });
export type Pool = Static<typeof Pool>;

export const PoolsQuery = closed({
  base: Type.Optional(ListedSymbol),
  quote: Type.Optional(ListedSymbol),
  expiration: Type.Optional(Expiration),
});
export type PoolsQuery = Static<typeof PoolsQuery>;

export const PoolsResult = Type.Array(Pool);

/**
 * Of POST /pools and POST /pool/settle: none. Closed, so that `dryRun`, which only POST /quotes knows, spends no gas.
 */
export const NoQuery = closed({});

/** `maxOptions`: most pools in one request. */
export function postPoolsBody(maxOptions: number) {
  return Type.Array(Option, { minItems: 1, maxItems: maxOptions });
}

export const PostPoolsResult = closed({
  created: Type.Array(Pool),
  existed: Type.Array(Pool),
  failed: Type.Array(closed({ ...option, reason: Type.String() })),
});
export type PostPoolsResult = Static<typeof PostPoolsResult>;

/** `maxOptions`: most positions in one request. */
export function settleBody(maxOptions: number) {
  return Type.Array(Option, { minItems: 1, maxItems: maxOptions });
}

export const SettleResult = closed({
  success: Type.Array(Option),
  failed: Type.Array(closed({ failedOption: Option, reason: Type.String() })),
});
export type SettleResult = Static<typeof SettleResult>;

export const VaultQuoteQuery = closed({
  base: Symbol,
  quote: Symbol,
  expiration: Expiration,
  strike: DecimalText,
  type: OptionType,
  size: DecimalText,
  direction: Direction,
});
export type VaultQuoteQuery = Static<typeof VaultQuoteQuery>;

export const VaultQuoteResult = closed({
  market: closed({
    vault: Type.String(),
    strike: Type.Number(),
    expiration: Expiration,
    size: Type.Number(),
    direction: Direction,
  }),
  quote: Type.Number({ description: 'Total cost with the fee, in whole tokens: base for calls, quote for puts.' }),
  takerFee: Type.Number({ description: 'The same as `fee`.' }),
  fee: Type.Number({ description: 'Trading fee contained in `quote`, in whole tokens.' }),
});
export type VaultQuoteResult = Static<typeof VaultQuoteResult>;
