import Type, { type Static } from 'typebox';
import { CauseJson, WITHDRAWAL_REASONS } from './feed-messages.js';
import { InvalidQuote, OrderbookQuote, PoolKeyJson, SignatureJson, TRANSIENT_REASONS } from './orderbook.js';
import { Address, ChainId, closed, Hash, PageLimit, SafeUint, text, Uint256, UnixSeconds } from './primitives.js';

/** GET /quotes/{quoteId}/history. */
export const QuoteHistoryPath = closed({ quoteId: Hash });

export const QuoteHistoryQuery = closed({
  afterSeq: Type.Optional(
    text<string>('^[0-9]{1,15}$', 'Events after this one: `next` of the page before. Absent: all that are kept.'),
  ),
  limit: Type.Optional(PageLimit),
});

export type QuoteHistoryQuery = Static<typeof QuoteHistoryQuery>;

const Reason = Type.Union([Type.Enum([...TRANSIENT_REASONS], { type: 'string' }), Type.Null()]);

/** Events of the log, by their effect on the quote. */
const QUOTE_EVENTS = [
  'POSTED',
  'FILLED',
  'REMOVED',
  'INVALIDATED',
  'REVALIDATED',
  'RESTATED',
  'TRADED',
  'WITHDRAWN',
  'RESTORED',
] as const;

/** One event of a quote. Which further fields it has depends on `type`. */
export const QuoteEventJson = closed(
  {
    seq: SafeUint,
    tsMs: SafeUint,
    type: Type.Enum([...QUOTE_EVENTS], { type: 'string' }),
    cause: CauseJson,
    fillableSize: Type.Optional(Uint256),
    reason: Type.Optional(Reason),
    why: Type.Optional(
      Type.Enum(['FILLED', 'CANCELLED', 'EXPIRED', 'REWOUND', ...WITHDRAWAL_REASONS], { type: 'string' }),
    ),
    size: Type.Optional(Uint256),
    price: Type.Optional(Uint256),
    fee: Type.Optional(Uint256),
    taker: Type.Optional(Address),
    blockHash: Type.Optional(Hash),
    quote: Type.Optional(OrderbookQuote),
  },
  { description: 'An event of a quote. Which of the optional fields it has depends on `type`.' },
);
export type QuoteEventJson = Static<typeof QuoteEventJson>;

export const QuoteHistoryResult = closed({
  quoteId: Hash,
  since: SafeUint,
  asOfSeq: SafeUint,
  next: Type.Union([SafeUint, Type.Null()], { description: '`afterSeq` of the next page; null: there is none.' }),
  events: Type.Array(QuoteEventJson),
});
export type QuoteHistoryResult = Static<typeof QuoteHistoryResult>;

/** GET /book/{pool}/proof. */
export const BookProofPath = closed({ pool: Address });

export const BookProofQuery = closed({
  chainId: ChainId,
  seq: text<string>('^[0-9]{1,15}$', 'The event of the log that the book is as of.'),
});
export type BookProofQuery = Static<typeof BookProofQuery>;

const Position = Type.Union(
  [closed({ blockNumber: SafeUint, blockHash: Hash, logIndex: Type.Union([SafeUint, Type.Null()]) }), Type.Null()],
  { description: 'How far the chain was read; `logIndex` null: the whole block. Null: nothing was read.' },
);
const published = closed({ blockNumber: SafeUint, txHash: Hash, logIndex: SafeUint });

/** Evidence that the provider withdrew a quote. Each has its meaning in docs/reference/api.md. */
const WITHDRAWAL_EVIDENCE = ['SIGNATURE', 'SESSION', 'RULE', 'NOT_RECORDED', 'NOT_SHOWN'] as const;

const ProvenWithdrawal = closed(
  {
    seq: SafeUint,
    tsMs: SafeUint,
    reason: Type.Enum([...WITHDRAWAL_REASONS], { type: 'string' }),
    evidence: Type.Enum([...WITHDRAWAL_EVIDENCE], { type: 'string' }),
    signed: Type.Union(
      [
        closed({ quoteIds: Type.Array(Hash), nonce: Uint256, deadline: UnixSeconds, signature: SignatureJson }),
        Type.Null(),
      ],
      { description: 'With `evidence` SIGNATURE: the EIP-712 message `WithdrawQuotes`, without its provider.' },
    ),
  },
  { description: 'The event of the withdrawal.' },
);

export const BookProof = closed(
  {
    chainId: ChainId,
    poolAddress: Address,
    poolKey: Type.Union([PoolKeyJson, Type.Null()]),
    seq: SafeUint,
    tsMs: SafeUint,
    hash: Hash,
    streamContract: Address,
    stream: Position,
    settlement: Position,
    quotes: Type.Array(closed({ quote: OrderbookQuote, published }), { description: 'The public quotes of the book.' }),
    invalid: Type.Array(closed({ ...InvalidQuote.properties, published })),
    withdrawn: Type.Array(
      closed({
        quote: OrderbookQuote,
        published,
        withdrawal: Type.Union([ProvenWithdrawal, Type.Null()], {
          description: 'Null: the log that is kept does not have it.',
        }),
      }),
      { description: 'Hidden by their providers: the chain says nothing of it.' },
    ),
  },
  { description: "What it takes to compute a pool's book hash from the chains alone." },
);
export type BookProof = Static<typeof BookProof>;
