import type { RequestTerms } from '../engine/command.js';
import type { Cause, EngineEvent, RfqChanged, TradeRecorded, TradesUndone } from '../engine/event.js';
import { type Quote, reasonName } from '../engine/quote.js';
import { LruMap } from '../system/lru-map.js';
import { COVER, type Fields, MESSAGE_TYPES, MESSAGES, type MessageType, QUOTE } from '../wire/feed-layout.js';
import type {
  CoverJson,
  CoverMessage,
  QuoteMessageType,
  QuotesSnapshot,
  RfqTermsJson,
  RfqUpdateJson,
  ServerMessageV2,
} from '../wire/feed-messages.js';
import {
  arrayHead,
  encodeAmount,
  encodeArray,
  encodeElements,
  encodeMessage,
  packFields,
} from '../wire/feed-msgpack.js';
import { tradeJson } from '../wire/market.js';
import { QuoteJson } from '../wire/quote-json.js';
import type { HeldQuote } from './committed-book.js';
import type { Cover } from './cover.js';
import type { TimedEvent } from './event-history.js';

/** An event as the feed publishes it. `extra`: its message's fields between `cause` and `body`. */
export type FeedMessage =
  | { readonly type: QuoteMessageType; readonly quote: Quote; readonly fillableSize: bigint; readonly extra: Extra }
  /** `json`: the body; `terms`: of a request that is followed, as JSON. */
  | { readonly type: 'RFQ' | 'RFQ_UPDATE'; readonly json: string; readonly terms: string | null };

type Extra = Readonly<Record<string, string | boolean>>;

const REMOVALS = {
  FILLED: 'REMOVE_QUOTE',
  CANCELLED: 'CANCEL_QUOTE',
  EXPIRED: 'EXPIRE_QUOTE',
  REWOUND: 'UNDO_QUOTE',
} as const;

/**
 * One event makes at most one message of QUOTES or RFQ: they follow the book of valid quotes. Of a withdrawn quote
 * nothing is in the book, so that a fill leaves nothing of it to those who keep one.
 */
export function messageOf(event: EngineEvent): FeedMessage | null {
  switch (event.type) {
    case 'QUOTE_POSTED':
      return event.reason === null ? ofQuote('POST_QUOTE', event, {}) : null;
    case 'QUOTE_FILLED':
      return event.valid ? ofQuote('FILL_QUOTE', event, { size: event.size.toString() }) : null;
    case 'QUOTE_REMOVED':
      return event.valid ? ofQuote(REMOVALS[event.why], event, event.why === 'REWOUND' ? { valid: false } : {}) : null;
    case 'QUOTE_INVALIDATED':
      return ofQuote('INVALIDATE_QUOTE', event, { reason: reasonName(event.reason) });
    case 'QUOTE_REVALIDATED':
      return ofQuote('REVALIDATE_QUOTE', event, {});
    case 'QUOTE_RESTATED': {
      const valid = event.reason === null;
      return valid || event.wasValid ? ofQuote('UNDO_QUOTE', event, { valid }) : null;
    }
    case 'QUOTE_WITHDRAWN':
      return event.valid ? ofQuote('WITHDRAW_QUOTE', event, { reason: event.reason }) : null;
    case 'QUOTE_RESTORED':
      return event.reason === null ? ofQuote('RESTORE_QUOTE', event, {}) : null;
    case 'WITHDRAWN_QUOTE_FILLED':
      return ofQuote('FILL_QUOTE', { ...event, fillableSize: 0n }, { size: event.size.toString() });
    case 'RFQ_PUBLISHED':
      return {
        type: 'RFQ',
        json: event.rfq.body,
        terms: event.terms === undefined ? null : JSON.stringify(rfqTermsJson(event.terms)),
      };
    case 'RFQ_CHANGED':
      return { type: 'RFQ_UPDATE', json: JSON.stringify(rfqUpdateJson(event)), terms: null };
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
    case 'TRADE_RECORDED':
    case 'TRADES_UNDONE':
    case 'WITHDRAWN_QUOTE_RESTATED':
      return null;
  }
}

function ofQuote(
  type: QuoteMessageType,
  { order, fillableSize }: Extract<EngineEvent, { fillableSize: bigint }>,
  extra: Extra,
): FeedMessage {
  return { type, quote: order.quote, fillableSize, extra };
}

/** A request's terms, as makers see them. */
function rfqTermsJson({ rfqId, validUntil, taker, leg }: RequestTerms): RfqTermsJson {
  return { rfqId, validUntil, anonymous: taker !== null, ...(leg !== null && { leg }) };
}

/** A request's progress, as makers see it. */
function rfqUpdateJson({ rfqId, status, filledSize, quotes, taker }: RfqChanged): RfqUpdateJson {
  return { rfqId, status, filledSize: filledSize.toString(), quotes, ...(taker !== null && { taker }) };
}

export type EncodingName = 'json' | 'msgpack';

/** The fields of a message that depend on its topic: the key, and the previous message under it. */
export interface TopicPosition {
  readonly key: string;
  readonly prevSeq: number;
}

/** An event's message but for its position in a topic. Made once for all readers. */
export type MessageTemplate = (place: TopicPosition) => Uint8Array;

/** One form of the feed's messages. */
export interface Encoding {
  readonly name: EncodingName;
  readonly isBinary: boolean;
  /** Null: the feed does not publish the event. */
  event(timed: TimedEvent): MessageTemplate | null;
  /** One page of a book's quotes. */
  quotes(page: QuotesPage): Uint8Array;
  /** COVER. */
  cover(page: CoverPage): Uint8Array;
  message(message: ServerMessageV2): Uint8Array;
}

/** QUOTES_SNAPSHOT, its quotes not written yet. */
export type QuotesPage = Omit<QuotesSnapshot, 'type' | 'body'> & { readonly held: readonly HeldQuote[] };

/** COVER, its quotes not written yet. */
export type CoverPage = Omit<CoverMessage, 'type' | 'body'> & { readonly cover: Cover };

export class JsonEncoding implements Encoding {
  readonly name = 'json';
  readonly isBinary = false;
  readonly #quotes: QuoteJson;

  constructor(quotes: QuoteJson) {
    this.#quotes = quotes;
  }

  event({ event, tsMs }: TimedEvent): MessageTemplate | null {
    if (isTradeEvent(event)) return this.#trade(event, tsMs);
    const published = messageOf(event);
    if (published === null) return null;
    const cause = JSON.stringify(causeJson(event.cause));
    const extra = 'json' in published ? '' : JSON.stringify(published.extra).slice(1, -1);
    const terms = 'json' in published && published.terms !== null ? `,"terms":${published.terms}` : '';
    const tail = `"tsMs":${tsMs},"cause":${cause},${extra && `${extra},`}"body":${this.#body(published)}${terms}}`;
    return ({ key, prevSeq }) =>
      Buffer.from(`{"type":"${published.type}","key":"${key}","seq":${event.seq},"prevSeq":${prevSeq},${tail}`);
  }

  quotes({ key, seq, tsMs, hash, more, held }: QuotesPage): Uint8Array {
    const head = JSON.stringify({ type: 'QUOTES_SNAPSHOT', key, seq, tsMs, hash, more });
    const body = held.map(({ quote, fillableSize }) => this.#quotes.encodeQuote(quote, fillableSize));
    return Buffer.from(`${head.slice(0, -1)},"body":[${body.join(',')}]}`);
  }

  cover({ key, seq, tsMs, cover }: CoverPage): Uint8Array {
    const head = JSON.stringify({ type: 'COVER', key, seq, tsMs }).slice(0, -1);
    const body = JSON.stringify(coverHead(cover)).slice(0, -1);
    const legs = cover.legs.map(
      ({ quote, fillableSize, take }) => `{"take":"${take}","quote":${this.#quotes.encodeQuote(quote, fillableSize)}}`,
    );
    return Buffer.from(`${head},"body":${body},"legs":[${legs.join(',')}]}}`);
  }

  message(message: ServerMessageV2): Uint8Array {
    return Buffer.from(JSON.stringify(message));
  }

  #trade(event: TradeEvent, tsMs: number): MessageTemplate {
    const { type, body } = tradeMessageOf(event, this.#quotes);
    const { seq, cause } = event;
    const tail = JSON.stringify({ tsMs, cause: causeJson(cause), body }).slice(1);
    return ({ key, prevSeq }) => {
      const head = JSON.stringify({ type, key, seq, prevSeq }).slice(0, -1);
      return Buffer.from(`${head},${tail}`);
    };
  }

  #body(published: FeedMessage): string {
    return 'json' in published ? published.json : this.#quotes.encodeQuote(published.quote, published.fillableSize);
  }
}

/** Positional MessagePack, as `feed-layout.ts` says. All but what is fillable of a quote is kept as bytes, like its JSON. */
export class MsgpackEncoding implements Encoding {
  readonly name = 'msgpack';
  readonly isBinary = true;
  readonly #quotes: QuoteJson;
  readonly #heads: LruMap<Quote, { readonly before: Uint8Array; readonly after: Uint8Array }>;

  constructor(quotes: QuoteJson, writtenQuotes: number) {
    this.#quotes = quotes;
    this.#heads = new LruMap(writtenQuotes);
  }

  event({ event, tsMs }: TimedEvent): MessageTemplate | null {
    if (isTradeEvent(event)) return this.#trade(event, tsMs);
    const published = messageOf(event);
    if (published === null) return null;
    const { type, count, shared } = LAYOUTS[published.type];
    const { cause, seq } = event;
    const elements = packFields(shared, 'json' in published ? { tsMs, cause } : { tsMs, cause, ...published.extra });
    const body =
      'json' in published
        ? [encodeElements(published.type === 'RFQ' ? [published.json, published.terms] : [published.json])]
        : this.#quote(published.quote, published.fillableSize);
    const rest = encodeElements(elements, ...body);
    return ({ key, prevSeq }) => encodeArray(count, [type, key, seq, prevSeq], rest);
  }

  quotes({ held, ...head }: QuotesPage): Uint8Array {
    const { fields } = MESSAGES.QUOTES_SNAPSHOT;
    const type = MESSAGE_TYPES.indexOf('QUOTES_SNAPSHOT');
    const elements = [type, ...packFields({ fields: fields.slice(0, -1) }, head)];
    const body = held.flatMap(({ quote, fillableSize }) => this.#quote(quote, fillableSize));
    return encodeArray(1 + fields.length, elements, arrayHead(held.length), ...body);
  }

  cover({ cover, ...head }: CoverPage): Uint8Array {
    const { fields } = MESSAGES.COVER;
    const type = MESSAGE_TYPES.indexOf('COVER');
    const elements = [type, ...packFields({ fields: fields.slice(0, -1) }, head)];
    const body = packFields({ fields: COVER.fields.slice(0, -1) }, coverHead(cover));
    const legs = cover.legs.flatMap(({ quote, fillableSize, take }) => [
      LEG_HEAD,
      encodeAmount(take),
      ...this.#quote(quote, fillableSize),
    ]);
    const rest = encodeArray(COVER.fields.length, body, arrayHead(cover.legs.length), ...legs);
    return encodeArray(1 + fields.length, elements, rest);
  }

  message(message: ServerMessageV2): Uint8Array {
    return encodeMessage(message);
  }

  #trade(event: TradeEvent, tsMs: number): MessageTemplate {
    const message = tradeMessageOf(event, this.#quotes);
    const { fields } = MESSAGES[message.type];
    const { type, count } = LAYOUTS[message.type];
    const { seq, cause } = event;
    const rest = encodeElements(
      packFields({ fields: fields.slice(KEY_SEQ_PREV_SEQ) }, { tsMs, cause, body: message.body }),
    );
    return ({ key, prevSeq }) => encodeArray(count, [type, key, seq, prevSeq], rest);
  }

  /** Its bytes, in parts. */
  #quote(quote: Quote, fillableSize: bigint): Uint8Array[] {
    let head = this.#heads.get(quote);
    if (head === undefined) {
      const fixed = this.#quotes.fixed(quote);
      head = {
        before: encodeArray(QUOTE.fields.length, packFields(BEFORE_FILLABLE, fixed)),
        after: encodeElements(packFields(AFTER_FILLABLE, fixed)),
      };
      this.#heads.set(quote, head);
    }
    return [head.before, encodeAmount(fillableSize), head.after];
  }
}

/** Fields of an event's message that differ from reader to reader, ahead of all others. */
const KEY_SEQ_PREV_SEQ = 3;
/** How a message is written: its type, how many elements it has, and those between what differs and its body. */
interface MessageLayout {
  readonly type: number;
  readonly count: number;
  readonly shared: Fields;
}
const LAYOUTS = Object.fromEntries<MessageLayout>(
  MESSAGE_TYPES.map((name, type) => {
    const { fields } = MESSAGES[name];
    const body = fields.findIndex(([field]) => field === 'body');
    return [name, { type, count: 1 + fields.length, shared: { fields: fields.slice(KEY_SEQ_PREV_SEQ, body) } }];
  }),
) as Record<MessageType, MessageLayout>;
/** All of a quote but what is fillable of it. */
const FILLABLE = QUOTE.fields.findIndex(([name]) => name === 'fillableSize');
const BEFORE_FILLABLE: Fields = { fields: QUOTE.fields.slice(0, FILLABLE) };
const AFTER_FILLABLE: Fields = { fields: QUOTE.fields.slice(FILLABLE + 1) };

/** An array of `take` and the quote. */
const LEG_HEAD = arrayHead(2);

/** A cover but for its legs. */
function coverHead({ covered, shortfall, averagePrice, worstPrice, deadline }: Cover): Omit<CoverJson, 'legs'> {
  return {
    covered: covered.toString(),
    shortfall: shortfall.toString(),
    averagePrice: averagePrice?.toString() ?? null,
    worstPrice: worstPrice?.toString() ?? null,
    deadline,
  };
}

type TradeEvent = TradeRecorded | TradesUndone;

function isTradeEvent(event: EngineEvent): event is TradeEvent {
  return event.type === 'TRADE_RECORDED' || event.type === 'TRADES_UNDONE';
}

/** The message of TRADES that tells of an event. */
function tradeMessageOf(event: TradeEvent, quotes: Pick<QuoteJson, 'instrumentOf'>) {
  if (event.type === 'TRADES_UNDONE') {
    return { type: 'UNDO_TRADES', body: { blockNumber: event.blockNumber } } as const;
  }
  const { trade, cause } = event;
  return { type: 'TRADE', body: tradeJson(trade, cause, quotes.instrumentOf(trade.pool)) } as const;
}

/** The fields in their order on the wire. */
function causeJson(cause: Cause | null) {
  if (cause === null) return null;
  const { chain, blockNumber, txHash, logIndex } = cause;
  return { chain, blockNumber, txHash, logIndex };
}
