import Type, { type Static } from 'typebox';
import {
  Address,
  AddressOrAll,
  ChainId,
  closed,
  Hash,
  InstrumentName,
  SafeUint,
  SideText,
  text,
  Uint256,
  Uint8,
  UnixSeconds,
} from './primitives.js';

export const PoolKeyJson = closed({
  base: Address,
  quote: Address,
  oracleAdapter: Address,
  strike: Uint256,
  maturity: UnixSeconds,
  isCallPool: Type.Boolean(),
});
export type PoolKeyJson = Static<typeof PoolKeyJson>;

export const SignatureJson = closed({ r: Hash, s: Hash, v: Uint8 });
export type SignatureJson = Static<typeof SignatureJson>;

/** Fields that a maker signs and posts. */
const signed = {
  poolKey: PoolKeyJson,
  chainId: ChainId,
  provider: Address,
  taker: Address,
  price: Uint256,
  size: Uint256,
  isBuy: Type.Boolean(),
  deadline: UnixSeconds,
  salt: SafeUint,
  signature: SignatureJson,
};

export const PostedQuoteJson = closed(signed, { description: 'A signed quote, as its maker posts it.' });
export type PostedQuoteJson = Static<typeof PostedQuoteJson>;

/** `maxQuotes`: most quotes in one request. */
export function postQuotesBody(maxQuotes: number) {
  return Type.Array(PostedQuoteJson, { minItems: 1, maxItems: maxQuotes });
}

/** Of POST /quotes. Closed, so that a misspelt `dryRun` does not publish. */
export const PostQuotesQuery = closed({
  dryRun: Type.Optional(
    Type.Enum(['true', 'false'], { type: 'string', description: '`true`: everything but the publication.' }),
  ),
});

export const OrderbookQuote = closed(
  {
    quoteId: Hash,
    poolAddress: Address,
    ...signed,
    ts: Type.Integer({ minimum: 0, description: "Unix seconds: the quote's block on the stream chain." }),
    fillableSize: Uint256,
  },
  { description: 'A quote of the book. The addresses of `poolKey` are EIP-55 checksums, all others lower case.' },
);
export type OrderbookQuote = Static<typeof OrderbookQuote>;

const Instrument = Type.Union([Type.String(), Type.Null()], {
  description:
    'Name of the option, such as `WETH-USDC-29JAN27-2000-C`; null: its pool has none and goes by its address.',
});

/** With `fields=instrument`. */
const NamedOrderbookQuote = closed({ ...OrderbookQuote.properties, instrument: Instrument });

/** More fields that an answer may have. */
const Fields = Type.Optional(
  Type.Enum(['instrument'], { type: 'string', description: '`instrument`: each quote has the name of its option.' }),
);

/** The state of the past that an answer is of; none: the present. */
export const asOf = {
  asOfSeq: Type.Optional(text<string>('^[0-9]{1,15}$', 'The answer as of this event of the log.')),
  asOfBlock: Type.Optional(text<string>('^[0-9]{1,15}$', 'The answer as of this block of the settlement chain.')),
  asOfTime: Type.Optional(text<string>('^[0-9]{1,15}$', 'The answer as of this engine time, milliseconds.')),
};
export const AsOfQuery = closed(asOf);
export type AsOfQuery = Static<typeof AsOfQuery>;

/** Reasons that can change: a quote refused for one of them may be fillable later. */
export const TRANSIENT_REASONS = [
  'InvalidAssetUpdate',
  'InsufficientCollateralAllowance',
  'InsufficientCollateralBalance',
  'InsufficientLongBalance',
  'InsufficientShortBalance',
] as const;

/** The pool contract's own names of what is wrong with a quote (`isQuoteOBValid`), in the order of its error codes. */
export const QUOTE_ERRORS = [
  'QuoteOBExpired',
  'QuoteOBCancelled',
  'QuoteOBOverfilled',
  'OutOfBoundsPrice',
  'InvalidQuoteOBTaker',
  'InvalidQuoteOBSignature',
  ...TRANSIENT_REASONS,
] as const;
export type QuoteError = (typeof QUOTE_ERRORS)[number];

const FailedQuote = closed({
  reason: Type.String({ description: "One of the pool contract's error names, or a sentence." }),
  quote: PostedQuoteJson,
});
type FailedQuote = Static<typeof FailedQuote>;

export const PostQuotesResult = closed({
  created: Type.Array(OrderbookQuote),
  failed: Type.Array(FailedQuote),
  exists: Type.Array(OrderbookQuote),
});
export type PostQuotesResult = Static<typeof PostQuotesResult>;

function nullableHash(pattern: string, description: string) {
  return Type.Union([Type.String({ pattern, description }), Type.Null()]);
}

const DryRunQuote = closed({
  outcome: Type.Enum(['created', 'exists', 'failed'], { type: 'string', description: 'Where POST would list it.' }),
  reasons: Type.Array(Type.String(), { description: 'All there are; POST would tell the first.' }),
  poolAddress: nullableHash('^0x[0-9a-f]{40}$', 'Null where no pool can have this key.'),
  domainSeparator: nullableHash('^0x[0-9a-f]{64}$', "EIP-712: hash of the pool's domain."),
  digest: nullableHash('^0x[0-9a-f]{64}$', 'EIP-712: what has to be signed, and the id of the quote.'),
  signer: nullableHash('^0x[0-9a-f]{40}$', 'Who signed the digest; null: no such signature can be.'),
});
/** Items in the order of the request. */
export const DryRunResult = closed({ quotes: Type.Array(DryRunQuote) });
export type DryRunResult = Static<typeof DryRunResult>;

export const QuotesResult = Type.Array(OrderbookQuote, { description: 'Best price first, equal prices older first.' });

export const NamedQuotesResult = Type.Array(NamedOrderbookQuote, { description: 'With `fields=instrument`.' });

export const InvalidQuote = closed({
  reason: Type.Enum([...TRANSIENT_REASONS]),
  quote: OrderbookQuote,
});

/** Where a page of GET /orders goes on, for the server alone to read. */
const Cursor = text<string>('^[0-9]{1,15}-[0-9]{1,15}$', '`nextCursor` of the page before.');

export const OrdersResponse = closed({
  validQuotes: Type.Array(OrderbookQuote),
  invalidQuotes: Type.Array(InvalidQuote),
  nextCursor: Type.Optional(
    Type.Union([Cursor, Type.Null()], { description: 'With `limit` alone: where to go on; null: there is no more.' }),
  ),
});
export type OrdersResponse = Static<typeof OrdersResponse>;

export const NamedOrdersResponse = closed({
  ...OrdersResponse.properties,
  validQuotes: Type.Array(NamedOrderbookQuote),
  invalidQuotes: Type.Array(closed({ ...InvalidQuote.properties, quote: NamedOrderbookQuote })),
});
export type NamedOrdersResponse = Static<typeof NamedOrdersResponse>;

export const QuotesQuery = closed({
  poolAddress: Address,
  size: Uint256,
  side: SideText,
  chainId: ChainId,
  provider: Type.Optional(Address),
  taker: Type.Optional(Address),
  fields: Fields,
  ...asOf,
});
export type QuotesQuery = Static<typeof QuotesQuery>;

/** Exactly one of `poolAddress` and `instrument`. */
export const CoverQuery = closed({
  poolAddress: Type.Optional(Address),
  instrument: Type.Optional(InstrumentName),
  size: Uint256,
  side: SideText,
  chainId: ChainId,
  provider: Type.Optional(Address),
  taker: Type.Optional(Address),
});

export type CoverQuery = Static<typeof CoverQuery>;

const nullableAmount = (description: string) => Type.Union([Uint256, Type.Null()], { description });
const Calldata = text<`0x${string}`>('^0x([0-9a-f]{2})*$', 'What the taker sends to the contract.');
const FillCallJson = closed({ to: Address, data: Calldata });

/** Answer of GET /quotes/cover. */
export const CoverTerms = closed(
  {
    epoch: text<string>('^[0-9a-f]{16}$', 'The log whose events are numbered.'),
    asOfSeq: SafeUint,
    tsMs: SafeUint,
    isDeployed: Type.Boolean({ description: 'False: the pool has to be deployed before its quotes can be filled.' }),
    covered: Uint256,
    shortfall: Uint256,
    averagePrice: nullableAmount('Weighted by size, rounded against the taker; null without a leg.'),
    worstPrice: nullableAmount('Of the last leg; null without a leg.'),
    deadline: Type.Union([UnixSeconds, Type.Null()], { description: 'The earliest of a leg.' }),
    approval: Type.Union(
      [closed({ token: Address, decimals: Uint8, spender: Address, amount: Uint256 }), Type.Null()],
      {
        description: 'What the taker approves first. `amount` in units of 10^-`decimals` tokens, for all legs.',
      },
    ),
    bundle: Type.Union([FillCallJson, Type.Null()], {
      description: 'All legs in one transaction, which fills all or none; null with fewer than two.',
    }),
    legs: Type.Array(
      closed({
        take: Uint256,
        premium: Uint256,
        fee: Uint256,
        collateral: Uint256,
        pays: Uint256,
        call: FillCallJson,
        quote: OrderbookQuote,
      }),
    ),
  },
  {
    description:
      'The best quotes for a size, ready to be filled. `take` in 1e-18 contracts; `premium`, `fee`, `collateral` and `pays` in smallest units of the collateral token.',
  },
);
export type CoverTerms = Static<typeof CoverTerms>;

export const RfqQuotesQuery = closed({
  poolAddress: Address,
  side: SideText,
  chainId: ChainId,
  taker: Address,
  fields: Fields,
});
export type RfqQuotesQuery = Static<typeof RfqQuotesQuery>;

/** The ids alone say which chain is meant, anything else needs `chainId`. */
const CHAIN_OR_IDS = { anyOf: [{ required: ['chainId'] }, { required: ['quoteIds'] }] };
const MOST_ORDERS = 'Most orders in the answer, 1 to 1000; absent: all.';

function orderFilters(maxQuoteIds: number) {
  return {
    chainId: Type.Optional(ChainId),
    poolAddress: Type.Optional(Address),
    size: Type.Optional(Uint256),
    side: Type.Optional(SideText),
    provider: Type.Optional(Address),
    taker: Type.Optional(AddressOrAll),
    quoteIds: Type.Optional(
      Type.Array(Type.String({ description: 'Id of a quote; any other text names none.' }), {
        minItems: 1,
        maxItems: maxQuoteIds,
      }),
    ),
    cursor: Type.Optional(Cursor),
    fields: Fields,
  };
}

/** Of GET /orders. `maxQuoteIds`: most ids in one request. */
export function ordersQuery(maxQuoteIds: number) {
  const { cursor, ...filters } = orderFilters(maxQuoteIds);
  const limit = Type.Optional(text<string>('^([1-9][0-9]{0,2}|1000)$', MOST_ORDERS));
  return closed({ ...filters, limit, cursor, ...asOf }, CHAIN_OR_IDS);
}
export type OrdersQueryParams = Static<ReturnType<typeof ordersQuery>>;

/** Of POST /orders/query: the same filters, with `limit` as a number. */
export function ordersBody(maxQuoteIds: number) {
  const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: MOST_ORDERS }));
  return closed({ ...orderFilters(maxQuoteIds), limit }, CHAIN_OR_IDS);
}
export type OrdersBody = Static<ReturnType<typeof ordersBody>>;
