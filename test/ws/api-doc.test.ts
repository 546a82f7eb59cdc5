import t from 'tap';
import { socketCloses } from '../../src/api-docs/errors.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { Order } from '../../src/engine/quote.js';
import type { OrderbookQuote } from '../../src/wire/orderbook.js';
import { ServerMessage } from '../../src/wire/socket.js';
import { compile } from '../../src/wire/validation.js';
import { isMessageOf } from '../api-docs/message-of.js';
import { readDocument } from '../app/read-document.js';
import { eventOf } from './event-samples.js';
import { GatewayFixture, settled } from './gateway-fixture.js';

const api = readDocument('docs/reference/api.md');

/** The examples of docs/reference/api.md, in their order: what a client sends, and what the server sends. */
const examples = [...api.matchAll(/^```json (client|server)\n(.*?)^```$/gms)].map(([, from, text = '']) => ({
  from,
  message: JSON.parse(text) as { type: string; body: unknown; size?: string },
}));

const examplePool = '0x871bcb6d8c63a79b9ee2ab7ee3ce0a8bb60fd348';

/** The order of which the wire says `quote`. */
function orderOf({ quoteId, poolAddress, poolKey, ts, ...quote }: OrderbookQuote): Order {
  return {
    quote: {
      ...quote,
      quoteId,
      ts,
      pool: { poolAddress, poolKey: { ...poolKey, strike: BigInt(poolKey.strike) } },
      price: BigInt(quote.price),
      size: BigInt(quote.size),
      origin: { blockNumber: 1, txHash: quoteId, logIndex: 0 },
    },
    fillableSize: BigInt(quote.fillableSize),
    state: 'live',
    reason: null,
  };
}

/** What happens when the server has this to tell. */
function causeOf(message: { type: string; body: unknown; size?: string }): EngineEvent {
  const order = orderOf(message.body as OrderbookQuote);
  const { fillableSize } = order;
  switch (message.type) {
    case 'POST_QUOTE':
      return eventOf({ type: 'QUOTE_POSTED', order, fillableSize, reason: null });
    case 'FILL_QUOTE':
      return eventOf({ type: 'QUOTE_FILLED', order, fillableSize, size: BigInt(message.size ?? 0), valid: true });
    case 'DELETE_QUOTE':
      return eventOf({ type: 'QUOTE_REMOVED', order, fillableSize, why: 'FILLED', valid: true });
    default:
      throw new Error(`${message.type} has no cause of its own`);
  }
}

t.test('the examples are one conversation that the server holds, to the letter', async (t) => {
  const fixture = new GatewayFixture({ poolAddressOf: async () => examplePool });
  const socket = fixture.net.open();
  const check = compile(ServerMessage, 20);
  t.ok(examples.length >= 15);
  for (const { from, message } of examples) {
    if (from === 'client') {
      t.same(socket.received, [], 'nothing is left out');
      socket.says(message);
      await settled();
      continue;
    }
    if (message.type.endsWith('_QUOTE')) fixture.tell(causeOf(message));
    t.equal(socket.received.shift(), JSON.stringify(message));
    t.same(check(message), { ok: true, value: message });
  }
  t.same(socket.received, []);
});

t.test('every type of message that the server sends has an example', async (t) => {
  const types = new Set(examples.filter(({ from }) => from === 'server').map(({ message }) => message.type));
  t.same([...types].sort(), ['DELETE_QUOTE', 'ERROR', 'FILL_QUOTE', 'INFO', 'POST_QUOTE', 'RFQ']);
});

t.test('the table of errors says what is answered', async (t) => {
  const rows = [...api.matchAll(/^\| `([{[].*?)` \| `(.*)` \|$/gm)];
  t.ok(rows.length >= 8);
  for (const [, sent = '', answer = ''] of rows) {
    const socket = new GatewayFixture().authorized();
    socket.says(sent);
    // A bar would end the table's cell, so it is escaped there.
    const message = answer.replaceAll('\\|', '|');
    t.same(socket.take(), [{ type: 'ERROR', body: null, message }], sent);
  }
});

t.test('the numbers in the text are the limits in force', async (t) => {
  const texts = [
    `The first message has to be AUTH, within ${limits.wsAuthDeadlineMs / 1000} seconds.`,
    `\`No AUTH within ${limits.wsAuthDeadlineMs / 1000} seconds\``,
    `${limits.wsBadMessages} messages within ${limits.wsBadMessageWindowMs / 1000} seconds were answered with ERROR.`,
    `\`Too many FILTERs: at most ${limits.wsSubscribes} in ${limits.wsSubscribeWindowMs / 1000} seconds\``,
    `\`Too many connections: at most ${tierQuotas.free.connections} with one key\``,
    `\`Too many channels: at most ${tierQuotas.free.channels} with one key\``,
    `sends more than ${limits.unknownKeysPerMinute} unknown keys in a minute gets 429 for them in place of 401 for ${limits.unknownKeyBanMs / 60_000} minutes`,
    `\`Failed to fetch pool address: the chain does not answer\` | Not within ${limits.wsRfqLookupMs / 1000} seconds.`,
    `\`Too many RFQs: ${limits.wsWaitingRfqs} of them wait to be published\``,
    `closes a connection that is silent for ${limits.wsIdleSeconds} seconds.`,
    `More than ${limits.wsIdleFrames} pings and pongs within ${limits.wsIdleSeconds} seconds.`,
    `larger than ${limits.wsMessageBytes / 1024} KiB.`,
    `More than ${limits.wsBufferedBytes / 2 ** 20} MiB waited to be read.`,
  ];
  for (const text of texts) t.ok(api.includes(text), text);
});

t.test('the table of closes has every code and reason', async (t) => {
  const rows = [...api.matchAll(/^\| (\d{4}) \| `(.*?)`/gm)].map(([, code, reason]) => ({
    code: Number(code),
    reason,
  }));
  for (const close of socketCloses) {
    const isTold = rows.some(({ code, reason }) => code === close.code && isMessageOf(close, reason ?? ''));
    t.ok(isTold, `${close.code} ${close.message}`);
  }
});
