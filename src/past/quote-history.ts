import { isShownTo } from '../auth/taker-access.js';
import type { EngineEvent } from '../engine/event.js';
import { type Hex, reasonName } from '../engine/quote.js';
import type { TimedEvent } from '../feed/event-history.js';
import type { LogHistory } from '../persistence/log/log-history.js';
import type { QuoteEventJson, QuoteHistoryResult } from '../wire/history.js';
import type { QuoteJson } from '../wire/quote-json.js';

export interface QuoteSearch {
  readonly quoteId: Hex;
  /** Null: from the oldest event that is kept. */
  readonly afterSeq: number | null;
  /** Addresses whose private quotes are found, as taker or as provider; null: every one. Others are as ones that never were. */
  readonly takers: readonly Hex[] | null;
  /** Most events that are found at once. */
  readonly limit: number;
  /** The last record to be read, which has to be durable. */
  readonly throughIndex: number;
}

export type QuoteSearchResult =
  | {
      readonly type: 'FOUND';
      /** Events up to this one are no longer kept. */
      readonly since: number;
      /** The last event that was looked at. */
      readonly asOfSeq: number;
      readonly events: readonly TimedEvent[];
      /** Where the search goes on; null: the whole log has been searched. */
      readonly next: number | null;
      readonly bytesRead: number;
    }
  /** Events up to `since`, of which some are wanted, are no longer kept. */
  | { readonly type: 'GONE'; readonly since: number };

/**
 * The events of one quote, oldest first: the log is searched for the quote's id, at most `maxBytes` of records at once.
 *
 * Once some of the log has been dropped, a search without `afterSeq` is GONE if it ends without QUOTE_POSTED: with other
 * events, or at the log's end. One that ends earlier at `maxBytes` is FOUND, and the searches that go on from there do
 * not know whether the beginning is missing: then no page has QUOTE_POSTED.
 */
export async function findQuoteEvents(
  history: LogHistory,
  search: QuoteSearch,
  maxBytes: number,
): Promise<QuoteSearchResult> {
  const since = await history.droppedThroughSeq();
  const { afterSeq } = search;
  if (afterSeq !== null && afterSeq < since) return { type: 'GONE', since };
  try {
    const found = await searchLog(history, search, since, maxBytes);
    const isOver = found.events.length > 0 || found.next === null;
    const hasBeginning = found.events.some(({ event }) => event.type === 'QUOTE_POSTED');
    return afterSeq === null && since > 0 && isOver && !hasBeginning ? { type: 'GONE', since } : found;
  } catch (error) {
    const now = await history.droppedThroughSeq();
    // A segment was dropped while it was read.
    if (now > since) return { type: 'GONE', since: now };
    throw error;
  }
}

async function searchLog(
  history: LogHistory,
  { quoteId, afterSeq, takers, limit, throughIndex }: QuoteSearch,
  since: number,
  maxBytes: number,
): Promise<Extract<QuoteSearchResult, { readonly type: 'FOUND' }>> {
  const start = afterSeq ?? since;
  const needle = Buffer.from(quoteId.slice(2), 'hex');
  const events: TimedEvent[] = [];
  let asOfSeq = start;
  let bytesRead = 0;
  const isWanted = (record: Buffer): boolean => record.includes(needle);
  for await (const { records, seq, bytes } of history.recordsWhere(isWanted, start, throughIndex)) {
    bytesRead += bytes;
    for (const { stamp, events: all } of records) {
      for (const event of all) {
        if (event.seq <= start || quoteIdOf(event) !== quoteId) continue;
        if (isShown(event, takers)) events.push({ event, tsMs: stamp.tsMs });
      }
    }
    asOfSeq = seq;
    const last = events[limit - 1];
    if (last !== undefined) {
      const next = last.event.seq;
      return { type: 'FOUND', since, asOfSeq: next, events: events.slice(0, limit), next, bytesRead };
    }
    if (bytesRead >= maxBytes) return { type: 'FOUND', since, asOfSeq, events, next: seq, bytesRead };
  }
  return { type: 'FOUND', since, asOfSeq, events, next: null, bytesRead };
}

/** Trades are shown: they are facts of the chain. */
function isShown(event: EngineEvent, takers: readonly Hex[] | null): boolean {
  return !('order' in event) || isShownTo(takers, event.order.quote);
}

/** The quote that the event is of; null: it is of none. */
function quoteIdOf(event: EngineEvent): Hex | null {
  if ('order' in event) return event.order.quote.quoteId;
  return event.type === 'TRADE_RECORDED' ? event.trade.quoteId : null;
}

/** The answer of GET /quotes/{quoteId}/history. */
export function quoteHistoryJson(
  quoteId: Hex,
  { since, asOfSeq, next, events }: Extract<QuoteSearchResult, { readonly type: 'FOUND' }>,
  quoteJson: QuoteJson,
): QuoteHistoryResult {
  return { quoteId, since, asOfSeq, next, events: events.flatMap((timed) => eventJson(timed, quoteJson) ?? []) };
}

function eventJson({ event, tsMs }: TimedEvent, quoteJson: QuoteJson): QuoteEventJson | null {
  const { seq, cause } = event;
  const common = { seq, tsMs, cause };
  if (event.type === 'TRADE_RECORDED') {
    const { size, price, fee, taker, blockHash } = event.trade;
    const terms = { size: size.toString(), price: price.toString(), fee: fee.toString(), taker, blockHash };
    return { ...common, type: 'TRADED', ...terms };
  }
  if (!('order' in event)) return null;
  const fillableSize = event.fillableSize.toString();
  switch (event.type) {
    case 'QUOTE_POSTED': {
      const quote = JSON.parse(quoteJson.encodeQuote(event.order.quote, event.fillableSize)) as QuoteEventJson['quote'];
      return { ...common, type: 'POSTED', fillableSize, reason: nameOf(event.reason), ...(quote && { quote }) };
    }
    case 'QUOTE_FILLED':
    case 'WITHDRAWN_QUOTE_FILLED':
      return { ...common, type: 'FILLED', fillableSize, size: event.size.toString() };
    case 'QUOTE_REMOVED':
      return { ...common, type: 'REMOVED', fillableSize, why: event.why };
    case 'QUOTE_INVALIDATED':
      return { ...common, type: 'INVALIDATED', fillableSize, reason: nameOf(event.reason) };
    case 'QUOTE_REVALIDATED':
      return { ...common, type: 'REVALIDATED', fillableSize, reason: null };
    case 'QUOTE_RESTATED':
      return { ...common, type: 'RESTATED', fillableSize, reason: nameOf(event.reason) };
    case 'WITHDRAWN_QUOTE_RESTATED':
      return { ...common, type: 'RESTATED', fillableSize };
    case 'QUOTE_WITHDRAWN':
      return { ...common, type: 'WITHDRAWN', fillableSize, why: event.reason };
    case 'QUOTE_RESTORED':
      return { ...common, type: 'RESTORED', fillableSize, reason: nameOf(event.reason) };
  }
}

function nameOf(reason: Parameters<typeof reasonName>[0] | null): NonNullable<QuoteEventJson['reason']> | null {
  return reason === null ? null : reasonName(reason);
}
