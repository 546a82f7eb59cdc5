import t from 'tap';
import type { EngineEvent } from '../../src/engine/event.js';
import { InvalidReason } from '../../src/engine/quote.js';
import { ServerMessage } from '../../src/wire/socket.js';
import { compile } from '../../src/wire/validation.js';
import { plainForm } from '../../src/ws/publisher.js';
import { eventOf, orderOf, rfqOf } from './event-samples.js';
import { quoteJson } from './gateway-fixture.js';
import { plainMessagesOf } from './plain-messages.js';

const order = orderOf({ n: 1, size: 10n });
const broke = InvalidReason.InsufficientCollateralBalance;
const text = (fillableSize: bigint) => quoteJson.encode(order, fillableSize);

const post = (left: bigint) => `{"type":"POST_QUOTE","body":${text(left)}}`;
const fill = (left: bigint, size: bigint) => `{"type":"FILL_QUOTE","body":${text(left)},"size":"${size}"}`;
const del = (left: bigint) => `{"type":"DELETE_QUOTE","body":${text(left)}}`;

type Case = readonly [what: string, event: EngineEvent, messages: readonly string[]];

const cases: readonly Case[] = [
  [
    'a valid quote that is published is posted',
    eventOf({ type: 'QUOTE_POSTED', order, fillableSize: 10n, reason: null }),
    [post(10n)],
  ],
  [
    'a quote that enters as invalid is not told',
    eventOf({ type: 'QUOTE_POSTED', order, fillableSize: 10n, reason: broke }),
    [],
  ],
  [
    'a fill says what was taken and what is left',
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 7n, size: 3n, valid: true }),
    [fill(7n, 3n)],
  ],
  [
    'a fill of a quote outside the book is not told',
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 7n, size: 3n, valid: false }),
    [],
  ],
  [
    'a quote that is removed is deleted',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'CANCELLED', valid: true }),
    [del(0n)],
  ],
  [
    'the end of a quote outside the book is not told',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 10n, why: 'EXPIRED', valid: false }),
    [],
  ],
  [
    'a quote that can’t be filled any more is deleted',
    eventOf({ type: 'QUOTE_INVALIDATED', order, fillableSize: 10n, reason: broke }),
    [del(10n)],
  ],
  [
    'a quote that can be filled again is posted',
    eventOf({ type: 'QUOTE_REVALIDATED', order, fillableSize: 10n }),
    [post(10n)],
  ],
  [
    'a fill that a reorg undoes is a delete and a post',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: true, reason: null }),
    [del(10n), post(10n)],
  ],
  [
    'a cancel that a reorg undoes is a post',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: false, reason: null }),
    [post(10n)],
  ],
  [
    'a reorg that leaves a quote without its means is a delete',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: true, reason: broke }),
    [del(10n)],
  ],
  [
    'a reorg among the invalid is not told',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 10n, wasValid: false, reason: broke }),
    [],
  ],
  ['a pool that is deployed is not told', eventOf({ type: 'POOL_DEPLOYED', pool: order.quote.pool }), []],
  ['a pool that a reorg takes back is not told', eventOf({ type: 'POOL_WITHDRAWN', pool: order.quote.pool }), []],
  [
    'a request for quotes is published as sent',
    eventOf({ type: 'RFQ_PUBLISHED', rfq: rfqOf({ body: '{"side":"ask"}' }) }),
    ['{"type":"RFQ","body":{"side":"ask"}}'],
  ],
];

for (const [what, event, messages] of cases) {
  t.test(what, async (t) => t.same(plainMessagesOf(event, plainForm(quoteJson)), messages));
}

t.test('messages about quotes match the schema', async (t) => {
  const check = compile(ServerMessage, 20);
  const messages = cases.flatMap(([, event]) =>
    event.type === 'RFQ_PUBLISHED' ? [] : plainMessagesOf(event, plainForm(quoteJson)),
  );
  t.ok(messages.length > 0);
  for (const message of messages)
    t.same(check(JSON.parse(message)), { ok: true, value: JSON.parse(message) as unknown });
});
