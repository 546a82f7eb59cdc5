import { OrderbookClient, type RefusedError } from 'quotebook/client';
import t from 'tap';
import { tierQuotas } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import type { PostedQuoteJson, PostQuotesResult } from '../../src/wire/orderbook.js';
import { documentedPorts } from './documented-network.js';
import { signQuote, type WireQuote } from './maker.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

const running = await startTestService({
  tierQuotas: { ...tierQuotas, free: { ...tierQuotas.free, quotesPerMinute: 1, quoteBurst: 2 } },
});
t.teardown(() => running.stop());
const { chain, keys, engine, httpUrl, wsUrl, apiKey } = running;
const [pool] = chain.pools;
const [operator, maker] = chain.accounts;
if (!pool || !maker || !operator) throw new Error('The local chain lacks pools or accounts');

const sign = (account = maker): Promise<WireQuote> => signQuote(account.privateKey, pool);

async function open(key = apiKey): Promise<SocketClient> {
  const socket = await SocketClient.open(wsUrl, 'quotebook.v2.json');
  await socket.auth(key);
  return socket;
}

/** The next message that is no heartbeat. */
async function answerOf(socket: SocketClient): Promise<Record<string, unknown>> {
  for (;;) {
    const message = await socket.next();
    if (message.type !== 'HEARTBEAT') return message;
  }
}

await t.test('quotes are checked, posted and posted again over a socket, as over HTTP', async (t) => {
  const socket = await open();
  t.teardown(() => socket.end());
  const quote = await sign();
  socket.send({ type: 'POST_QUOTES', dryRun: true, body: [quote], id: 'check' });
  const checked = await answerOf(socket);
  t.match(checked, { type: 'QUOTES_CHECKED', id: 'check', body: { quotes: [{ outcome: 'created', reasons: [] }] } });
  const [{ digest } = { digest: '0x' as Hex }] = (checked.body as { readonly quotes: { readonly digest: Hex }[] })
    .quotes;
  t.equal(engine.get(digest), undefined, 'nothing is published');
  socket.send({ type: 'POST_QUOTES', body: [quote], id: 'post' });
  socket.send({ type: 'POST_QUOTES', body: [quote, { ...quote, salt: quote.salt + 1 }], id: 'again' });
  const posted = await answerOf(socket);
  t.match(posted, { type: 'QUOTES_POSTED', id: 'post', body: { created: [{ quoteId: digest }] } });
  t.equal(engine.get(digest)?.state, 'live');
  const again = await answerOf(socket);
  t.match(again, { type: 'QUOTES_POSTED', id: 'again', body: { failed: [{ reason: /\w/ }] } });
});

await t.test('a body that HTTP refuses is refused with the code and the place', async (t) => {
  const socket = await open();
  t.teardown(() => socket.end());
  const quote = await sign();
  const cases: readonly (readonly [body: unknown, code: string, message: RegExp])[] = [
    [[], 'invalid_parameter', /^Invalid POST_QUOTES: body must NOT have fewer than 1 items$/],
    [[{ ...quote, price: '-1' }], 'invalid_parameter', /^Invalid POST_QUOTES: body\.0\.price must match/],
    [[{ ...quote, chainId: '42161' }], 'unsupported_chain', /^Invalid POST_QUOTES: body\.0\.chainId must/],
    [null, 'invalid_parameter', /^Invalid POST_QUOTES: body must be array$/],
  ];
  for (const [body, code, message] of cases) {
    socket.send({ type: 'POST_QUOTES', body, id: code });
    t.match(await answerOf(socket), { type: 'ERROR', code, message, id: code });
  }
});

await t.test("a key's quota of quotes counts over both wires", async (t) => {
  const { key } = await keys.create('free', 'quota');
  const socket = await open(key);
  t.teardown(() => socket.end());
  const two = [await sign(), await sign()];
  socket.send({ type: 'POST_QUOTES', dryRun: true, body: two, id: 'two' });
  t.match(await answerOf(socket), { type: 'QUOTES_CHECKED', id: 'two' });
  socket.send({ type: 'POST_QUOTES', dryRun: true, body: two, id: 'more' });
  t.match(await answerOf(socket), { type: 'ERROR', code: 'rate_limited', message: 'RATELIMITED', id: 'more' });
});

await t.test('the operator cancels quotes of its own; a key without the scope may not', async (t) => {
  const [own, plain] = [await open(), await open((await keys.create('paid', 'plain')).key)];
  t.teardown(() => {
    own.end();
    plain.end();
  });
  own.send({ type: 'POST_QUOTES', body: [await sign(operator)], id: 'post' });
  const { body } = (await answerOf(own)) as unknown as { readonly body: PostQuotesResult };
  const quoteIds = body.created.map(({ quoteId }) => quoteId);
  t.equal(quoteIds.length, 1);
  plain.send({ type: 'CANCEL_QUOTES', body: { quoteIds }, id: 'plain' });
  t.match(await answerOf(plain), { type: 'ERROR', code: 'missing_scope', id: 'plain' });
  own.send({ type: 'CANCEL_QUOTES', body: { quoteIds }, id: 'cancel' });
  t.match(await answerOf(own), {
    type: 'QUOTES_CANCELLED',
    body: { success: quoteIds, failed: [], omitted: [] },
    id: 'cancel',
  });
});

for (const encoding of ['json', 'msgpack'] as const) {
  await t.test(`the client posts over a connection of its own (${encoding})`, async (t) => {
    const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: '421613', encoding }, documentedPorts);
    t.teardown(() => client.close());
    const quote = (await sign()) as PostedQuoteJson;
    const other = (await sign()) as PostedQuoteJson;
    t.match(await client.checkQuotes([quote]), { quotes: [{ outcome: 'created' }] });
    const [one, two] = await Promise.all([client.postQuotes([quote]), client.postQuotes([other])]);
    t.strictSame([one.created.length, two.created.length], [1, 1]);
    const refused = (await client.postQuotes([]).catch((error: unknown) => error)) as RefusedError;
    t.match(refused, { name: 'RefusedError', code: 'invalid_parameter' });
    t.match(await client.cancelQuotes(one.created.map(({ quoteId }) => quoteId)), {
      failed: one.created.map(({ quoteId }) => quoteId),
    });
  });
}

await t.test('a frame beyond 16 KiB closes the connection', async (t) => {
  const socket = await open();
  const quote = await sign();
  socket.send({ type: 'POST_QUOTES', body: Array(100).fill(quote) });
  t.ok([1006, 1009].includes(await socket.closed()));
});
