import type { Hex } from 'viem';
import type { QuoteMessageType, ServerMessageV2 } from '../wire/feed-messages.js';
import type { FeedChannel } from '../wire/socket.js';
import type { RefusedError } from './errors.js';

type OfType<T extends ServerMessageV2['type']> = Extract<ServerMessageV2, { readonly type: T }>;

/** What happened to one quote, with its number, the engine's time and the block that made it happen. */
export type QuoteFact = OfType<QuoteMessageType>;

/** A taker asks makers for a quote. */
export type RfqFact = OfType<'RFQ'>;

export type BookUpdate = OfType<'ORDERBOOK_UPDATE'>;
export type BookSnapshot = OfType<'ORDERBOOK_SNAPSHOT'>;
export type QuotesSnapshotPage = OfType<'QUOTES_SNAPSHOT'>;
export type Acknowledgement = NonNullable<OfType<'INFO'>['body']>;
export type TickersPage = OfType<'TICKER_SNAPSHOT'>;
/** One pool at a glance, as it is now. */
export type TickerFact = OfType<'TICKER'>;
export type ResyncNotice = OfType<'RESYNC'>;
export type HeartbeatMessage = OfType<'HEARTBEAT'>;

/** A message of a subscription, which has a key; RESYNC has several. */
type KeyedMessage = QuoteFact | RfqFact | BookUpdate | BookSnapshot | QuotesSnapshotPage | TickersPage | TickerFact;

/** Of the messages after a snapshot those that tell of one quote. */
export function isQuoteFact(message: KeyedMessage): message is QuoteFact {
  return message.type !== 'RFQ' && message.type !== 'TICKER' && 'cause' in message;
}

export type Snapshot = Extract<
  KeyedMessage,
  { readonly type: 'QUOTES_SNAPSHOT' | 'ORDERBOOK_SNAPSHOT' | 'TICKER_SNAPSHOT' }
>;
/** Says which one it follows. */
export type NumberedMessage = Exclude<KeyedMessage, Snapshot | TickerFact>;

/** What the messages of a subscription add up to. */
export interface ChannelState {
  /** Null: the channel tells what happens, and has no book. */
  readonly book: ReplicatedBook | null;
  /** The next message; one of another channel never comes. */
  apply(message: NumberedMessage | TickerFact): void;
}

export interface ReplicatedBook {
  clear(): void;
  /** `MORE`: pages follow. `WRONG`: what has come is not what was sent. */
  takeSnapshot(message: Snapshot): 'WHOLE' | 'MORE' | 'WRONG';
  /** Null: the server tells none. */
  hash(key: string): Hex | null;
  /** False: it begins anew on each connection. */
  readonly canResume: boolean;
  /** It is whole, and as the server has it: after a snapshot. */
  onWhole(): void;
}

/** Where a subscription goes on: it has everything up to `fromSeq` of that log. */
export interface FeedOffset {
  readonly epoch: string;
  readonly fromSeq: number;
}

/** `wish`: what is to be let through. `place` null: from a snapshot, or without a book from now. */
export function filterMessage(
  channel: FeedChannel,
  wish: object,
  { book }: ChannelState,
  place: FeedOffset | null,
): object {
  const body = { ...wish, ...place };
  if (channel !== 'QUOTES') return { type: 'FILTER', channel, body };
  // Who keeps no quotes wants none where going on fails, either: there may be more than a snapshot may have.
  if (book === null) return { type: 'FILTER', channel, body: { ...body, snapshot: false } };
  return { type: 'FILTER', channel, body: place === null ? { ...body, snapshot: true } : body };
}

/** The FILTER was refused for the quotes that its snapshot would have. */
export function isSnapshotTooLarge({ message }: RefusedError): boolean {
  return message.startsWith('Too many quotes for a snapshot');
}

/** The key had sent as many messages as it may in a second: it is not about this FILTER. */
export function isRateLimited({ message }: RefusedError): boolean {
  return message === 'RATELIMITED';
}
