/** Requests of keys with the scope `operator` to the operator's wallet: orders, approvals, trades with vaults. */
import Type, { type Static } from 'typebox';
import { optionFields, symbolOf, VaultMarket } from './options.js';
import {
  Address,
  closed,
  DecimalNumber,
  DecimalText,
  Direction,
  Hash,
  NonNegativeText,
  PriceNumber,
  SideText,
  text,
} from './primitives.js';
import { ReadableFailedQuote, ReadableInvalidQuote, ReadableQuote } from './readable.js';

/** So much time that a deadline is a safe integer whatever the day: 100 years. */
const MAX_LIFE_SECONDS = 3_153_600_000;

/** Of POST /orderbook/quotes. `symbols`: those with a token on the deployment's chain, as in all that follow. */
export function newQuotesBody(symbols: readonly string[], maxQuotes: number) {
  const quote = closed({
    ...optionFields(symbols),
    side: SideText,
    size: DecimalNumber,
    price: PriceNumber,
    deadline: Type.Integer({ maximum: MAX_LIFE_SECONDS, description: 'Seconds from now.' }),
    taker: Type.Optional(Address),
  });
  return Type.Array(quote, { minItems: 1, maxItems: maxQuotes });
}
export type NewQuoteJson = Static<ReturnType<typeof newQuotesBody>>[number];

export const NewQuotesResult = closed({
  created: Type.Array(ReadableQuote),
  failed: Type.Array(closed({ reason: Type.String(), quote: ReadableFailedQuote })),
  exists: Type.Array(ReadableQuote),
});

/** With or without `0x`; any other beginning names no quote. */
const QuoteIdText = text<string>('[a-fA-F0-9]{64}$', 'Id of a quote, with or without `0x`, in any letter case.', {
  maxLength: 128,
});

/** Of PATCH /orderbook/quotes. */
export function fillQuotesBody(maxQuotes: number) {
  const fill = closed({ tradeSize: DecimalNumber, quoteId: QuoteIdText });
  return Type.Array(fill, { minItems: 1, maxItems: maxQuotes });
}

export const FillQuotesResult = closed({ success: Type.Array(QuoteIdText), failed: Type.Array(QuoteIdText) });

/** Of DELETE /orderbook/quotes. */
export function cancelQuotesBody(maxQuotes: number) {
  return closed({ quoteIds: Type.Array(QuoteIdText, { minItems: 1, maxItems: maxQuotes }) });
}

export const CancelQuotesResult = closed({
  success: Type.Array(QuoteIdText),
  failed: Type.Array(QuoteIdText),
  omitted: Type.Array(QuoteIdText, { description: 'Not in the book.' }),
});
export type CancelQuotesResult = Static<typeof CancelQuotesResult>;

/** The id as the book has it; null where the text cannot be one. */
export function readQuoteId(written: string): `0x${string}` | null {
  const digits = /^(?:0x)?([a-f0-9]{64})$/.exec(written.toLowerCase())?.[1];
  return digits === undefined ? null : `0x${digits}`;
}

/** Of GET /orderbook/quotes. */
export function bestQuotesQuery(symbols: readonly string[]) {
  return closed({
    ...optionFields(symbols),
    strike: DecimalText,
    size: NonNegativeText,
    side: SideText,
    provider: Type.Optional(Address),
    taker: Type.Optional(Address),
  });
}

/** Of GET /orderbook/orders. */
export const ReadableOrdersQuery = closed({
  poolAddress: Type.Optional(Address),
  provider: Type.Optional(Address),
  size: Type.Optional(NonNegativeText),
  side: Type.Optional(SideText),
  type: Type.Optional(text<'invalid'>('^invalid$', 'Quotes that cannot be filled now, with the reason.')),
});

export const ReadableQuotesResult = Type.Array(ReadableQuote);
export const ReadableInvalidQuotesResult = Type.Array(ReadableInvalidQuote);

/** Of POST /account/collateral_approval: at most as many as there are tokens; one may come twice. */
export function approvalsBody(symbols: readonly string[]) {
  const amt = Type.Union([
    Type.Number({ description: 'Whole tokens; 0 revokes.' }),
    Type.Literal('max', { description: 'All there can be.' }),
  ]);
  return Type.Array(closed({ token: symbolOf(symbols), amt }), { minItems: 1, maxItems: symbols.length });
}

const Approval = closed({ token: Type.String(), amt: Type.Union([Type.Number(), Type.Literal('max')]) });

export const ApprovalsResult = closed({
  success: Type.Array(Approval),
  failed: Type.Array(closed({ message: Type.Literal('approval error'), token: Approval, error: Type.String() })),
});

/** Of POST /vaults/trade. */
export function vaultTradeBody(symbols: readonly string[]) {
  return closed({
    ...optionFields(symbols),
    size: DecimalNumber,
    direction: Direction,
    premiumLimit: Type.Number({
      minimum: 0,
      description:
        "Whole tokens of the vault's asset, fee included: at most on a buy, at least on a sell. At most 18 decimals.",
    }),
  });
}

export const VaultTradeResult = closed({
  market: VaultMarket,
  quote: Type.Optional(Type.Number({ description: 'What was paid, or came in; absent while the chain does not say.' })),
  fee: Type.Optional(Type.Number({ description: 'Fee contained in `quote`.' })),
  transactionHash: Hash,
});
