import t from 'tap';
import type { FollowedQuotes } from '../../src/client/exports.js';
import { OrderbookClient } from '../../src/client/node.js';
import { following, key, live, snapshot } from './followed-quotes.js';
import { error, heartbeat, quote, ScriptedServer } from './scripted-server.js';

const { poolAddress, provider } = quote(1);
const options = { url: 'http://quotes.test', apiKey: 'k', chainId: '421613' } as const;

t.test('the pool reports the worse state of two connections, and each change once', (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const states: string[] = [];
  client.onConnection((state) => states.push(state));
  /** States reported since the last call. */
  const told = (): string[] => states.splice(0);
  client.followBook({ poolAddress });
  client.followBook({ poolAddress: provider });
  const [one, two] = server.sockets;
  t.strictSame(told(), ['CONNECTING']);
  one?.authorizes();
  t.strictSame(told(), [], 'the other is not open yet');
  two?.authorizes();
  t.strictSame(told(), ['OPEN']);
  one?.drops();
  t.strictSame(told(), ['WAITING']);
  server.clock.advance(200);
  two?.drops();
  t.strictSame([told(), client.connection], [[], 'WAITING']);
  server.clock.advance(250);
  t.equal(server.sockets.length, 3, 'the first is on its way again');
  t.strictSame([told(), client.connection], [[], 'WAITING']);
  server.socket.onopen?.();
  server.socket.says(error('NOT_FOUND'));
  t.strictSame([told(), client.connection], [['UNAUTHORIZED'], 'UNAUTHORIZED'], 'the other still waits');
  client.close();
  t.equal(told().at(-1), 'CLOSED');
  t.end();
});

t.test('connect resolves when the key is accepted, and the connection stays', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const connected = client.connect();
  server.socket.authorizes();
  await connected;
  await client.connect();
  t.strictSame([client.connection, server.sockets.length], ['OPEN', 1]);
  client.close();
});

t.test('connect rejects a refused key, and a service that does not answer in time', async (t) => {
  const refusing = new ScriptedServer();
  const refused = new OrderbookClient(options, refusing.ports).connect();
  refusing.socket.onopen?.();
  refusing.socket.says(error('NOT_FOUND'));
  await t.rejects(refused, { name: 'RefusedError' });
  const silent = new ScriptedServer();
  const client = new OrderbookClient(options, silent.ports);
  const unanswered = client.connect();
  silent.clock.advance(10_000);
  await t.rejects(unanswered, { name: 'ConnectionLostError' });
  client.close();
  await t.rejects(client.connect(), { name: 'ConnectionLostError' }, 'it is closed');
});

t.test('the connection of connect stays when what was followed over it is closed', async (t) => {
  for (const followsFirst of [false, true]) {
    const server = new ScriptedServer();
    const client = new OrderbookClient(options, server.ports);
    const before = followsFirst ? [client.followTickers()] : [];
    const connected = client.connect();
    server.socket.authorizes();
    await connected;
    for (const followed of [...before, client.followBook({ poolAddress })]) followed.close();
    t.strictSame([client.connection, server.sockets.length, server.socket.isClosed], ['OPEN', 1, false]);
    client.close();
    t.equal(server.socket.isClosed, true);
  }
});

t.test('the connection that a call opened stays when what was followed over it is closed', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const asked = client.postQuotes([]);
  server.socket.authorizes();
  server.socket.says({ type: 'QUOTES_POSTED', id: server.socket.next().id, body: {} });
  await asked;
  client.followBook({ poolAddress }).close();
  t.equal(server.socket.isClosed, false);
  client.close();
});

t.test('a connection that carried CANCEL_ON_DISCONNECT stays: its end would withdraw the quotes', async (t) => {
  const { server, client, quotes } = live();
  const asked = client.cancelOnDisconnect(provider, 3);
  const { id } = server.socket.next();
  server.socket.says({ type: 'TIMER_SET', id, body: {} });
  await asked;
  quotes.close();
  t.strictSame([client.connection, server.socket.isClosed], ['OPEN', false]);
  client.close();
});

t.test('connect and requests reject with the reason why the server refuses a connection', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const connected = t.rejects(client.connect(), { name: 'RefusedError', code: 'too_many_connections' });
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  const refused = t.rejects(asked, { name: 'RefusedError', code: 'too_many_connections' });
  server.socket.onopen?.();
  server.socket.says(error('Too many connections: at most 4 with one key', 'too_many_connections'));
  t.match(client.refusal, { code: 'too_many_connections' });
  server.clock.advance(10_000);
  await Promise.all([connected, refused]);
  client.close();
  t.equal(client.refusal, null);
});

t.test('status iterates over the states until the client is closed', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const seen: string[] = [];
  const reading = (async () => {
    for await (const state of client.status()) {
      seen.push(state);
      if (state === 'CLOSED' && seen.length === 1) void client.connect();
      if (state === 'CONNECTING') server.socket.authorizes();
      if (state === 'OPEN') client.close();
    }
  })();
  await reading;
  t.strictSame(seen, ['CLOSED', 'CONNECTING', 'OPEN', 'CLOSED']);
});

t.test('drain takes no more calls, and closes after the answers to those under way', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const connected = client.connect();
  server.socket.authorizes();
  await connected;
  const asked = client.cancelQuotes([]);
  const { id } = server.socket.next() as { id: string };
  const drained = client.drain();
  await t.rejects(client.cancelQuotes([]), { name: 'ConnectionLostError' });
  t.equal(client.connection, 'OPEN', 'a call is under way');
  server.socket.says({ type: 'QUOTES_CANCELLED', id, body: { cancelled: [] } });
  t.strictSame(await asked, { cancelled: [] });
  await drained;
  await client.closed;
  t.equal(client.connection, 'CLOSED');
});

t.test('the pool reports each heartbeat of a connection', (t) => {
  const { server, client } = following();
  const seqs: number[] = [];
  const stop = client.onHeartbeat(({ seq }) => seqs.push(seq));
  server.socket.says(heartbeat(1), { type: 'POST_QUOTE', key, seq: 7 }, heartbeat(2));
  stop();
  server.socket.says(heartbeat(3));
  t.strictSame(seqs, [1, 2]);
  t.end();
});

t.test(
  'a client that is closed opens nothing any more: what is followed is closed, what is asked is not done',
  async (t) => {
    const server = new ScriptedServer();
    const client = new OrderbookClient(options, server.ports);
    client.close();
    const book = client.followBook({ poolAddress });
    t.equal(book.state, 'CLOSED');
    await t.rejects(book.whenLive(), { message: 'Closed' });
    const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
    await t.rejects(asked, { name: 'ConnectionLostError' });
    book.close();
    t.strictSame([server.sockets.length, client.connection], [0, 'CLOSED']);
  },
);

t.test('a client that a state listener closes while connecting opens and follows nothing', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  client.onConnection((state) => {
    if (state === 'CONNECTING') client.close();
  });
  const book = client.followBook({ poolAddress });
  t.equal(book.state, 'CLOSED');
  await t.rejects(book.whenLive(), { message: 'Closed' });
  t.strictSame([server.sockets.length, server.clock.pending, client.connection], [0, 0, 'CLOSED']);
});

t.test('a connection stays while it carries anything', (t) => {
  const { server, client, quotes } = live();
  const book = client.followBook({ poolAddress });
  book.close();
  t.strictSame([server.socket.isClosed, quotes.state], [false, 'LIVE']);
  quotes.close();
  t.equal(server.socket.isClosed, true);
  t.end();
});

t.test('a connection stays for a request that waits for it, though nothing is followed any more', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const book = client.followBook({ poolAddress });
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  book.close();
  server.socket.authorizes();
  t.match(server.socket.next(), { type: 'RFQ' });
  server.socket.says({ type: 'INFO', body: null, message: 'Published RFQ to ...' });
  await asked;
  t.equal(server.socket.isClosed, true, 'and no longer');
});

t.test('so it does for the answer to a request that was sent', async (t) => {
  const { server, client, quotes } = live();
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  quotes.close();
  t.equal(server.socket.isClosed, false);
  server.socket.says({ type: 'INFO', body: null, message: 'Published RFQ to ...' });
  await asked;
  t.equal(server.socket.isClosed, true, 'and no longer');
});

t.test('a connection that is followed over again stays when its request is answered', async (t) => {
  const { server, client, quotes } = live();
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  quotes.close();
  client.followBook({ poolAddress });
  server.socket.says({ type: 'INFO', body: null, message: 'Published RFQ to ...' });
  await asked;
  t.strictSame([server.sockets.length, server.socket.isClosed], [1, false]);
});

t.test('a connection that was left to a request, and is lost with it, is not replaced', async (t) => {
  const { server, client, quotes } = live();
  const asked = t.rejects(client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider }));
  quotes.close();
  server.socket.drops();
  await asked;
  t.strictSame([client.connection, server.clock.pending], ['CLOSED', 0]);
});

t.test('a connection that was left to a request goes when that is given up', async (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const book = client.followBook({ poolAddress });
  const asked = t.rejects(client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider }));
  book.close();
  server.clock.advance(10_000);
  await asked;
  t.strictSame([client.connection, server.clock.pending], ['CLOSED', 0]);
});

t.test('what is followed later goes over the connection that is there', (t) => {
  const { server, client } = live();
  client.followRfqs();
  t.equal(server.sockets.length, 1);
  t.match(server.socket.sent, [{ type: 'FILTER', channel: 'RFQ' }]);
  t.equal(server.socket.grants(10, [key]).chainId, '421613');
  t.end();
});

t.test('when nothing is followed any more, what is followed next has a connection of its own', (t) => {
  const { server, client, quotes } = live();
  quotes.close();
  t.equal(client.connection, 'CLOSED');
  const again = client.followQuotes({ taker: '*' });
  t.equal(server.sockets.length, 2);
  server.socket.authorizes().grants(10, [key]);
  server.socket.says(snapshot(10, [1]));
  t.equal(again.state, 'LIVE');
  t.end();
});

t.test('a request that waits for a connection is given up with the client', async (t) => {
  const client = new OrderbookClient(options, new ScriptedServer().ports);
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  client.close();
  await t.rejects(asked, { name: 'ConnectionLostError' });
});

t.test('a request for which no connection comes is given up: later it may not be wanted any more', async (t) => {
  const { server, client } = live();
  server.socket.drops();
  const asked = client.requestQuotes({ poolAddress, side: 'ask', size: 5n, taker: provider });
  const rejected = t.rejects(asked, { name: 'ConnectionLostError' });
  server.clock.advance(10_000);
  await rejected;
  server.socket.authorizes().grants(10, [key]);
  t.strictSame(server.socket.sent, []);
});

t.test('what was refused leaves its place to what is followed next', (t) => {
  const { server, client } = live();
  const refused = client.followBook({ poolAddress });
  server.socket.next();
  server.socket.says(error('pool is not deployed'));
  const next = client.followBook({ poolAddress });
  t.strictSame([refused.state, next.state, server.sockets.length], ['REFUSED', 'SYNCING', 1]);
  refused.close();
  t.strictSame([next.state, server.socket.isClosed], ['SYNCING', false]);
  t.end();
});

t.test('what is followed on hearing that another of its channel is closed takes its place', (t) => {
  for (const closesAgain of [false, true]) {
    const { server, client, quotes } = live();
    client.followBook({ poolAddress });
    server.socket.grants(10, ['orderbook']);
    const next: FollowedQuotes[] = [];
    quotes.onState(() => {
      if (closesAgain) quotes.close();
      next.push(client.followQuotes());
    });
    quotes.close();
    t.match(server.socket.next(), { type: 'UNSUBSCRIBE', channel: 'QUOTES' });
    server.socket.says({ type: 'INFO', body: null, message: 'Unsubscribed from ...' });
    server.socket.grants(10, [key]);
    server.socket.says(snapshot(10, [1]));
    t.strictSame([next.map(({ state }) => state), server.sockets.length], [['LIVE'], 1]);
  }
  t.end();
});

t.test('a key that was refused is not tried again by following the same once more', (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  client.followQuotes();
  server.socket.onopen?.();
  server.socket.says(error('NOT_FOUND'));
  t.strictSame([client.followQuotes().state, server.sockets.length], ['REFUSED', 1]);
  t.end();
});

t.test('what is followed on hearing that another begins is asked for once', (t) => {
  const server = new ScriptedServer();
  const client = new OrderbookClient(options, server.ports);
  const book = client.followBook({ poolAddress });
  const stop = book.onState(() => {
    stop();
    client.followQuotes({ taker: '*' });
  });
  server.socket.authorizes().grants(10, ['orderbook']);
  server.socket.grants(10, [key]);
  t.strictSame(server.socket.sent, []);
  t.end();
});

t.test('a timeout that is set to undefined takes its default', (t) => {
  const server = new ScriptedServer();
  const untyped: object = { answerMs: undefined, silenceMs: undefined, reconnect: undefined };
  const client = new OrderbookClient({ ...options, timeouts: untyped }, server.ports);
  client.followQuotes();
  const { socket } = server;
  server.clock.advance(10_000);
  t.equal(socket.isClosed, true, 'it did not open in time');
  server.clock.advance(500);
  server.socket.authorizes().grants(10, [key]);
  server.clock.advance(14_999);
  t.equal(client.connection, 'OPEN');
  server.clock.advance(5_001);
  t.equal(client.connection, 'WAITING', 'it was silent for too long');
  client.close();
  t.end();
});

t.test('an address that is no URL of a service is said at once', (t) => {
  const wrong = [
    'quotes.test',
    'ws://quotes.test',
    '',
    'http://[',
    'http://quotes.test:99999',
    'http://quotes.test/#a',
    'http://quotes.test?a',
  ];
  for (const url of wrong) {
    t.throws(() => new OrderbookClient({ ...options, url }, new ScriptedServer().ports), /URL of a service/, url);
  }
  t.end();
});

t.test('a key that is not there is said at once, and one is taken as the routes take it', (t) => {
  const server = new ScriptedServer();
  const untyped: object = { apiKey: undefined };
  t.throws(() => new OrderbookClient({ ...options, ...untyped }, server.ports), /API key/);
  const client = new OrderbookClient({ ...options, apiKey: 'k\n' }, server.ports);
  client.followQuotes();
  server.socket.onopen?.();
  t.match(server.socket.next(), { type: 'AUTH', apiKey: 'k' });
  client.close();
  t.end();
});

t.test('a pause that is given in part is the default for the rest', (t) => {
  const server = new ScriptedServer();
  const untyped: object = { reconnect: { minMs: 1000 } };
  const client = new OrderbookClient({ ...options, timeouts: untyped }, server.ports);
  client.followQuotes();
  server.socket.drops();
  server.clock.advance(1_499);
  t.equal(client.connection, 'WAITING');
  server.clock.advance(1);
  t.equal(client.connection, 'CONNECTING');
  client.close();
  t.end();
});

t.test('where the service is reached over TLS, so is its feed', (t) => {
  const server = new ScriptedServer();
  new OrderbookClient({ ...options, url: 'https://quotes.test/book/' }, server.ports).followQuotes();
  t.equal(server.socket.url, 'wss://quotes.test/book');
  t.end();
});
