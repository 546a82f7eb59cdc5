import t from 'tap';
import { OrderbookClient } from '../../src/client/node.js';
import { until } from '../until.js';
import { following, hashOf, key, live, post, rfqKey, snapshot } from './followed-quotes.js';
import { epoch, error, heartbeat, otherEpoch, quote, ScriptedServer } from './scripted-server.js';

t.test('it begins with a snapshot, is live when that is whole and right, and then follows', async (t) => {
  const { server, quotes, states, ids } = following();
  t.strictSame(server.socket.grants(10, [key]), { chainId: '421613', taker: '*', snapshot: true });
  server.socket.says(snapshot(10, [1], { more: true, hash: hashOf(1, 2) }));
  t.strictSame(states, ['SYNCING']);
  server.socket.says(snapshot(10, [2], { hash: hashOf(1, 2) }));
  t.strictSame(states, ['SYNCING', 'LIVE']);
  server.socket.says(post(12, 7, 3), { ...post(13, 12, 1), type: 'CANCEL_QUOTE' });
  t.strictSame(ids, [3, 1]);
  t.strictSame([...quotes.book.all()].map(({ salt }) => salt).sort(), [2, 3]);
});

t.test('a message that is missing is had again by going on from the one before it', async (t) => {
  const { server, quotes, resyncs, ids } = live();
  const { socket } = server;
  socket.says(post(11, 10, 3), post(14, 12, 5));
  t.strictSame(resyncs, ['GAP']);
  t.strictSame(ids, [3], 'no event is reported out of order');
  t.strictSame(socket.grants(11, [key]), { chainId: '421613', taker: '*', epoch, fromSeq: 11 });
  socket.says(post(12, 11, 4), post(14, 12, 5));
  t.strictSame(ids, [3, 4, 5]);
  t.strictSame([quotes.state, quotes.book.size], ['LIVE', 5]);
});

t.test('a gap that comes back is healed by a snapshot, and after that by another connection', async (t) => {
  const { server, quotes, resyncs } = live();
  const { socket } = server;
  socket.says(post(14, 12, 5));
  socket.grants(10, [key]);
  socket.says(post(14, 12, 5));
  t.strictSame(socket.grants(14, [key]), { chainId: '421613', taker: '*', snapshot: true });
  t.equal(quotes.state, 'SYNCING');
  socket.says(snapshot(14, [1, 2, 3]), post(20, 18, 6));
  t.strictSame(resyncs, ['GAP', 'GAP', 'GAP']);
  t.equal(socket.isClosed, true);
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(20, [key]), { chainId: '421613', taker: '*', snapshot: true });
});

t.test('a heartbeat with another hash is healed by a snapshot', async (t) => {
  const { server, quotes, resyncs } = live();
  const { socket } = server;
  socket.says(heartbeat(10, [{ key, hash: hashOf(1, 2) }]));
  t.strictSame(resyncs, []);
  socket.says(heartbeat(12, [{ key, hash: hashOf(1, 2, 3) }]));
  t.strictSame(resyncs, ['HASH']);
  t.equal(quotes.state, 'SYNCING');
  socket.grants(12, [key]);
  socket.says(snapshot(12, [1, 2, 3]));
  t.strictSame([quotes.state, quotes.book.size], ['LIVE', 3]);
});

t.test('what is on its way when something is asked anew belongs to before', async (t) => {
  const { server, ids, resyncs } = live();
  server.socket.says(post(14, 12, 5), post(15, 14, 6), heartbeat(15, [{ key, hash: hashOf(9) }]));
  t.strictSame(ids, []);
  t.strictSame(resyncs, ['GAP']);
});

t.test('a message that cannot be read completely leaves nothing behind: the book begins anew', async (t) => {
  const wrongs = [
    { ...post(11, 10, 3), body: { ...quote(3), fillableSize: 'much' } },
    { ...post(11, 10, 1), type: 'FILL_QUOTE', body: { ...quote(1), fillableSize: undefined } },
    { ...snapshot(11, [1, 2]), body: [quote(1), null] },
  ];
  for (const wrong of wrongs) {
    const { server, quotes } = live();
    server.socket.says(wrong);
    t.equal(quotes.state, 'WAITING', 'the connection is given up');
    server.clock.advance(500);
    const filter = server.socket.authorizes().grants(11, [key]);
    t.strictSame(filter, { chainId: '421613', taker: '*', snapshot: true });
    server.socket.says(snapshot(11, [1, 2, 3]));
    t.strictSame([quotes.state, quotes.book.size, quotes.book.hash(key)], ['LIVE', 3, hashOf(1, 2, 3)]);
  }
});

t.test('a message that comes twice counts once', async (t) => {
  const { server, ids } = live();
  server.socket.says(post(11, 10, 3), post(11, 10, 3), post(11, 9, 3));
  t.strictSame(ids, [3]);
});

t.test('after a lost connection it goes on from the last number that is complete', async (t) => {
  const { server, quotes, states, ids } = live();
  server.socket.says(post(11, 10, 3), heartbeat(15, [{ key, hash: hashOf(1, 2, 3) }]));
  server.socket.drops();
  t.equal(quotes.state, 'WAITING');
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(15, [key]), { chainId: '421613', taker: '*', epoch, fromSeq: 15 });
  server.socket.says(post(16, 15, 4));
  t.strictSame(ids, [3, 4]);
  t.strictSame(states, ['SYNCING', 'LIVE', 'WAITING', 'LIVE'], 'the book stays whole');
});

t.test('a snapshot that was cut off by a lost connection is asked for again', async (t) => {
  const { server } = following();
  server.socket.grants(10, [key]);
  server.socket.says(snapshot(10, [1], { more: true }));
  server.socket.drops();
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(11, [key]), { chainId: '421613', taker: '*', snapshot: true });
});

t.test('a snapshot that is lost on the way is asked for again, when what follows it comes', async (t) => {
  for (const follower of [post(11, 10, 3), heartbeat(10, [{ key, hash: hashOf(1) }])]) {
    const { server, resyncs } = following();
    server.socket.grants(10, [key]);
    server.socket.says(follower);
    t.strictSame(resyncs, ['GAP']);
    t.strictSame(server.socket.grants(11, [key]), { chainId: '421613', taker: '*', snapshot: true });
  }
});

t.test('a server that cannot go on starts anew, with another epoch or later on', async (t) => {
  const { server, quotes, resyncs } = live();
  server.socket.drops();
  server.clock.advance(1_000);
  const { socket } = server;
  socket.authorizes().grants(3, [key], otherEpoch);
  t.equal(quotes.state, 'SYNCING');
  const resync = { type: 'RESYNC', channel: 'QUOTES', keys: [key], seq: 3, epoch: otherEpoch, reason: 'OTHER_EPOCH' };
  socket.says(resync, snapshot(3, [7]));
  t.strictSame(
    [...quotes.book.all()].map(({ salt }) => salt),
    [7],
  );
  socket.says({ ...resync, seq: 9, reason: 'TOO_OLD' }, snapshot(9, [8]), post(10, 9, 4));
  t.strictSame(resyncs, ['RESYNC', 'RESYNC']);
  t.strictSame(
    [...quotes.book.all()].map(({ salt }) => salt),
    [8, 4],
  );
});

t.test('a snapshot that is not what its hash says ends the connection', async (t) => {
  const { server, quotes } = following();
  const { socket } = server;
  socket.grants(10, [key]);
  socket.says(snapshot(10, [1, 2], { hash: hashOf(1) }));
  t.equal(socket.isClosed, true);
  t.equal(quotes.state, 'WAITING');
});

t.test('a filter that the server refuses is over, and says why', async (t) => {
  const { server, quotes } = following();
  server.socket.says(error('Too many quotes for a snapshot: 7, at most 5. Name a pool', 'snapshot_too_large'));
  await t.rejects(quotes.whenLive(), { name: 'RefusedError', message: /Name a pool/ });
  t.equal(quotes.state, 'REFUSED');
  server.socket.drops();
  server.clock.advance(1_000);
  server.socket.authorizes();
  t.strictSame([quotes.state, server.socket.sent], ['REFUSED', []], 'another connection does not ask for it again');
});

t.test('a key that is refused refuses all that is followed, and all that waits for a connection', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  const { poolAddress, provider: taker } = quote(1);
  const refused = { name: 'RefusedError', message: 'NOT_FOUND' };
  const quotes = client.followQuotes();
  const live = quotes.whenLive();
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker });
  server.socket.onopen?.();
  server.socket.says(error('NOT_FOUND'));
  await t.rejects(live, refused);
  await t.rejects(asked, refused);
  t.equal(quotes.state, 'REFUSED');
  await t.rejects(client.followRfqs().whenLive(), refused, 'what is asked for later, too');
  await t.rejects(client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker }), refused);
});

t.test('a client that is closed leaves nothing open: not what it followed, and not what waited', async (t) => {
  const { client, quotes, states } = live();
  client.close();
  t.strictSame([quotes.state, states.at(-1)], ['CLOSED', 'CLOSED']);
  const { poolAddress, provider: taker } = quote(1);
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker });
  client.close();
  await t.rejects(asked, { name: 'ConnectionLostError' });
});

t.test('requests for quotes have no book: they follow from now', async (t) => {
  const { server, client } = following();
  server.socket.grants(10, [key]);
  const rfqs = client.followRfqs();
  const sizes: string[] = [];
  rfqs.onRfq(({ body }) => sizes.push(body.size));
  t.strictSame(server.socket.grants(10, [rfqKey]), { chainId: '421613' });
  t.equal(rfqs.state, 'LIVE');
  const body = {
    poolAddress: quote(1).poolAddress,
    side: 'ask',
    chainId: '421613',
    size: '5',
    taker: quote(1).provider,
  };
  server.socket.says({ type: 'RFQ', key: rfqKey, seq: 11, prevSeq: 10, tsMs: 0, cause: null, body });
  t.strictSame(sizes, ['5']);
});

t.test('events without a book follow from now, and go on after a lost connection', async (t) => {
  const { server, client } = following();
  server.socket.grants(10, [key]);
  const events = client.followEvents({ taker: '*' });
  const ids: number[] = [];
  events.onEvent(({ body }) => ids.push(body.salt));
  const wish = { chainId: '421613', taker: '*', snapshot: false };
  t.strictSame(server.socket.authorizes().grants(10, [key]), wish);
  t.equal(events.state, 'LIVE');
  server.socket.says(post(11, 10, 3));
  server.socket.drops();
  server.clock.advance(1_000);
  t.strictSame(server.socket.authorizes().grants(11, [key]), { ...wish, epoch, fromSeq: 11 });
  server.socket.says(post(12, 11, 4));
  t.strictSame(ids, [3, 4]);
});

t.test('a loop reads the events that come while it works, and ends when they are closed', async (t) => {
  const { server, client } = following();
  server.socket.grants(10, [key]);
  const events = client.followEvents({ taker: '*' });
  server.socket.authorizes().grants(10, [key]);
  const salts: number[] = [];
  const loop = (async () => {
    for await (const { body } of events.events()) {
      if (salts.push(body.salt) === 1) server.socket.says(post(13, 12, 5));
    }
  })();
  server.socket.says(post(11, 10, 3), post(12, 11, 4));
  await until(() => salts.length === 3);
  server.socket.says(post(14, 13, 6));
  events.close();
  await loop;
  t.strictSame(salts, [3, 4, 5, 6]);
});

t.test('a loop throws the refusal of its subscription', async (t) => {
  const { server, quotes } = following();
  const loop = quotes.events();
  const first = loop.next();
  server.socket.says(error('Too many quotes for a snapshot: 7, at most 5. Name a pool', 'snapshot_too_large'));
  await t.rejects(first, { name: 'RefusedError', message: /Name a pool/ });
  t.strictSame(await loop.next(), { value: undefined, done: true });
});

t.test('events that begin anew in another log go on from there, however far the last one had come', async (t) => {
  const { server, client } = following();
  server.socket.grants(10, [key]);
  client.followEvents({ taker: '*' });
  server.socket.authorizes().grants(10, [key]);
  server.socket.says(heartbeat(50));
  server.socket.says({ type: 'RESYNC', channel: 'QUOTES', keys: [key], seq: 20, epoch: otherEpoch, reason: 'TOO_OLD' });
  server.socket.drops();
  server.clock.advance(1_000);
  t.match(server.socket.authorizes().grants(20, [key], otherEpoch), { epoch: otherEpoch, fromSeq: 20 });
});

t.test(
  'tickers come whole: first all of them, then each that changed, and all again on another connection',
  async (t) => {
    const { server, client } = following();
    server.socket.grants(10, [key]);
    const tickerKey = 'ticker:421613:*';
    const { poolAddress, poolKey } = quote(1);
    const ticker = (filledSize24h: string) => ({
      poolAddress,
      poolKey,
      bid: null,
      ask: null,
      filledSize24h,
      volume24h: null,
    });
    const page = (more: boolean, body: readonly object[]) => ({
      type: 'TICKER_SNAPSHOT',
      key: tickerKey,
      seq: 10,
      tsMs: 0,
      more,
      body,
    });
    const tickers = client.followTickers();
    const heard: string[] = [];
    tickers.onSnapshot(() => heard.push('all'));
    tickers.onTicker(({ filledSize24h }) => heard.push(filledSize24h));
    const filled = () => tickers.of(poolAddress)?.filledSize24h;
    t.strictSame(server.socket.grants(10, [tickerKey]), { chainId: '421613' });
    const otherPool = '0x00000000000000000000000000000000000000c1';
    server.socket.says(page(true, [ticker('1'), { ...ticker('1'), poolAddress: otherPool }]));
    t.equal(tickers.state, 'SYNCING');
    server.socket.says(page(false, []), heartbeat(10));
    t.strictSame([tickers.state, filled()], ['LIVE', '1']);
    server.socket.says({ type: 'TICKER', key: tickerKey, seq: 12, tsMs: 0, body: ticker('2') });
    t.equal(filled(), '2');
    server.socket.drops();
    server.clock.advance(1_000);
    server.socket.authorizes().grants(12, [key]);
    t.strictSame(server.socket.grants(15, [tickerKey]), { chainId: '421613' }, 'there is nothing to go on from');
    server.socket.says(page(false, [ticker('3')]));
    t.equal(filled(), '3');
    t.equal(tickers.of('0x00000000000000000000000000000000000000C1'), undefined, 'it has expired meanwhile');
    t.equal(tickers.of('0x00000000000000000000000000000000000000A1')?.filledSize24h, '3', 'in any letter case');
    t.strictSame(heard, ['all', '2', 'all']);
  },
);

t.test('a cover is live with its first message, and each message replaces it', async (t) => {
  const { server, client } = following();
  server.socket.grants(10, [key]);
  const { poolAddress } = quote(1);
  const coverKey = `cover:421613:${poolAddress}:ask:5:*:*`;
  const message = (seq: number, covered: string) => ({
    type: 'COVER',
    key: coverKey,
    seq,
    tsMs: 0,
    body: { covered, shortfall: '0', averagePrice: null, worstPrice: null, deadline: null, legs: [] },
  });
  const followed = client.followCover({ poolAddress, side: 'ask', size: 5n });
  const heard: string[] = [];
  followed.onCover(({ covered }, seq) => heard.push(`${covered} at ${seq}`));
  t.strictSame(server.socket.grants(10, [coverKey]), { chainId: '421613', poolAddress, side: 'ask', size: '5' });
  t.equal(followed.state, 'SYNCING');
  server.socket.says(message(10, '1'));
  t.strictSame([followed.state, followed.cover?.covered], ['LIVE', '1']);
  server.socket.says(message(12, '2'), heartbeat(12));
  server.socket.drops();
  t.equal(followed.cover, null, 'it may be another by now');
  server.clock.advance(1_000);
  server.socket.authorizes().grants(12, [key]);
  server.socket.grants(15, [coverKey]);
  t.equal(followed.cover, null, 'there is nothing to go on from');
  server.socket.says(message(15, '3'));
  t.strictSame(heard, ['1 at 10', '2 at 12', '3 at 15']);
});

t.test('a second book takes a second connection, which goes when the book is closed', async (t) => {
  const { server, client } = following();
  const one = client.followBook({ poolAddress: quote(1).poolAddress, depth: 5 });
  t.equal(server.sockets.length, 1);
  const two = client.followBook({ poolAddress: quote(1).provider });
  t.equal(server.sockets.length, 2);
  two.close();
  t.equal(server.socket.isClosed, true);
  t.equal(two.state, 'CLOSED');
  t.not(one.state, 'CLOSED');
  await t.rejects(two.whenLive(), { message: 'Closed' });
});

t.test('a request waits for a connection, and is resolved by its answer', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  const { poolAddress, provider } = quote(1);
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  server.socket.authorizes();
  t.strictSame(server.socket.next(), {
    type: 'RFQ',
    body: { poolAddress, side: 'ask', size: '5', taker: provider, chainId: '421613' },
  });
  server.socket.says({ type: 'INFO', body: null, message: 'Published RFQ to ...' });
  await asked;
  const refused = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  server.socket.says(error('RFQ not published: BUSY'));
  await t.rejects(refused, { name: 'RefusedError', message: 'RFQ not published: BUSY' });
});

t.test('the connection of which least is to be expected is the client’s', async (t) => {
  const { server, client } = live();
  t.equal(client.connection, 'OPEN');
  server.socket.drops();
  t.equal(client.connection, 'WAITING');
  server.clock.advance(1_000);
  t.equal(client.connection, 'CONNECTING');
  client.close();
  t.equal(client.connection, 'CLOSED');
  t.equal(server.clock.pending, 0);
});

t.test('the least size of a filter goes as text, and what is left out not at all', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  client.followQuotes({ side: 'ask', size: 2n ** 64n });
  const { socket } = server;
  const filter = socket.authorizes().grants(0, [key]);
  t.strictSame(filter, { chainId: '421613', side: 'ask', size: '18446744073709551616', snapshot: true });
});
