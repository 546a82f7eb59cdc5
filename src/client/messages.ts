import type { Hex } from 'viem';
import type { QuoteMessageType, ServerMessageV2 } from '../wire/feed-messages.js';
import type { FeedChannel } from '../wire/socket.js';

type OfType<T extends ServerMessageV2['type']> = Extract<ServerMessageV2, { readonly type: T }>;

/** An event of one quote, with its number, the engine's time and the block that caused it. */
export type QuoteEvent = OfType<QuoteMessageType>;

/** A taker asks makers for a quote. */
export type RfqEvent = OfType<'RFQ'>;
/** Progress of a request for quotes. */
export type RfqUpdateEvent = OfType<'RFQ_UPDATE'>;

/** How one of the key's own requests stands, with the best quote. */
export type RfqStatusEvent = OfType<'RFQ_STATUS'>;

export type BookUpdate = OfType<'ORDERBOOK_UPDATE'>;
export type BookSnapshot = OfType<'ORDERBOOK_SNAPSHOT'>;
export type QuotesSnapshotPage = OfType<'QUOTES_SNAPSHOT'>;
export type Acknowledgement = NonNullable<OfType<'INFO'>['body']>;
export type TickersPage = OfType<'TICKER_SNAPSHOT'>;
/** One pool at a glance, as it is now. */
export type TickerEvent = OfType<'TICKER'>;
/** The quotes that cover a size best, as they are now. */
export type CoverEvent = OfType<'COVER'>;
/** A fill on the settlement chain. */
export type TradeEvent = OfType<'TRADE'>;
/** A reorg undid the trades of all blocks after one. */
export type UndoTradesEvent = OfType<'UNDO_TRADES'>;
export type ResyncNotice = OfType<'RESYNC'>;
export type HeartbeatMessage = OfType<'HEARTBEAT'>;

/** A message of a subscription, which has a key; RESYNC has several. */
type KeyedMessage =
  | QuoteEvent
  | RfqEvent
  | RfqUpdateEvent
  | BookUpdate
  | BookSnapshot
  | QuotesSnapshotPage
  | TickersPage
  | TickerEvent
  | CoverEvent
  | TradeEvent
  | UndoTradesEvent;

/** True for the messages about a single quote. */
export function isQuoteEvent(message: KeyedMessage): message is QuoteEvent {
  return message.type.endsWith('_QUOTE');
}

export type Snapshot = Extract<
  KeyedMessage,
  { readonly type: 'QUOTES_SNAPSHOT' | 'ORDERBOOK_SNAPSHOT' | 'TICKER_SNAPSHOT' | 'COVER' }
>;
/** Messages with a `prevSeq`. */
export type NumberedMessage = Exclude<KeyedMessage, Snapshot | TickerEvent>;

/** The client's copy of a channel: its messages applied one after the other. */
export interface ChannelState {
  /** Null: the channel is a stream of events without a book. */
  readonly book: ReplicatedBook | null;
  /** Applies the next message, always of this channel. */
  apply(message: NumberedMessage | TickerEvent | CoverEvent): void;
}

export interface ReplicatedBook {
  clear(): void;
  /** `MORE`: pages follow. `WRONG`: its hash differs from the server's. */
  takeSnapshot(message: Snapshot): 'WHOLE' | 'MORE' | 'WRONG';
  /** Null: the server sends no hash for this channel. */
  hash(key: string): Hex | null;
  /** False: each connection starts from a snapshot. */
  readonly canResume: boolean;
  /** Called after the last page of a snapshot, when the book equals the server's. */
  onWhole(): void;
}

/** Where a subscription resumes: it has every event up to `fromSeq` of the log `epoch`. */
export interface FeedOffset {
  readonly epoch: string;
  readonly fromSeq: number;
}

/** `filter`: the fields to match. `place` null: start from a snapshot, or from now if the channel keeps no book. */
export function filterMessage(
  channel: FeedChannel,
  filter: object,
  { book }: ChannelState,
  place: FeedOffset | null,
): object {
  const body = { ...filter, ...place };
  if (channel !== 'QUOTES') return { type: 'FILTER', channel, body };
  // A client that keeps no quotes needs no snapshot when resuming fails: its filter may match more quotes than a
  // snapshot may have.
  if (book === null) return { type: 'FILTER', channel, body: { ...body, snapshot: false } };
  return { type: 'FILTER', channel, body: place === null ? { ...body, snapshot: true } : body };
}
