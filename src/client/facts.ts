import type { QuoteMessageType, ServerMessageV2 } from '../wire/feed-messages.js';

type OfType<T extends ServerMessageV2['type']> = Extract<ServerMessageV2, { readonly type: T }>;

/** What happened to one quote, with its number, the engine's time and the block that made it happen. */
export type QuoteFact = OfType<QuoteMessageType>;

/** A taker asks makers for a quote. */
export type RfqFact = OfType<'RFQ'>;

export type BookUpdate = OfType<'ORDERBOOK_UPDATE'>;
export type BookSnapshot = OfType<'ORDERBOOK_SNAPSHOT'>;
export type QuotesPage = OfType<'QUOTES_SNAPSHOT'>;
export type Acknowledgement = NonNullable<OfType<'INFO'>['body']>;
export type TickersPage = OfType<'TICKER_SNAPSHOT'>;
/** One pool at a glance, as it is now. */
export type TickerFact = OfType<'TICKER'>;
export type ResyncNotice = OfType<'RESYNC'>;
export type HeartbeatMessage = OfType<'HEARTBEAT'>;

/** A message of a subscription, which has a key; RESYNC has several. */
export type KeyedMessage = QuoteFact | RfqFact | BookUpdate | BookSnapshot | QuotesPage | TickersPage | TickerFact;

/** Of the messages after a snapshot those that tell of one quote. */
export function isQuoteFact(message: KeyedMessage): message is QuoteFact {
  return message.type !== 'RFQ' && message.type !== 'TICKER' && 'cause' in message;
}
