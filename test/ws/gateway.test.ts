import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import type { SocketLimits } from '../../src/ws/ports.js';
import { address, chainId, goodKey, GatewayFixture, otherKey, poolAddress, settled } from './gateway-fixture.js';

const info = (message: string) => ({ type: 'INFO', body: null, message });
const error = (message: string) => ({ type: 'ERROR', body: null, message });
const auth = (apiKey: string) => ({ type: 'AUTH', apiKey, body: null });
const filter = (channel: string, body: object) => ({ type: 'FILTER', channel, body });

const taker = '0xfab0000000000000000000000000000000000002';
const none = ZERO_ADDRESS;

t.test('the server confirms a good key', async (t) => {
  const socket = new GatewayFixture().net.open();
  socket.says(auth(goodKey));
  t.same(socket.take(), [info('Session authorized. Subscriptions enabled.')]);
});

t.test('an answer is written byte for byte as existing clients know it', async (t) => {
  const socket = new GatewayFixture().net.open();
  socket.says(auth('nobody'));
  t.same(socket.received, ['{"type":"ERROR","body":null,"message":"NOT_FOUND"}']);
});

t.test('a bad key leaves the socket open, to try again', async (t) => {
  const socket = new GatewayFixture().net.open();
  for (const key of ['nobody', '']) socket.says(auth(key));
  socket.says(auth(goodKey));
  t.same(socket.take(), [error('NOT_FOUND'), error('NOT_FOUND'), info('Session authorized. Subscriptions enabled.')]);
  t.notOk(socket.closed);
});

t.test('anything before AUTH is not authorised', async (t) => {
  const socket = new GatewayFixture().net.open();
  const messages = [
    filter('QUOTES', { chainId }),
    { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null },
    { type: 'RFQ', body: null },
    { type: 'WHAT' },
    'no JSON',
    '[]',
  ];
  messages.forEach((message) => socket.says(message));
  t.same(
    socket.take(),
    messages.map(() => error('Not Authorized')),
  );
  t.equal(socket.topics.size, 0);
});

t.test('a malformed AUTH gets an error that says what is wrong', async (t) => {
  const socket = new GatewayFixture().net.open();
  socket.says({ type: 'AUTH', apiKey: 7, body: null });
  socket.says({ type: 'AUTH', body: null });
  t.same(socket.take(), [
    error('Invalid AUTH: apiKey must be string'),
    error("Invalid AUTH: message must have required property 'apiKey'"),
  ]);
});

t.test('a second AUTH gets the same answer', async (t) => {
  const socket = new GatewayFixture().authorized();
  socket.says(auth(otherKey));
  t.same(socket.take(), [info('Session authorized. Subscriptions enabled.')]);
});

t.test('a bad key on an authorised socket changes nothing', async (t) => {
  const socket = new GatewayFixture().authorized();
  socket.says(auth('nobody'));
  socket.says(filter('RFQ', { chainId }));
  t.same(socket.take(), [error('NOT_FOUND'), info('Subscribed to rfq:421613:*:*:* channel.')]);
});

t.test('a FILTER is acknowledged with its keys', async (t) => {
  const pool = '0xABCDEF0000000000000000000000000000000001';
  const TAKER = `0x${taker.slice(2).toUpperCase()}`;
  const cases = [
    ['QUOTES', {}, `quotes:421613:*:*:${none}`],
    ['QUOTES', { taker }, `quotes:421613:*:*:${none},quotes:421613:*:*:${taker}`],
    ['QUOTES', { taker: TAKER }, `quotes:421613:*:*:${none},quotes:421613:*:*:${taker}`],
    ['QUOTES', { taker: '*' }, 'quotes:421613:*:*:*'],
    ['QUOTES', { taker: none }, `quotes:421613:*:*:${none}`],
    ['QUOTES', { poolAddress: pool, side: 'bid' }, `quotes:421613:${pool.toLowerCase()}:bid:${none}`],
    ['QUOTES', { provider: taker, size: '5' }, `quotes:421613:*:*:${none}`],
    ['RFQ', {}, 'rfq:421613:*:*:*'],
    ['RFQ', { taker: '*' }, 'rfq:421613:*:*:*'],
    ['RFQ', { taker: TAKER, side: 'ask' }, `rfq:421613:*:ask:${taker}`],
    ['RFQ', { poolAddress: pool, size: '5', provider: taker }, `rfq:421613:${pool.toLowerCase()}:*:*`],
  ] as const;
  const socket = new GatewayFixture().authorized();
  for (const [channel, body, keys] of cases) {
    socket.says(filter(channel, { chainId, ...body }));
    t.same(socket.take(), [info(`Subscribed to ${keys} channel.`)], `${channel} ${JSON.stringify(body)}`);
  }
});

t.test('a chain that is not served is refused, and the filter before stays', async (t) => {
  const socket = new GatewayFixture().subscribed('QUOTES');
  const before = [...socket.topics];
  socket.says(filter('QUOTES', { chainId: '42161' }));
  t.same(socket.take(), [error('Chain 42161 is not served here, only 421613 is')]);
  t.same([...socket.topics], before);
});

t.test('a new FILTER on a channel replaces the old one, and leaves the other channel alone', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { taker });
  socket.says(filter('RFQ', { chainId }));
  socket.says(filter('QUOTES', { chainId, side: 'ask' }));
  t.same([...socket.topics].sort(), [`quotes:421613:*:ask:${none}`, 'rfq:421613:*:*:*']);
  t.equal(fixture.topics.size, 2);
});

t.test('the same FILTER twice subscribes once', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { taker });
  socket.says(filter('QUOTES', { chainId, taker }));
  t.equal(socket.topics.size, 2);
  t.equal(fixture.topics.size, 2);
});

t.test('UNSUBSCRIBE ends a channel, and is no error when there is nothing to end', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { taker });
  const message = { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null };
  socket.says(message);
  socket.says(message);
  socket.says({ ...message, channel: 'RFQ' });
  t.same(socket.take(), [
    info('Unsubscribed from QUOTES channel'),
    info('Unsubscribed from QUOTES channel'),
    info('Unsubscribed from RFQ channel'),
  ]);
  t.equal(socket.topics.size, 0);
  t.equal(fixture.topics.size, 0);
});

t.test('a socket that is gone leaves nothing behind', async (t) => {
  const fixture = new GatewayFixture();
  const authorized = fixture.subscribed('QUOTES', { taker });
  const stranger = fixture.net.open();
  fixture.net.drop(authorized);
  fixture.net.drop(stranger);
  t.equal(fixture.topics.size, 0);
  t.equal(fixture.clock.pending, 0);
});

t.test('a socket that is over its budget when acknowledged is not subscribed', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  socket.overBudget = true;
  socket.says(filter('QUOTES', { chainId }));
  t.equal(fixture.topics.size, 0);
  t.same(socket.closedWith, { code: 1013, reason: 'Too slow' });
});

t.test('who does not say who he is within the deadline is closed with a reason', async (t) => {
  const fixture = new GatewayFixture();
  const silent = fixture.net.open();
  const guessing = fixture.net.open();
  const known = fixture.authorized();
  fixture.clock.advance(59_999);
  guessing.says(auth('nobody'));
  t.notOk(silent.closed);
  fixture.clock.advance(1);
  t.same(silent.closedWith, { code: 1008, reason: 'No AUTH within 60 seconds' });
  t.ok(guessing.closed);
  t.notOk(known.closed);
});

t.test('a connection speaks the first subprotocol it asks for that is known, or the plain one', async (t) => {
  const { gateway } = new GatewayFixture();
  const agreed = (asked?: string) => gateway.upgrade({ header: () => asked, remoteAddress: '192.0.2.1' });
  t.same(agreed(), { accept: true, protocol: '' });
  t.same(agreed('graphql-ws'), { accept: true, protocol: '' });
  t.same(agreed('graphql-ws, quotebook.v2.msgpack,quotebook.v2.json'), {
    accept: true,
    protocol: 'quotebook.v2.msgpack',
  });
  t.same(agreed('constructor'), { accept: true, protocol: '' });
});

t.test('who says again who he is gets no more heartbeats for it', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.net.open('quotebook.v2.json');
  for (const key of [goodKey, goodKey, otherKey]) socket.says(auth(key));
  socket.take();
  fixture.clock.advance(5_000);
  const told = socket.take();
  t.equal(told.length, 1);
  t.match(told, [{ type: 'HEARTBEAT' }]);
});

t.test('what a peer says after it was closed is not carried out', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  socket.close(1008, 'Too many bad messages');
  const body = { poolAddress, side: 'bid', chainId, size: '1', taker: address(1) };
  socket.says({ type: 'RFQ', body });
  await settled();
  t.strictSame(fixture.log, []);
});

t.test('there are so many connections, in all and from one address, and one that ends makes room', async (t) => {
  const { gateway, net } = new GatewayFixture({}, { wsConnections: 3, wsConnectionsPerAddress: 2 });
  const comes = (remoteAddress: string) => {
    const decision = gateway.upgrade({ header: () => undefined, remoteAddress });
    return 'accept' in decision ? 'accepted' : decision.status;
  };
  const here = '192.0.2.1';
  const [first] = [net.open(), net.open()];
  t.strictSame([comes(here), comes('192.0.2.2')], [429, 'accepted']);
  net.drop(first);
  t.equal(comes(here), 'accepted');
  net.open();
  const elsewhere = net.open('', '192.0.2.2');
  t.equal(comes('192.0.2.3'), 503);
  net.drop(elsewhere);
  t.equal(comes('192.0.2.3'), 'accepted');
});

t.test('a refused upgrade gets the reason as JSON', async (t) => {
  const refused = (limits: Partial<SocketLimits>) =>
    new GatewayFixture({}, limits).gateway.upgrade({ header: () => undefined, remoteAddress: '192.0.2.1' });
  const headers = { 'content-type': 'application/json' };
  t.strictSame(
    [refused({ wsConnections: 0 }), refused({ wsConnectionsPerAddress: 0 })],
    [
      { status: 503, headers: { ...headers, 'retry-after': '1' }, body: '{"message":"Too many connections"}' },
      { status: 429, headers, body: '{"message":"Too many connections: at most 0 from one address"}' },
    ],
  );
});

t.test('all addresses of an IPv6 subscriber have the connections of one', async (t) => {
  const { gateway, net } = new GatewayFixture({}, { wsConnectionsPerAddress: 2 });
  const comes = (remoteAddress: string) => 'accept' in gateway.upgrade({ header: () => undefined, remoteAddress });
  const sockets = [net.open('', '2001:db8:1:2::1'), net.open('', '2001:db8:1:2::2')];
  t.strictSame([comes('2001:db8:1:2::3'), comes('2001:db8:1:3::3')], [false, true]);
  for (const socket of sockets) net.drop(socket);
  t.equal(comes('2001:db8:1:2::3'), true);
});

t.test('pages of origins that are not allowed may not connect, programs may', async (t) => {
  const { gateway } = new GatewayFixture({}, {}, ['https://good.example']);
  const comes = (origin?: string) => {
    const headers: Partial<Record<string, string>> = {
      host: 'quotes.example',
      ...(origin !== undefined && { origin }),
    };
    return gateway.upgrade({ header: (name) => headers[name], remoteAddress: '192.0.2.1' });
  };
  t.match(comes('https://bad.example'), { status: 403, body: '{"message":"Pages of this origin may not connect"}' });
  for (const origin of ['https://good.example', 'http://quotes.example', undefined]) {
    t.match(comes(origin), { accept: true }, origin ?? 'none');
  }
});

t.test(
  'a slow client of a subprotocol is closed with the number to resume from, and a gone one leaves nothing',
  async (t) => {
    const { gateway, net } = new GatewayFixture();
    const [plain, numbered] = [net.open(), net.open('quotebook.v2.json')];
    t.equal(gateway.overBudgetReason(plain), 'Too slow');
    t.equal(gateway.overBudgetReason(numbered), 'Too slow, resume from seq 0');
    net.drop(numbered);
    t.equal(gateway.overBudgetReason(numbered), 'Too slow');
  },
);

t.test('who speaks MessagePack is answered in it', async (t) => {
  const socket = new GatewayFixture().net.open('quotebook.v2.msgpack');
  socket.says(auth('nobody'));
  socket.says(auth(goodKey));
  t.strictSame([socket.received, socket.receivedBinary.length], [[], 2]);
});
