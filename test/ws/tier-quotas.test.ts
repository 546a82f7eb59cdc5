import t from 'tap';
import { GatewayFixture, chainId, goodKey, otherKey, poolAddress, settled } from './gateway-fixture.js';

const error = (message: string) => ({ type: 'ERROR', body: null, message });
const auth = (apiKey: string) => ({ type: 'AUTH', apiKey, body: null });
const filter = (channel: string) => ({ type: 'FILTER', channel, body: { chainId } });
const over = { code: 1008, reason: 'Over the quotas of its tier' };

t.test('a key has as many sockets as its tier allows, and one more once one is gone', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.connections = 2;
  const first = fixture.authorized();
  fixture.authorized();
  const third = fixture.net.open();
  third.says(auth(goodKey));
  t.same(third.take(), [error('Too many connections: at most 2 with one key')]);
  t.same(fixture.refused, ['connections free']);
  t.notOk(third.closed, 'it may try another key');
  fixture.net.drop(first);
  third.says(auth(goodKey));
  t.match(third.take(), [{ type: 'INFO' }]);
});

t.test('a socket that says again who it is is no socket more', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.connections = 1;
  const socket = fixture.authorized();
  socket.says(auth(goodKey));
  t.match(socket.take(), [{ type: 'INFO' }]);
});

t.test('the sockets of other keys do not count', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.connections = 1;
  fixture.authorized(goodKey);
  const other = fixture.net.open();
  other.says(auth(otherKey));
  t.match(other.take(), [{ type: 'INFO' }]);
});

t.test('a key follows as many channels as its tier allows, over all its sockets', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.channels = 2;
  const [first, second] = [fixture.subscribed('QUOTES'), fixture.subscribed('RFQ')];
  second.says(filter('QUOTES'));
  t.same(second.take(), [error('Too many channels: at most 2 with one key')]);
  t.same(fixture.refused, ['channels free']);
  second.says(filter('RFQ'));
  t.match(second.take(), [{ type: 'INFO' }], 'what is followed already is no channel more');
  first.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  second.says(filter('QUOTES'));
  t.match(second.take(), [{ type: 'INFO' }]);
});

t.test('a book that a plain connection follows is a channel like the others', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.channels = 2;
  const socket = fixture.subscribed('QUOTES');
  socket.says({ type: 'FILTER', channel: 'ORDERBOOK', body: { chainId, poolAddress } });
  t.match(socket.take(), [{ type: 'INFO', body: null }, { type: 'ORDERBOOK_SNAPSHOT' }]);
  socket.says(filter('RFQ'));
  t.same(socket.take(), [error('Too many channels: at most 2 with one key')]);
});

t.test('a socket that changes its key brings along what it follows', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.channels = 1;
  fixture.subscribed('QUOTES');
  const other = fixture.authorized(otherKey);
  other.says(filter('QUOTES'));
  other.take();
  other.says(auth(goodKey));
  t.same(other.take(), [error('Too many channels: at most 1 with one key')]);
  t.same(fixture.refused, ['channels free']);
  other.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  other.take();
  other.says(auth(goodKey));
  t.match(other.take(), [{ type: 'INFO' }]);
});

t.test('what it brings along may be as much as there is room for', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.channels = 2;
  const first = fixture.subscribed('QUOTES');
  const other = fixture.authorized(otherKey);
  other.says(filter('RFQ'));
  other.says(auth(goodKey));
  t.match(other.take(), [{ type: 'INFO' }, { type: 'INFO', message: /authorized/ }]);
  first.says(filter('RFQ'));
  t.match(first.take(), [{ type: 'ERROR' }], 'now it counts here');
});

t.test('a message over the quota is not carried out, and those who go on are cut off', async (t) => {
  const fixture = new GatewayFixture({}, { wsBadMessages: 3 });
  const socket = fixture.authorized();
  fixture.quotas.messages = 1;
  socket.says(filter('QUOTES'));
  socket.take();
  socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  t.same(socket.take(), [error('RATELIMITED')]);
  t.equal(fixture.topics.size, 1, 'it still follows');
  socket.says('{');
  socket.says('{');
  t.same(socket.closedWith, { code: 1008, reason: 'Too many bad messages' });
});

t.test('who tries out keys on sockets is counted with those who do over HTTP', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.net.open();
  socket.says(auth('nobody'));
  socket.says(auth(''));
  t.same(socket.take(), [error('NOT_FOUND'), error('NOT_FOUND')]);
  t.equal(fixture.strikes, 1, 'no key is no guess');
  fixture.strikes = 1_000_000;
  socket.says(auth('nobody'));
  t.same(socket.take(), [error('RATELIMITED')]);
  socket.says(auth(goodKey));
  t.match(socket.take(), [{ type: 'INFO' }], 'a key that holds is never in the way');
});

t.test('when a tier shrinks, the newest sockets beyond it are closed', async (t) => {
  const fixture = new GatewayFixture();
  const sockets = [1, 2, 3].map(() => fixture.subscribed('QUOTES'));
  const others = fixture.authorized(otherKey);
  fixture.quotas.connections = 2;
  fixture.gateway.onQuotasChange();
  t.same(
    sockets.map(({ closedWith }) => closedWith),
    [null, null, over],
  );
  fixture.quotas.channels = 1;
  fixture.gateway.onKeyChange('key-1');
  t.same(sockets[1]?.closedWith, over);
  t.notOk(sockets[0]?.closed);
  t.notOk(others.closed);
});

t.test('a key asks for quotes as often as its tier allows', async (t) => {
  const fixture = new GatewayFixture();
  fixture.quotas.rfqs = 1;
  const socket = fixture.authorized();
  const body = { poolAddress, side: 'bid', chainId, size: '1', taker: poolAddress };
  socket.says({ type: 'RFQ', body });
  socket.says({ type: 'RFQ', body });
  t.same(socket.take(), [error('RATELIMITED')], 'the first one waits until it is durable');
  await settled();
  t.match(socket.take(), [{ type: 'INFO' }]);
});
