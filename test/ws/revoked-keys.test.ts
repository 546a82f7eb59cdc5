import t from 'tap';
import { GatewayFixture, address, chainId, goodKey, otherKey, poolAddress, settled } from './gateway-fixture.js';

const revoked = { code: 1008, reason: 'API key revoked' };

t.test('a revoked key closes the sockets that it opened, and no others', async (t) => {
  const fixture = new GatewayFixture();
  const [first, second, other] = [goodKey, goodKey, otherKey].map((key) => fixture.authorized(key));
  const stranger = fixture.net.open();
  fixture.keys.delete(goodKey);
  fixture.gateway.onKeyChange('key-1');
  t.same(
    [first, second].map((socket) => socket?.closedWith),
    [revoked, revoked],
  );
  t.same(
    [other, stranger].map((socket) => socket?.closed),
    [false, false],
  );
});

t.test('a key that changed and still holds keeps its sockets', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  fixture.gateway.onKeyChange('key-1');
  t.notOk(socket.closed);
});

t.test('a key is verified again on each message', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  fixture.keys.delete(goodKey);
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId } });
  t.same(socket.closedWith, revoked);
  t.same(socket.received, []);
});

t.test('a socket belongs to the key of its last good AUTH', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized(goodKey);
  socket.says({ type: 'AUTH', apiKey: otherKey, body: null });
  fixture.keys.clear();
  fixture.gateway.onKeyChange('key-1');
  t.notOk(socket.closed);
  fixture.gateway.onKeyChange('key-2');
  t.same(socket.closedWith, revoked);
});

t.test('a socket that is gone is not looked at again', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  fixture.net.drop(socket);
  fixture.keys.clear();
  fixture.gateway.onKeyChange('key-1');
  t.same(socket.closedWith, { code: 1006, reason: '' });
});

t.test('of two sockets of one key the one that stays is closed with the key', async (t) => {
  const fixture = new GatewayFixture();
  const [gone, stays] = [fixture.authorized(), fixture.authorized()];
  fixture.net.drop(gone);
  fixture.keys.delete(goodKey);
  fixture.gateway.onKeyChange('key-1');
  t.same(stays.closedWith, revoked);
});

t.test('what is said with a revoked key is not carried out', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  fixture.keys.delete(goodKey);
  socket.says({ type: 'RFQ', body: { poolAddress, side: 'bid', chainId, size: '1', taker: address(1) } });
  await settled();
  t.strictSame(fixture.log, []);
  t.same(socket.closedWith, revoked);
});
