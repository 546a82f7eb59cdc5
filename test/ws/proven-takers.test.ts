import t from 'tap';
import { address, chainId, GatewayFixture, goodKey, otherKey, poolAddress } from './gateway-fixture.js';

const taker = address(0xaa);
const V2 = 'quotebook.v2.json';
const notProven = 'This key has not proven the address of the taker: sign in with it';
const notAll = "Every taker's quotes and requests take a key with the scope takers:all";

function fixture(): GatewayFixture {
  const given = new GatewayFixture({}, {}, ['*'], 'proven');
  given.keys.set(goodKey, { id: 'key-1', tier: 'free', proven: [taker] });
  return given;
}

const filters = [
  { channel: 'QUOTES', body: { taker } },
  { channel: 'RFQ', body: { taker } },
  { channel: 'ORDERBOOK', body: { poolAddress, taker } },
  { channel: 'COVER', body: { poolAddress, side: 'ask', size: '1', taker } },
];

t.test('a channel shows a taker to the key that has proven it, and to no other', async (t) => {
  for (const { channel, body } of filters) {
    const given = fixture();
    const filter = { type: 'FILTER', channel, body: { chainId, ...body } };
    const [proven, stranger] = [given.authorized(goodKey, V2), given.authorized(otherKey, V2)];
    proven.says(filter);
    t.match(proven.take()[0], { type: 'INFO' }, channel);
    stranger.says(filter);
    t.match(stranger.take(), [{ type: 'ERROR', message: notProven }], channel);
  }
});

t.test('every taker at once takes the scope', async (t) => {
  const given = fixture();
  given.keys.set(otherKey, { id: 'key-2', tier: 'free', scopes: ['takers:all'] });
  for (const [channel, body] of [
    ['QUOTES', { taker: '*' }],
    ['RFQ', { taker: '*' }],
    ['RFQ', {}],
    ['RFQ', { taker: address(0) }],
  ] as const) {
    for (const protocol of [undefined, V2]) {
      const [proven, maker] = [given.authorized(goodKey, protocol), given.authorized(otherKey, protocol)];
      proven.says({ type: 'FILTER', channel, body: { chainId, ...body } });
      t.match(proven.take(), [{ type: 'ERROR', message: notAll }]);
      maker.says({ type: 'FILTER', channel, body: { chainId, ...body } });
      t.match(maker.take()[0], { type: 'INFO' });
    }
  }
});

t.test('a refused FILTER leaves what was followed before', async (t) => {
  const given = fixture();
  const socket = given.authorized(goodKey, V2);
  socket.says({ type: 'FILTER', channel: 'RFQ', body: { chainId, taker } });
  socket.take();
  socket.says({ type: 'FILTER', channel: 'RFQ', body: { chainId } });
  t.match(socket.take(), [{ type: 'ERROR' }]);
  given.keys.set(goodKey, { id: 'key-1', tier: 'free' });
  given.gateway.onKeyChange('key-1');
  t.same(socket.closedWith?.code, 1008, 'the taker of the first is what counts');
});

t.test('a key that may no longer see what its sockets follow loses those sockets alone', async (t) => {
  const given = fixture();
  const [ofTaker, ofAll, left] = [given.authorized(), given.authorized(), given.authorized()];
  ofTaker.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId, taker } });
  ofAll.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId } });
  left.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId, taker } });
  left.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  given.keys.set(goodKey, { id: 'key-1', tier: 'free' });
  given.gateway.onKeyChange('key-1');
  t.same(ofTaker.closedWith, { code: 1008, reason: 'The key may no longer see that taker' });
  t.notOk(ofAll.closed);
  t.notOk(left.closed);
});

t.test('a socket that follows a taker takes no key that may not see it', async (t) => {
  const given = fixture();
  const socket = given.authorized();
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId, taker } });
  socket.take();
  socket.says({ type: 'AUTH', apiKey: otherKey, body: null });
  t.match(socket.take(), [{ type: 'ERROR', message: notProven }]);
  socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  socket.says({ type: 'AUTH', apiKey: otherKey, body: null });
  t.match(socket.take(), [{ type: 'INFO' }, { type: 'INFO' }]);
});

t.test('a socket of a session is closed when that expires, unless another key came before', async (t) => {
  const given = fixture();
  const expiresAtMs = given.clock.wallMs() + 1_000;
  given.keys.set('token', { id: 'key-1', tier: 'free', proven: [taker], expiresAtMs });
  const [socket, renewed] = [given.authorized('token'), given.authorized('token')];
  renewed.says({ type: 'AUTH', apiKey: goodKey, body: null });
  given.clock.advance(999);
  t.notOk(socket.closed);
  given.clock.advance(1);
  t.same(socket.closedWith, { code: 1008, reason: 'Session expired' });
  t.notOk(renewed.closed);
});
