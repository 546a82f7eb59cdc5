import type { EngineEvent } from '../engine/event.js';
import { type Quote, reasonName } from '../engine/quote.js';
import type { QuoteMessageType } from '../wire/feed-messages.js';

/** What an event is called on the feed, with what its message has between `cause` and `body`. */
export type Told =
  | { readonly type: QuoteMessageType; readonly quote: Quote; readonly fillableSize: bigint; readonly extra: Extra }
  | { readonly type: 'RFQ'; readonly rfq: string };

type Extra = Readonly<Record<string, string | boolean>>;

const REMOVALS = {
  FILLED: 'REMOVE_QUOTE',
  CANCELLED: 'CANCEL_QUOTE',
  EXPIRED: 'EXPIRE_QUOTE',
  REWOUND: 'UNDO_QUOTE',
} as const;

/** One event is one message, or none: the feed follows the book of valid quotes. */
export function toldOf(event: EngineEvent): Told | null {
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
    case 'RFQ_PUBLISHED':
      return { type: 'RFQ', rfq: event.rfq.body };
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
      return null;
  }
}

function ofQuote(
  type: QuoteMessageType,
  { order, fillableSize }: Extract<EngineEvent, { fillableSize: bigint }>,
  extra: Extra,
): Told {
  return { type, quote: order.quote, fillableSize, extra };
}
