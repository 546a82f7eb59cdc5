import Type, { type Static } from 'typebox';
import { OrderbookQuote } from './orderbook.js';
import { Address, ChainId, closed, Hash, PageLimit, SafeUint } from './primitives.js';
import { consent } from './protections.js';

/** Of DELETE /quotes and POST /quotes/restore. */
export function withdrawalBody(maxQuotes: number) {
  return closed(
    {
      chainId: ChainId,
      provider: Address,
      quoteIds: Type.Array(Hash, { minItems: 1, maxItems: maxQuotes }),
      ...consent,
    },
    {
      description:
        'EIP-712: domain `Quotebook`, type `WithdrawQuotes` or `RestoreQuotes`. A nonce counts once. A key or session that has proven the address of the provider needs no signature.',
    },
  );
}
export type WithdrawalJson = Static<ReturnType<typeof withdrawalBody>>;

/** Of DELETE /quotes by a key or session that has proven the address of the provider. */
export const WithdrawAllBody = closed(
  {
    chainId: ChainId,
    provider: Address,
    all: Type.Literal(true),
    poolAddress: Type.Optional(Address),
  },
  { description: 'All quotes of the provider that the book has, or those of one pool.' },
);
export type WithdrawAllJson = Static<typeof WithdrawAllBody>;

const Unchanged = Type.Array(Hash, { description: 'Were so before.' });
const Unknown = Type.Array(Hash, { description: 'No quotes of the provider that the book knows.' });

export const WithdrawQuotesResult = closed({
  withdrawn: Type.Array(Hash),
  unchanged: Unchanged,
  unknown: Unknown,
  seq: SafeUint,
  notice: Type.String({ description: 'That the quotes can still be filled on the chain.' }),
  more: Type.Optional(
    Type.Boolean({
      description: 'With `all` alone: more quotes than one request takes. Send it again for the others.',
    }),
  ),
});
export type WithdrawQuotesResult = Static<typeof WithdrawQuotesResult>;

export const RestoreQuotesResult = closed({
  restored: Type.Array(Hash),
  unchanged: Unchanged,
  unknown: Unknown,
  seq: SafeUint,
});
export type RestoreQuotesResult = Static<typeof RestoreQuotesResult>;

/** GET /quotes/withdrawn. Everything of a query string is text. */
export const WithdrawnQuotesQuery = closed({
  chainId: ChainId,
  provider: Address,
  poolAddress: Type.Optional(Address),
  cursor: Type.Optional(Hash),
  limit: Type.Optional(PageLimit),
});
export type WithdrawnQuotesQuery = Static<typeof WithdrawnQuotesQuery>;

/** `next`: the cursor of the next page; null on the last one. */
export const WithdrawnQuotesPage = closed({
  next: Type.Union([Hash, Type.Null()]),
  quotes: Type.Array(OrderbookQuote),
});
export type WithdrawnQuotesPage = Static<typeof WithdrawnQuotesPage>;
