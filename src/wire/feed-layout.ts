/**
 * How each message is written as a MessagePack array: its fields in this order, without their names. The same tables
 * read and write, and docs/reference/api.md shows them; positions are only ever added at an end.
 */
export type Kind =
  | 'text'
  | 'uint'
  | 'bool'
  /** JSON: 0x and digits. MessagePack: bin. */
  | 'hex'
  /** JSON: decimal digits. MessagePack: bin, big endian, no leading zeros; 0 is empty. */
  | 'amount'
  /** MessagePack: JSON text. */
  | 'json'
  /** A field that may be null: nil. */
  | { readonly nullable: Kind }
  /** A field that may be left out in JSON: nil. */
  | { readonly optional: Kind }
  | { readonly list: Kind }
  | Fields;

export interface Fields {
  readonly fields: readonly (readonly [name: string, kind: Kind])[];
}

function record(fields: Readonly<Record<string, Kind>>): Fields {
  return { fields: Object.entries(fields) };
}

/** The three addresses of a pool key are texts, because their letter case is a checksum. */
const POOL_KEY = record({
  base: 'text',
  quote: 'text',
  oracleAdapter: 'text',
  strike: 'amount',
  maturity: 'uint',
  isCallPool: 'bool',
});

export const QUOTE = record({
  quoteId: 'hex',
  poolAddress: 'hex',
  poolKey: POOL_KEY,
  chainId: 'text',
  provider: 'hex',
  taker: 'hex',
  price: 'amount',
  size: 'amount',
  isBuy: 'bool',
  deadline: 'uint',
  salt: 'uint',
  signature: record({ r: 'hex', s: 'hex', v: 'uint' }),
  ts: 'uint',
  fillableSize: 'amount',
  instrument: { optional: 'text' },
});

const CAUSE = record({ chain: 'text', blockNumber: 'uint', txHash: 'hex', logIndex: 'uint' });
const LEVEL = record({ price: 'amount', size: 'amount', count: 'uint' });
const LEVELS = record({ bids: { list: LEVEL }, asks: { list: LEVEL } });
const BEST = record({ price: 'amount', size: 'amount' });
const TICKER = record({
  poolAddress: 'hex',
  poolKey: POOL_KEY,
  bid: { nullable: BEST },
  ask: { nullable: BEST },
  filledSize24h: 'amount',
  volume24h: { nullable: 'amount' },
  openInterest: { nullable: 'amount' },
});
export const COVER = record({
  covered: 'amount',
  shortfall: 'amount',
  averagePrice: { nullable: 'amount' },
  worstPrice: { nullable: 'amount' },
  deadline: { nullable: 'uint' },
  legs: { list: record({ take: 'amount', quote: QUOTE }) },
});
const TRADE = record({
  poolAddress: 'hex',
  instrument: { nullable: 'text' },
  quoteId: 'hex',
  side: 'text',
  price: 'amount',
  size: 'amount',
  fee: 'amount',
  provider: 'hex',
  taker: 'hex',
  time: 'uint',
  blockNumber: 'uint',
  blockHash: 'hex',
  txHash: 'hex',
  logIndex: 'uint',
});
const BLOCK = record({ blockNumber: 'uint', blockHash: 'hex', timestamp: 'uint' });
const CHAIN = record({
  block: { nullable: BLOCK },
  lateMs: { nullable: 'uint' },
  stale: { nullable: 'text' },
  readTo: { nullable: 'uint' },
});

const numbered = { key: 'text', seq: 'uint', prevSeq: 'uint', tsMs: 'uint' } as const;
const eventFields = { ...numbered, cause: { nullable: CAUSE } } as const;

/** The fields after `type`. A type is written as its place in this list. */
export const MESSAGES = {
  INFO: record({
    body: { nullable: record({ channel: 'text', keys: { list: 'text' }, seq: 'uint', epoch: 'text' }) },
    message: 'text',
    id: { optional: 'text' },
  }),
  ERROR: record({ body: { nullable: 'json' }, message: 'text', code: 'text', id: { optional: 'text' } }),
  POST_QUOTE: record({ ...eventFields, body: QUOTE }),
  FILL_QUOTE: record({ ...eventFields, size: 'amount', body: QUOTE }),
  REMOVE_QUOTE: record({ ...eventFields, body: QUOTE }),
  CANCEL_QUOTE: record({ ...eventFields, body: QUOTE }),
  EXPIRE_QUOTE: record({ ...eventFields, body: QUOTE }),
  INVALIDATE_QUOTE: record({ ...eventFields, reason: 'text', body: QUOTE }),
  REVALIDATE_QUOTE: record({ ...eventFields, body: QUOTE }),
  UNDO_QUOTE: record({ ...eventFields, valid: 'bool', body: QUOTE }),
  RFQ: record({ ...eventFields, body: 'json', terms: { optional: 'json' } }),
  QUOTES_SNAPSHOT: record({
    key: 'text',
    seq: 'uint',
    tsMs: 'uint',
    hash: 'hex',
    more: 'bool',
    body: { list: QUOTE },
  }),
  ORDERBOOK_SNAPSHOT: record({ key: 'text', seq: 'uint', tsMs: 'uint', levelsHash: 'hex', body: LEVELS }),
  ORDERBOOK_UPDATE: record({ ...numbered, from: { optional: 'uint' }, body: LEVELS }),
  RESYNC: record({ channel: 'text', keys: { list: 'text' }, seq: 'uint', epoch: 'text', reason: 'text' }),
  HEARTBEAT: record({
    seq: 'uint',
    serverTimeMs: 'uint',
    chains: record({ settlement: CHAIN, stream: CHAIN }),
    books: { list: record({ key: 'text', hash: 'hex' }) },
  }),
  TICKER_SNAPSHOT: record({ key: 'text', seq: 'uint', tsMs: 'uint', more: 'bool', body: { list: TICKER } }),
  TICKER: record({ key: 'text', seq: 'uint', tsMs: 'uint', body: TICKER }),
  COVER: record({ key: 'text', seq: 'uint', tsMs: 'uint', body: COVER }),
  QUOTES_POSTED: record({ body: 'json', id: { optional: 'text' } }),
  QUOTES_CHECKED: record({ body: 'json', id: { optional: 'text' } }),
  QUOTES_CANCELLED: record({ body: 'json', id: { optional: 'text' } }),
  WITHDRAW_QUOTE: record({ ...eventFields, reason: 'text', body: QUOTE }),
  RESTORE_QUOTE: record({ ...eventFields, body: QUOTE }),
  RFQ_UPDATE: record({ ...eventFields, body: 'json' }),
  RFQ_STATUS: record({ seq: 'uint', tsMs: 'uint', body: 'json' }),
  QUOTES_WITHDRAWN: record({ body: 'json', id: { optional: 'text' } }),
  QUOTES_RESTORED: record({ body: 'json', id: { optional: 'text' } }),
  TRADE: record({ ...eventFields, body: TRADE }),
  UNDO_TRADES: record({ ...eventFields, body: record({ blockNumber: 'uint' }) }),
  TIMER_SET: record({ body: 'json', id: { optional: 'text' } }),
  FILL_LIMIT_SET: record({ body: 'json', id: { optional: 'text' } }),
} as const satisfies Readonly<Record<string, Fields>>;

export type MessageType = keyof typeof MESSAGES;

export const MESSAGE_TYPES = Object.keys(MESSAGES) as readonly MessageType[];

/** Types of the answers of calls. */
const CALL_RESULT_TYPES = [
  'QUOTES_POSTED',
  'QUOTES_CHECKED',
  'QUOTES_CANCELLED',
  'QUOTES_WITHDRAWN',
  'QUOTES_RESTORED',
  'TIMER_SET',
  'FILL_LIMIT_SET',
] as const;
export type CallResultType = (typeof CALL_RESULT_TYPES)[number];

/** True of the answer of a call. */
export function isCallResult<Message extends { readonly type: string | null }>(
  message: Message,
): message is Extract<Message, { readonly type: CallResultType }> {
  return (CALL_RESULT_TYPES as readonly (string | null)[]).includes(message.type);
}
