import t from 'tap';
import type { EngineEvent } from '../../src/engine/event.js';
import { InvalidReason } from '../../src/engine/quote.js';
import { type FeedMessage, messageOf } from '../../src/feed/event-messages.js';
import type { QuoteMessageType } from '../../src/wire/feed-messages.js';
import { eventOf, orderOf, rfqOf } from '../ws/event-samples.js';

const order = orderOf({ n: 1, size: 10n });
const broke = InvalidReason.InsufficientCollateralBalance;

const of = (type: QuoteMessageType, fillableSize: bigint, extra = {}): FeedMessage => ({
  type,
  quote: order.quote,
  fillableSize,
  extra,
});

type Case = readonly [what: string, event: EngineEvent, told: FeedMessage | null];

const cases: readonly Case[] = [
  [
    'a valid quote that is published is posted',
    eventOf({ type: 'QUOTE_POSTED', order, fillableSize: 10n, reason: null }),
    of('POST_QUOTE', 10n),
  ],
  [
    'a quote that enters as invalid is not told',
    eventOf({ type: 'QUOTE_POSTED', order, fillableSize: 10n, reason: broke }),
    null,
  ],
  [
    'a fill says what was taken and what is left',
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 7n, size: 3n, valid: true }),
    of('FILL_QUOTE', 7n, { size: '3' }),
  ],
  [
    'a fill of a quote outside the book is not told',
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 7n, size: 3n, valid: false }),
    null,
  ],
  [
    'a quote that is filled up is removed',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'FILLED', valid: true }),
    of('REMOVE_QUOTE', 0n),
  ],
  [
    'a quote that its maker takes back is cancelled',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 10n, why: 'CANCELLED', valid: true }),
    of('CANCEL_QUOTE', 10n),
  ],
  [
    'a quote whose deadline has passed expires',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 10n, why: 'EXPIRED', valid: true }),
    of('EXPIRE_QUOTE', 10n),
  ],
  [
    'a quote whose publication a reorg undoes is in the book no more',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 10n, why: 'REWOUND', valid: true }),
    of('UNDO_QUOTE', 10n, { valid: false }),
  ],
  [
    'the end of a quote outside the book is not told',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 10n, why: 'EXPIRED', valid: false }),
    null,
  ],
  [
    'an invalidated quote is published with its reason',
    eventOf({ type: 'QUOTE_INVALIDATED', order, fillableSize: 10n, reason: broke }),
    of('INVALIDATE_QUOTE', 10n, { reason: 'InsufficientCollateralBalance' }),
  ],
  [
    'a revalidated quote is published',
    eventOf({ type: 'QUOTE_REVALIDATED', order, fillableSize: 10n }),
    of('REVALIDATE_QUOTE', 10n),
  ],
  [
    'a fill that a reorg undoes leaves a valid quote',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: true, reason: null }),
    of('UNDO_QUOTE', 10n, { valid: true }),
  ],
  [
    'a cancel that a reorg undoes brings the quote back',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: false, reason: null }),
    of('UNDO_QUOTE', 10n, { valid: true }),
  ],
  [
    'a reorg that leaves a quote without its means takes it out of the book',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: true, reason: broke }),
    of('UNDO_QUOTE', 10n, { valid: false }),
  ],
  [
    'a reorg among the invalid is not told',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: false, reason: broke }),
    null,
  ],
  ['a pool that is deployed is not told', eventOf({ type: 'POOL_DEPLOYED', pool: order.quote.pool }), null],
  ['a pool that a reorg takes back is not told', eventOf({ type: 'POOL_WITHDRAWN', pool: order.quote.pool }), null],
  [
    'a request for quotes is published as sent',
    eventOf({ type: 'RFQ_PUBLISHED', rfq: rfqOf({ body: '{"side":"ask"}' }) }),
    { type: 'RFQ', json: '{"side":"ask"}', terms: null },
  ],
];

for (const [what, event, told] of cases) {
  t.test(what, async (t) => t.strictSame(messageOf(event), told));
}
