import { EventEmitter, once } from 'node:events';
import t, { type Test } from 'tap';
import type { SocketHandlers } from '../../src/net/net.js';
import type { SocketLimits } from '../../src/ws/ports.js';
import { eachBackend, serve, type Backend } from '../net/serving.js';
import { eventOf, orderOf, posted, quoteId } from './event-samples.js';
import { GatewayFixture, address, chainId, goodKey, poolAddress, quoteJson } from './gateway-fixture.js';
import { WsClient } from './ws-client.js';

const taker = address(0xfab2);
const info = (message: string) => ({ type: 'INFO', body: null, message });
const error = (message: string) => ({ type: 'ERROR', body: null, message });
const auth = (apiKey: string) => ({ type: 'AUTH', apiKey, body: null });
const filter = (channel: string, body: object) => ({ type: 'FILTER', channel, body: { chainId, ...body } });
const unsubscribe = { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null };

type MessageHandler = SocketHandlers['message'];

/** The gateway behind a real server. `between`: what the server gets in place of the gateway's message handler. */
async function serveGateway(
  t: Test,
  backend: Backend,
  limits: Partial<SocketLimits> = {},
  between: (fixture: GatewayFixture) => MessageHandler = passOn,
) {
  const fixture = new GatewayFixture({}, limits);
  const { gateway } = fixture;
  const gone = new EventEmitter();
  const sockets: SocketHandlers = {
    upgrade: (request) => gateway.upgrade(request),
    open: (socket) => gateway.open(socket),
    message: between(fixture),
    close(socket) {
      gateway.close(socket);
      gone.emit('socket');
    },
  };
  const { server, wsUrl } = await serve(t, backend, { sockets });
  fixture.publish = (...message) => server.publish(...message);
  return { fixture, wsUrl, gone };
}

function passOn({ gateway }: GatewayFixture): MessageHandler {
  return (socket, data, isBinary) => gateway.message(socket, data, isBinary);
}

eachBackend(t, async (t, backend) => {
  t.test('a client of the service has its whole conversation', async (t) => {
    const { fixture, wsUrl } = await serveGateway(t, backend);
    const client = await WsClient.connect(wsUrl);
    const answerTo = (message: unknown) => {
      client.says(message);
      return client.next();
    };
    t.same(await answerTo(auth('nobody')), error('NOT_FOUND'));
    t.same(await answerTo(filter('QUOTES', { taker })), error('Not Authorized'));
    t.same(await answerTo(auth(goodKey)), info('Session authorized. Subscriptions enabled.'));
    const keys = `quotes:421613:*:*:${address(0)},quotes:421613:*:*:${taker}`;
    t.same(await answerTo(filter('QUOTES', { taker })), info(`Subscribed to ${keys} channel.`));
    t.same(await answerTo(filter('RFQ', {})), info('Subscribed to rfq:421613:*:*:* channel.'));

    const order = orderOf({ n: 1, taker, size: 10n });
    fixture.tell(
      posted({ n: 1, taker, size: 10n }),
      posted({ n: 2, taker: address(5) }),
      eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 0n, size: 10n, valid: true }),
      eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'FILLED', valid: true }),
    );
    t.equal(await client.nextText(), `{"type":"POST_QUOTE","body":${quoteJson.encode(order, 10n)}}`);
    t.equal(await client.nextText(), `{"type":"FILL_QUOTE","body":${quoteJson.encode(order, 0n)},"size":"10"}`);
    t.equal(await client.nextText(), `{"type":"DELETE_QUOTE","body":${quoteJson.encode(order, 0n)}}`);

    const rfq = { type: 'RFQ', body: { poolAddress, side: 'ask', chainId, size: '1000000000000000', taker } };
    t.strictSame(await answerTo(rfq), rfq);
    t.same(await client.next(), info(`Published RFQ to rfq:421613:${poolAddress}:ask:${taker} Redis channel`));
    t.same(await answerTo(unsubscribe), info('Unsubscribed from QUOTES channel'));
    fixture.tell(posted({ n: 3 }));
    t.same(await client.rest(), []);
  });

  t.test('a burst reaches each client completely, in order, and through its own filter', async (t) => {
    const { fixture, wsUrl } = await serveGateway(t, backend);
    const filters = [{}, { taker }, { taker: '*' }, { side: 'bid' }, { size: '3' }, { provider: address(0xb2) }];
    const clients = await Promise.all(filters.map(() => WsClient.authorized(wsUrl, goodKey)));
    for (const [i, client] of clients.entries()) {
      client.says(filter('QUOTES', filters[i] ?? {}));
      await client.next();
    }
    const all = Array.from({ length: 200 }, (_, n) => ({
      n,
      isBuy: n % 2 === 0,
      size: BigInt(n % 5),
      provider: address(n % 3 === 0 ? 0xb2 : 0xb1),
      taker: [address(0), taker, address(9)][n % 7] ?? address(0),
    }));
    for (let first = 0; first < all.length; first += 50) fixture.tell(...all.slice(first, first + 50).map(posted));
    const isPublic = (traits: (typeof all)[number]) => traits.taker === address(0);
    const wanted = [
      all.filter(isPublic),
      all.filter((traits) => isPublic(traits) || traits.taker === taker),
      all,
      all.filter((traits) => isPublic(traits) && traits.isBuy),
      all.filter((traits) => isPublic(traits) && traits.size >= 3n),
      all.filter((traits) => isPublic(traits) && traits.provider === address(0xb2)),
    ];
    for (const [i, client] of clients.entries()) {
      const messages = (await client.rest()) as { body: { quoteId: string } }[];
      const ids = messages.map(({ body }) => body.quoteId);
      t.same(
        ids,
        wanted[i]?.map(({ n }) => quoteId(n)),
        JSON.stringify(filters[i]),
      );
    }
  });

  t.test('an answer has its place among what is published in the same tick', async (t) => {
    let n = 0;
    // One event just before and one just after each message of a client.
    const { wsUrl } = await serveGateway(t, backend, {}, (fixture) => (socket, data, isBinary) => {
      fixture.tell(posted({ n: ++n }));
      fixture.gateway.message(socket, data, isBinary);
      fixture.tell(posted({ n: ++n }));
    });
    const client = await WsClient.connect(wsUrl);
    for (const message of [auth(goodKey), filter('QUOTES', {}), filter('QUOTES', { side: 'bid' }), unsubscribe]) {
      client.says(message);
    }
    client.says(filter('QUOTES', { side: 'ask' }));
    client.says(unsubscribe);
    const seen = (await client.rest()) as { type: string; body: { quoteId: string } | null }[];
    t.same(
      seen.map(({ type, body }) => body?.quoteId ?? type),
      ['INFO', 'INFO', quoteId(4), quoteId(5), 'INFO', 'INFO', 'INFO', quoteId(10), quoteId(11), 'INFO'],
    );
  });

  t.test('what is no message of ours is answered, and the connection goes on', async (t) => {
    const { wsUrl } = await serveGateway(t, backend);
    const client = await WsClient.authorized(wsUrl, goodKey);
    for (const message of [Buffer.from([1, 2, 3]), 'no JSON', '', filter('TRADES', {})]) client.says(message);
    const types = ((await client.rest()) as { type: string }[]).map(({ type }) => type);
    t.same(types, ['ERROR', 'ERROR', 'ERROR', 'ERROR']);
  });

  t.test('a client that sends too many bad messages is closed with a reason', async (t) => {
    const { wsUrl } = await serveGateway(t, backend, { wsBadMessages: 3 });
    const client = await WsClient.connect(wsUrl);
    for (let sent = 0; sent < 3; sent++) client.says('wrong');
    t.same(await client.closed, { code: 1008, reason: 'Too many bad messages' });
    t.same(await client.next(), error('Not Authorized'));
  });

  t.test('who never says who he is, and whose key is revoked, are closed; nothing of them stays', async (t) => {
    const { fixture, wsUrl, gone } = await serveGateway(t, backend);
    const known = await WsClient.authorized(wsUrl, goodKey);
    known.says(filter('QUOTES', { taker }));
    await known.next();
    const silent = await WsClient.connect(wsUrl);
    // The server may see a connection a moment after its client does.
    silent.says('anything');
    await silent.next();
    const silentLeft = once(gone, 'socket');
    fixture.clock.advance(60_000);
    t.same(await silent.closed, { code: 1008, reason: 'No AUTH within 60 seconds' });
    await silentLeft;
    fixture.keys.delete(goodKey);
    const knownLeft = once(gone, 'socket');
    fixture.gateway.onKeyChange('key-1');
    t.same(await known.closed, { code: 1008, reason: 'API key revoked' });
    await knownLeft;
    t.equal(fixture.topics.size, 0);
  });
});
