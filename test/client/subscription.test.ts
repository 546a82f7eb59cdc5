import t from 'tap';
import { LevelBook } from '../../src/client/level-book.js';
import { OrderbookClient } from '../../src/client/node.js';
import { Positions } from '../../src/client/subscription.js';
import { following, hashOf, key, live, post, rfqKey, snapshot } from './followed-quotes.js';
import { epoch, error, heartbeat, info, otherEpoch, quote, ScriptedServer } from './scripted-server.js';

const otherKey = 'quotes:421613:*:*:0x00000000000000000000000000000000000000b1';
const fromSnapshot = { chainId: '421613', taker: '*', snapshot: true };
const goingOn = (fromSeq: number, of = epoch) => ({ chainId: '421613', taker: '*', epoch: of, fromSeq });

t.test('a filter of two keys is live when both have their snapshots, and until then begins anew', (t) => {
  const { server, quotes } = following();
  server.socket.grants(10, [key, otherKey]);
  server.socket.says(snapshot(10, [1]));
  t.equal(quotes.state, 'SYNCING');
  server.socket.drops();
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(11, [key, otherKey]), fromSnapshot);
  server.socket.says(snapshot(11, [1]), { ...snapshot(11, [2]), key: otherKey });
  t.strictSame([quotes.state, quotes.book.size], ['LIVE', 2]);
  t.end();
});

t.test('of two snapshots the second one that is lost shows by what follows the first', (t) => {
  const { server, ids, resyncs } = following();
  server.socket.grants(10, [key, otherKey]);
  server.socket.says(snapshot(10, [1]), post(11, 10, 3));
  t.strictSame([ids, resyncs], [[], ['GAP']]);
  t.strictSame(server.socket.grants(11, [key, otherKey]), fromSnapshot);
  t.end();
});

t.test('a heartbeat that names one of two books says of neither how far it has come', (t) => {
  const { server } = following();
  server.socket.grants(10, [key, otherKey]);
  server.socket.says(snapshot(10, [1]), { ...snapshot(10, [2]), key: otherKey });
  server.socket.says(heartbeat(15, [{ key, hash: hashOf(1) }]));
  server.socket.drops();
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(10, [key, otherKey]), goingOn(10));
  t.end();
});

t.test('a heartbeat that names no book says nothing of a snapshot that is on its way', (t) => {
  const { server, quotes, resyncs } = following();
  server.socket.grants(10, [key]);
  server.socket.says(heartbeat(10), snapshot(10, [1]));
  t.strictSame([quotes.state, resyncs], ['LIVE', []]);
  t.end();
});

t.test('without a book a heartbeat alone says how far all has come', (t) => {
  const { server, client } = following();
  const rfqs = client.followRfqs();
  server.socket.grants(10, [key]);
  server.socket.grants(10, [rfqKey]);
  server.socket.says(heartbeat(15));
  server.socket.drops();
  server.clock.advance(1_000);
  server.socket.authorizes().grants(15, [key]);
  t.strictSame(server.socket.grants(15, [rfqKey]), { chainId: '421613', epoch, fromSeq: 15 });
  t.equal(rfqs.state, 'LIVE');
  t.end();
});

t.test('each good message gives a gap the short way again: to go on from before it', (t) => {
  const { server, resyncs } = live();
  const { socket } = server;
  for (const at of [10, 20, 30]) {
    socket.says(post(at + 5, at + 2, 3));
    t.strictSame(socket.grants(at, [key]), goingOn(at));
    socket.says(post(at + 10, at, 4));
  }
  t.strictSame(resyncs, ['GAP', 'GAP', 'GAP']);
  t.end();
});

t.test(
  'a gap under one key hides nothing that was lost under another: it goes on from the one furthest behind',
  (t) => {
    const { server, ids } = following();
    server.socket.grants(10, [key, otherKey]);
    server.socket.says(snapshot(10, [1]), { ...snapshot(10, [2]), key: otherKey });
    const other = (seq: number, prevSeq: number) => ({ ...post(seq, prevSeq, seq), key: otherKey });
    // 11 of the first is lost, and 13 of the other.
    server.socket.says(other(12, 10), other(15, 13));
    t.strictSame(server.socket.grants(10, [key, otherKey]), goingOn(10));
    server.socket.says(post(11, 10, 11), other(12, 10), other(13, 12), other(15, 13), post(16, 11, 16));
    t.strictSame(ids, [12, 11, 13, 15, 16]);
    t.end();
  },
);

t.test('another connection is given every way of healing anew', (t) => {
  const { server } = live();
  server.socket.says(heartbeat(10, [{ key, hash: hashOf(9) }]));
  server.socket.grants(10, [key]);
  server.socket.says(snapshot(10, [1]), heartbeat(10, [{ key, hash: hashOf(9) }]));
  t.equal(server.socket.isClosed, true);
  server.clock.advance(1_000);
  const { socket } = server;
  socket.authorizes().grants(20, [key]);
  socket.says(snapshot(20, [1]), post(25, 22, 3));
  t.strictSame(socket.grants(20, [key]), goingOn(20));
  t.end();
});

t.test('a book that was found wrong is not gone on with, though the connection is lost before its snapshot', (t) => {
  const { server } = live();
  server.socket.says(heartbeat(10, [{ key, hash: hashOf(1, 2, 3) }]));
  server.socket.drops();
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(10, [key]), fromSnapshot);
  t.end();
});

t.test('a snapshot that nobody asked for takes the place of the book', (t) => {
  const { server, quotes } = live();
  const sizes: number[] = [];
  quotes.onSnapshot(({ size }) => sizes.push(size));
  server.socket.says(snapshot(20, [7]), post(21, 20, 8));
  t.strictSame(
    [...quotes.book.all()].map(({ salt }) => salt),
    [7, 8],
  );
  t.strictSame([quotes.state, sizes, server.socket.isClosed], ['LIVE', [1], false]);
  t.end();
});

t.test('nobody goes on from a snapshot that nobody asked for, and that is not what its hash says', (t) => {
  const { server, quotes } = live();
  server.socket.says({ ...snapshot(20, [7]), hash: hashOf(8) });
  t.strictSame([server.socket.isClosed, quotes.state], [true, 'WAITING']);
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(20, [key]), fromSnapshot);
  t.end();
});

t.test('after RESYNC it resumes in the new epoch', (t) => {
  const { server } = live();
  const resync = { type: 'RESYNC', channel: 'QUOTES', keys: [key], seq: 3, epoch: otherEpoch, reason: 'OTHER_EPOCH' };
  server.socket.says(resync, snapshot(3, [7]));
  server.socket.drops();
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(3, [key], otherEpoch), goingOn(3, otherEpoch));
  t.end();
});

t.test('without a book, a message lost after RESYNC shows as a gap', (t) => {
  const { server, client } = following();
  server.socket.grants(10, [key]);
  const rfqs = client.followRfqs();
  const resyncs: string[] = [];
  rfqs.onResync((why) => resyncs.push(why));
  server.socket.grants(10, [rfqKey]);
  server.socket.says({ type: 'RESYNC', channel: 'RFQ', keys: [rfqKey], seq: 20, epoch: otherEpoch, reason: 'TOO_OLD' });
  server.socket.says({ type: 'RFQ', key: rfqKey, seq: 25, prevSeq: 22, tsMs: 0, cause: null, body: {} });
  t.strictSame(resyncs, ['RESYNC', 'GAP']);
  t.strictSame(server.socket.grants(20, [rfqKey]), { chainId: '421613', epoch: otherEpoch, fromSeq: 20 });
  t.end();
});

t.test('the same number in another epoch is another place', (t) => {
  const { server, quotes } = live();
  server.socket.drops();
  server.clock.advance(1_000);
  server.socket.authorizes().grants(10, [key], otherEpoch);
  t.strictSame([quotes.state, quotes.book.size], ['SYNCING', 0]);
  t.end();
});

t.test('requests for another maker continue from the last message, over the same connection', (t) => {
  const { server, client } = following();
  const [provider, other] = [
    '0x00000000000000000000000000000000000000a1',
    '0x00000000000000000000000000000000000000a2',
  ] as const;
  const rfqs = client.followRfqs({ side: 'ask', provider });
  const [sizes, states]: [string[], string[]] = [[], []];
  rfqs.onRfq(({ body }) => sizes.push(body.size));
  rfqs.onState((state) => states.push(state));
  server.socket.grants(10, [key]);
  const filter = { chainId: '421613', side: 'ask' };
  t.strictSame(server.socket.grants(10, [rfqKey]), { ...filter, provider });
  const rfq = (seq: number, prevSeq: number): object => {
    return { type: 'RFQ', key: rfqKey, seq, prevSeq, tsMs: 0, cause: null, body: { size: `${seq}` } };
  };
  server.socket.says(rfq(12, 10));
  rfqs.setProvider(other);
  server.socket.says(rfq(13, 12));
  t.strictSame(server.socket.grants(12, [rfqKey]), { ...filter, provider: other, epoch, fromSeq: 12 });
  server.socket.says(rfq(13, 12));
  rfqs.setProvider(null);
  t.strictSame(server.socket.grants(13, [rfqKey]), { ...filter, epoch, fromSeq: 13 });
  server.socket.drops();
  rfqs.setProvider(other);
  server.clock.advance(1_000);
  server.socket.authorizes().grants(10, [key]);
  t.strictSame(server.socket.grants(13, [rfqKey]), { ...filter, provider: other, epoch, fromSeq: 13 });
  t.strictSame(
    [sizes, states],
    [
      ['12', '13'],
      ['LIVE', 'WAITING', 'LIVE'],
    ],
  );
  t.end();
});

t.test('events for another taker continue under the keys of both', (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  const events = client.followEvents();
  const [ids, seen]: [number[], string[]] = [[], []];
  events.onEvent(({ body }) => ids.push(body.salt));
  events.onState((state) => seen.push(state));
  events.onResync((why) => seen.push(why));
  const { socket } = server;
  const filter = { chainId: '421613', snapshot: false };
  t.strictSame(socket.authorizes().grants(10, [key]), filter);
  const [taker, other] = [
    '0x00000000000000000000000000000000000000a1',
    '0x00000000000000000000000000000000000000b1',
  ] as const;
  const ofTaker = (seq: number, prevSeq: number): object => ({ ...post(seq, prevSeq, seq), key: otherKey });
  events.setTaker(taker);
  events.setTaker(other);
  t.match(socket.next(), { body: { taker } });
  socket.says(error('taker_not_proven'));
  t.strictSame(socket.grants(10, [key, otherKey]), { ...filter, taker: other, epoch, fromSeq: 10 });
  socket.says(ofTaker(11, 5), post(12, 10, 12));
  events.setTaker(null);
  t.strictSame(socket.grants(11, [key]), { ...filter, epoch, fromSeq: 11 });
  socket.says(post(12, 10, 12), post(14, 12, 14), heartbeat(20));
  events.setTaker(other);
  t.match(socket.grants(20, [key, otherKey]), { fromSeq: 20 });
  socket.says(ofTaker(21, 13));
  t.strictSame([ids, seen, socket.isClosed], [[11, 12, 14, 21], ['SYNCING', 'LIVE'], false]);
  t.end();
});

t.test('messages of another channel change nothing', (t) => {
  const { server, client, quotes, resyncs, ids } = following();
  server.socket.grants(10, [key]);
  const tickerKey = 'ticker:421613:*';
  const sizes: string[] = [];
  client.followRfqs().onRfq(({ body }) => sizes.push(body.size));
  server.socket.grants(10, [rfqKey]);
  const tickers = client.followTickers();
  server.socket.grants(10, [tickerKey]);
  const { poolAddress, poolKey, provider: taker } = quote(1);
  const rfq = { poolAddress, side: 'ask', chainId: '421613', size: '5', taker };
  const ticker = { poolAddress, poolKey, bid: null, ask: null, filledSize24h: '1', volume24h: null };
  server.socket.says(
    { type: 'TICKER_SNAPSHOT', key: tickerKey, seq: 10, tsMs: 0, more: false, body: [] },
    { type: 'TICKER', key: tickerKey, seq: 11, tsMs: 0, body: ticker },
    snapshot(10, [1]),
    { type: 'RFQ', key: rfqKey, seq: 12, prevSeq: 10, tsMs: 0, cause: null, body: rfq },
    { type: 'RESYNC', channel: 'RFQ', keys: [rfqKey], seq: 13, epoch, reason: 'TOO_OLD' },
    post(14, 10, 3),
  );
  t.strictSame([sizes, tickers.of(poolAddress)?.filledSize24h], [['5'], '1']);
  t.strictSame([ids, resyncs, quotes.state], [[3], [], 'LIVE']);
  t.end();
});

t.test('a ticker that comes before its snapshot shows that this is lost', (t) => {
  const { server, client } = live();
  const tickerKey = 'ticker:421613:*';
  const tickers = client.followTickers();
  server.socket.grants(10, [tickerKey]);
  const { poolAddress, poolKey } = quote(1);
  const body = { poolAddress, poolKey, bid: null, ask: null, filledSize24h: '1', volume24h: null };
  server.socket.says({ type: 'TICKER', key: tickerKey, seq: 11, tsMs: 0, body });
  t.equal(tickers.of(poolAddress), undefined);
  t.strictSame(server.socket.grants(11, [tickerKey]), { chainId: '421613' });
  t.end();
});

t.test('a connection that is lost before the answer is no refusal', (t) => {
  const { server, quotes } = following();
  server.socket.drops();
  t.equal(quotes.state, 'WAITING');
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(10, [key]), fromSnapshot);
  t.end();
});

t.test('what was followed before and is refused now is tried on another connection', (t) => {
  const { server, quotes } = live();
  server.socket.drops();
  server.clock.advance(1_000);
  server.socket.authorizes().says(error('Too many subscriptions'));
  t.strictSame([server.socket.isClosed, quotes.state], [true, 'WAITING']);
  server.clock.advance(2_000);
  server.socket.authorizes().grants(10, [key]);
  t.equal(quotes.state, 'LIVE');
  t.end();
});

t.test('a FILTER that a limit refuses is sent again over the same connection, after a pause', (t) => {
  for (const code of ['rate_limited', 'too_many_channels', 'too_many_covers']) {
    const { server, client, quotes } = following();
    const rfqs = client.followRfqs();
    server.socket.next();
    server.socket.says(error('not now', code));
    server.socket.grants(10, [rfqKey]);
    t.strictSame([quotes.state, rfqs.state], ['WAITING', 'LIVE'], code);
    server.clock.advance(1_000);
    t.strictSame(server.socket.grants(10, [key]), fromSnapshot);
    server.socket.says(snapshot(10, [1]));
    t.strictSame([quotes.state, server.sockets.length], ['LIVE', 1], code);
  }
  t.end();
});

t.test('a FILTER that a limit refuses again waits longer each time, and at least as the server says', (t) => {
  const { server } = following();
  for (const [retryAfterMs, pauseMs] of [
    [null, 375],
    [null, 625],
    [5_000, 5_000],
  ] as const) {
    server.socket.next();
    server.socket.says({ ...error('RATELIMITED', 'rate_limited'), body: retryAfterMs && { retryAfterMs } });
    server.clock.advance(pauseMs - 1);
    t.strictSame(server.socket.sent, [], 'not yet');
    server.clock.advance(1);
  }
  server.socket.grants(10, [key]);
  server.socket.drops();
  server.clock.advance(1_000);
  server.socket.authorizes().next();
  server.socket.says(error('RATELIMITED', 'rate_limited'));
  server.clock.advance(375);
  t.equal(server.socket.sent.length, 1, 'once granted, the pauses begin anew');
  t.end();
});

t.test('a FILTER that waits to be sent again is dropped when it is closed, and replaced by another', (t) => {
  const { server, client, quotes } = following();
  const rfqs = client.followRfqs();
  server.socket.next();
  server.socket.says(error('RATELIMITED', 'rate_limited'));
  quotes.close();
  rfqs.onState((state) => {
    if (state === 'WAITING') rfqs.setProvider('0x00000000000000000000000000000000000000a1');
  });
  server.socket.next();
  server.socket.says(error('RATELIMITED', 'rate_limited'));
  t.match(server.socket.next(), { type: 'UNSUBSCRIBE', channel: 'QUOTES' });
  server.socket.says(info('Unsubscribed from ...'));
  t.match(server.socket.grants(10, [rfqKey]), { provider: '0x00000000000000000000000000000000000000a1' });
  server.clock.advance(2_000);
  t.strictSame([server.socket.sent, quotes.state, rfqs.state], [[], 'CLOSED', 'LIVE']);
  t.end();
});

t.test('what the key may no longer see is refused for good, and the rest of the connection goes on', async (t) => {
  for (const code of ['taker_not_proven', 'missing_scope']) {
    const { server, client, quotes } = live();
    const rfqs = client.followRfqs();
    server.socket.grants(10, [rfqKey]);
    server.socket.drops();
    server.clock.advance(1_000);
    t.match(server.socket.authorizes().next(), { channel: 'QUOTES', body: { fromSeq: 10 } });
    server.socket.says(error('This key may not see that', code));
    server.socket.grants(10, [rfqKey]);
    t.strictSame(server.socket.next(), { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
    t.strictSame([quotes.state, rfqs.state, server.socket.isClosed], ['REFUSED', 'LIVE', false], code);
    await t.rejects(quotes.whenLive(), { name: 'RefusedError', code });
  }
});

t.test('an answer that names nothing that is subscribed ends the connection', (t) => {
  const { server, quotes } = following();
  server.socket.says(info('Published RFQ to ...'));
  t.strictSame([server.socket.isClosed, quotes.state], [true, 'WAITING']);
  t.end();
});

t.test('a closed subscription is unsubscribed, and ignores later messages', (t) => {
  const { server, client, states } = live();
  const rfqs = client.followRfqs();
  rfqs.close();
  server.socket.grants(10, [rfqKey]);
  t.equal(rfqs.state, 'CLOSED');
  t.strictSame(server.socket.next(), { type: 'UNSUBSCRIBE', channel: 'RFQ', body: null });
  t.strictSame([server.socket.isClosed, states.at(-1)], [false, 'LIVE']);
  t.end();
});

t.test('a repair listener can close the subscription', (t) => {
  for (const wrong of [heartbeat(10, [{ key, hash: hashOf(9) }]), post(15, 12, 3)]) {
    const { server, client, quotes, states } = live();
    client.followRfqs();
    server.socket.grants(10, [rfqKey]);
    quotes.onResync(() => quotes.close());
    server.socket.says(wrong);
    t.strictSame([quotes.state, states.at(-1)], ['CLOSED', 'CLOSED']);
    t.strictSame(server.socket.sent, [{ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null }]);
  }
  t.end();
});

t.test('a subscription closed while it restarts is unsubscribed', (t) => {
  const { server, client } = live();
  const book = client.followBook({ poolAddress: quote(1).poolAddress });
  server.socket.grants(10, ['orderbook']);
  server.socket.drops();
  book.onState((state) => {
    if (state === 'SYNCING') book.close();
  });
  server.clock.advance(1_000);
  server.socket.authorizes();
  server.socket.grants(10, [key]);
  server.socket.grants(10, ['orderbook']);
  t.strictSame([book.state, server.socket.sent.at(-1)?.type], ['CLOSED', 'UNSUBSCRIBE']);
  t.end();
});

t.test('a subscription closed by a state listener reports nothing more', (t) => {
  const resync = { type: 'RESYNC', channel: 'QUOTES', keys: [key], seq: 20, epoch: otherEpoch, reason: 'OTHER_EPOCH' };
  for (const said of [snapshot(10, [1]), resync]) {
    const { server, quotes, resyncs } = following();
    server.socket.grants(10, [key]);
    if (said === resync) server.socket.says(snapshot(10, [1]));
    quotes.onState(() => quotes.close());
    const sizes: number[] = [];
    quotes.onSnapshot(({ size }) => sizes.push(size));
    server.socket.says(said);
    t.strictSame([quotes.state, sizes, resyncs], ['CLOSED', [], []]);
  }
  t.end();
});

t.test('a message without what its type has ends the connection, and nothing else', (t) => {
  for (const garbage of [
    { type: 'HEARTBEAT' },
    { type: 'QUOTES_SNAPSHOT', key, seq: 11 },
    { type: 'RESYNC', channel: 'QUOTES' },
    { ...post(11, 10, 3), body: { quoteId: quote(3).quoteId, fillableSize: 'much' } },
  ]) {
    const { server, quotes } = live();
    t.doesNotThrow(() => server.socket.says(garbage), JSON.stringify(garbage));
    t.strictSame([server.socket.isClosed, quotes.state], [true, 'WAITING'], JSON.stringify(garbage));
  }
  const { server, quotes } = following();
  server.socket.says({ type: 'INFO', body: {}, message: 'Subscribed to ...' });
  t.strictSame([server.socket.isClosed, quotes.state], [true, 'WAITING'], 'an answer');
  t.end();
});

t.test('levels that are not what their hash says end the connection', (t) => {
  const { server, client } = live();
  const { poolAddress } = quote(1);
  const book = client.followBook({ poolAddress });
  server.socket.grants(10, ['orderbook']);
  const body = { bids: [{ price: '5', size: '7', count: 1 }], asks: [] };
  const levelsHash = new LevelBook().hash;
  server.socket.says({ type: 'ORDERBOOK_SNAPSHOT', key: 'orderbook', seq: 10, tsMs: 0, levelsHash, body });
  t.strictSame([server.socket.isClosed, book.state], [true, 'WAITING']);
  t.end();
});

t.test('each message is the next, one that was seen, or one behind a gap', async (t) => {
  const positions = new Positions();
  t.equal(positions.take('a', 1, 0), 'GAP', 'nothing is known of the key');
  positions.set('a', 5);
  t.equal(positions.take('a', 6, 5), 'NEXT');
  t.equal(positions.take('a', 6, 5), 'SEEN');
  t.equal(positions.take('a', 9, 3), 'NEXT', 'it follows on one that was passed already');
  t.equal(positions.take('a', 12, 11), 'GAP');
  t.equal(positions.complete, 9);
});

t.test('what is complete is what is known of all keys, or what was confirmed beyond it', async (t) => {
  const positions = new Positions();
  t.equal(positions.complete, null);
  positions.set('a', 5);
  positions.set('b', 3);
  t.equal(positions.complete, 3);
  positions.confirm(8);
  positions.confirm(7);
  t.equal(positions.complete, 8);
});

t.test('a gap shows that what was confirmed did not all come', async (t) => {
  const positions = new Positions();
  positions.set('a', 5);
  positions.confirm(8);
  positions.take('a', 12, 11);
  t.equal(positions.complete, 5);
});

t.test('to go on from a place takes no key back', async (t) => {
  const positions = new Positions();
  positions.set('a', 5);
  positions.set('b', 3);
  positions.resumeFrom(4, ['a', 'b']);
  t.strictSame([positions.take('b', 6, 4), positions.take('a', 6, 5)], ['NEXT', 'NEXT']);
});

t.test('after it was cleared nothing is confirmed: another log may be far behind', async (t) => {
  const positions = new Positions();
  positions.set('a', 5);
  positions.confirm(8);
  positions.clear();
  positions.set('a', 2);
  t.equal(positions.complete, 2);
});
