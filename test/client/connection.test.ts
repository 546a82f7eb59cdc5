import t from 'tap';
import {
  Connection,
  type ConnectionState,
  DEFAULT_TIMEOUTS,
  type Outcome,
  type Reply,
} from '../../src/client/connection.js';
import { Credentials } from '../../src/client/sign-in.js';
import { error, heartbeat, info, ScriptedServer } from './scripted-server.js';

function opened(onState: (state: ConnectionState) => void = () => undefined) {
  const server = new ScriptedServer();
  const states: ConnectionState[] = [];
  const heard: string[] = [];
  const connection = new Connection({
    url: 'ws://quotes.test',
    credentials: new Credentials('good-key'),
    encoding: 'msgpack',
    timeouts: DEFAULT_TIMEOUTS,
    ports: server.ports,
    onState(state) {
      states.push(state);
      onState(state);
    },
    onMessage: ({ type }) => heard.push(type),
  });
  connection.open();
  return { server, connection, states, heard };
}

t.test('it asks for its subprotocol, says who it is, and is open when that is granted', async (t) => {
  const { server, states } = opened();
  const { socket } = server;
  t.strictSame(
    [socket.url, socket.protocols, socket.binaryType],
    ['ws://quotes.test', ['quotebook.v2.msgpack'], 'arraybuffer'],
  );
  socket.onopen?.();
  t.strictSame(socket.next(), { type: 'AUTH', apiKey: 'good-key', body: null });
  t.strictSame(states, ['CONNECTING']);
  socket.says(info('Session authorized. Subscriptions enabled.'));
  t.strictSame(states, ['CONNECTING', 'OPEN']);
});

t.test('a key that is refused ends it: trying again would only get the address banned', async (t) => {
  const { server, states } = opened();
  server.socket.onopen?.();
  server.socket.says(error('NOT_FOUND'));
  server.clock.advance(3_600_000);
  t.strictSame(states, ['CONNECTING', 'UNAUTHORIZED']);
  t.equal(server.sockets.length, 1);
  t.equal(server.socket.isClosed, true);
});

t.test('a key that is good, and may not have another connection just now, is tried again', async (t) => {
  const { server, states } = opened();
  for (const why of ['RATELIMITED', 'Too many connections: at most 8 with one key']) {
    const { socket } = server;
    socket.onopen?.();
    socket.says(error(why));
    t.strictSame([socket.isClosed, states.at(-1)], [true, 'WAITING'], why);
    server.clock.advance(1_000);
    t.not(server.socket, socket);
  }
  server.socket.authorizes();
  t.equal(states.at(-1), 'OPEN');
});

t.test('a refused AUTH says why, and how long to wait', async (t) => {
  const { server, connection } = opened();
  server.socket.onopen?.();
  const body = { retryAfterMs: 900_000 };
  server.socket.says({ type: 'ERROR', body, message: 'RATELIMITED', code: 'rate_limited' });
  t.match(connection.refusal, { name: 'RefusedError', code: 'rate_limited', retryAfterMs: 900_000 });
  t.equal(connection.nextAttemptMs, server.clock.wallMs() + 900_000);
  server.clock.advance(899_999);
  t.equal(server.sockets.length, 1);
  server.clock.advance(1);
  t.equal(server.sockets.length, 2);
  server.socket.authorizes();
  t.equal(connection.refusal, null);
});

t.test('the reason of a refusal ends with the next loss that has none', async (t) => {
  const { server, connection } = opened();
  server.socket.onopen?.();
  server.socket.says(error('Too many connections: at most 4 with one key', 'too_many_connections'));
  t.match(connection.refusal, { code: 'too_many_connections' });
  server.clock.advance(500);
  server.socket.drops();
  t.equal(connection.refusal, null);
});

t.test('a lost connection is replaced after a pause that is drawn, and grows while none of them lasts', async (t) => {
  const { server, states } = opened();
  server.random = 0.999_999;
  const pauses = [500, 1_000, 2_000, 4_000];
  for (const [i, pauseMs] of pauses.entries()) {
    server.socket.authorizes().drops();
    server.clock.advance(pauseMs - 10);
    t.equal(server.sockets.length, i + 1, `not yet after ${pauseMs - 10} ms`);
    server.clock.advance(10);
    t.equal(server.sockets.length, i + 2);
  }
  server.socket.authorizes().says(heartbeat(1));
  server.socket.drops();
  server.clock.advance(500);
  t.equal(server.sockets.length, pauses.length + 2, 'one that lasted starts the pauses anew');
  t.strictSame(states.slice(0, 4), ['CONNECTING', 'OPEN', 'WAITING', 'CONNECTING']);
});

t.test('a connection that says nothing for fifteen seconds counts as dead', async (t) => {
  const { server, states } = opened();
  const { socket } = server;
  socket.authorizes();
  server.clock.advance(10_000);
  socket.says(heartbeat(1));
  server.clock.advance(10_000);
  t.equal(states.at(-1), 'OPEN');
  server.clock.advance(15_000);
  t.equal(socket.isClosed, true);
  t.equal(server.sockets.length, 2);
});

t.test('whenever its last frame came, it is noticed within twenty seconds, and not before fifteen', async (t) => {
  for (const lastMs of [1, 4_999, 5_001, 14_999]) {
    const { server, states } = opened();
    const { socket } = server;
    socket.authorizes();
    server.clock.advance(lastMs);
    socket.says(heartbeat(1));
    server.clock.advance(14_999);
    t.equal(states.at(-1), 'OPEN', `${lastMs} ms`);
    server.clock.advance(5_001);
    t.equal(socket.isClosed, true, `${lastMs} ms`);
  }
});

t.test('so does one that never opens, and one that leaves a message unanswered', async (t) => {
  const { server, connection } = opened();
  server.clock.advance(11_000);
  t.equal(server.sockets.length, 2);
  server.socket.authorizes();
  const outcomes: Outcome<Reply>[] = [];
  connection.ask({ type: 'FILTER' }, (outcome) => outcomes.push(outcome));
  server.clock.advance(10_000);
  t.match(outcomes, [{ ok: false, error: { name: 'ConnectionLostError' } }]);
});

t.test('messages are asked one at a time, and each gets its own answer', async (t) => {
  const { server, connection } = opened();
  server.socket.authorizes();
  const outcomes: Outcome<Reply>[] = [];
  for (const name of ['first', 'second']) connection.ask({ name }, (outcome) => outcomes.push(outcome));
  t.strictSame(server.socket.sent, [{ name: 'first' }]);
  server.socket.says(error('no'));
  t.strictSame(server.socket.sent.splice(0), [{ name: 'first' }, { name: 'second' }]);
  server.socket.says(info('yes'));
  t.match(outcomes, [
    { ok: false, error: { name: 'RefusedError', message: 'no' } },
    { ok: true, answer: { message: 'yes', subscribed: null } },
  ]);
});

t.test('a refusal says what the server says besides, and when to try again', async (t) => {
  const { server, connection } = opened();
  server.socket.authorizes();
  const outcomes: Outcome<Reply>[] = [];
  for (const name of ['first', 'second']) connection.ask({ name }, (outcome) => outcomes.push(outcome));
  const body = { retryAfterMs: 1_500, pending: ['0x01'] };
  server.socket.says({ type: 'ERROR', body, message: 'RATELIMITED', code: 'rate_limited' });
  server.socket.says(error('no'));
  t.match(outcomes, [
    { error: { code: 'rate_limited', retryAfterMs: 1_500, details: { pending: ['0x01'] } } },
    { error: { retryAfterMs: null, details: null } },
  ]);
});

t.test('what is no message ends the connection; a message that is not known does not', async (t) => {
  const { server, heard } = opened();
  const { socket } = server;
  socket.authorizes().says({ type: 'FROM_THE_FUTURE' }, heartbeat(1));
  t.strictSame(heard, ['HEARTBEAT']);
  socket.says('{"type":');
  t.equal(socket.isClosed, true);
  socket.says(heartbeat(2));
  t.strictSame(heard, ['HEARTBEAT'], 'a socket that was given up is not listened to');
});

t.test('closing ends it for good', async (t) => {
  const { server, connection, states } = opened();
  server.socket.authorizes();
  const ended: object[] = [];
  for (const name of ['never answered', 'never sent']) connection.ask({ name }, ({ ok }) => ended.push({ name, ok }));
  connection.close();
  t.strictSame(ended, [
    { name: 'never answered', ok: false },
    { name: 'never sent', ok: false },
  ]);
  t.equal(server.clock.pending, 0, 'no timer is left');
  server.clock.advance(3_600_000);
  t.equal(states.at(-1), 'CLOSED');
  t.equal(server.sockets.length, 1);
  const outcomes: boolean[] = [];
  connection.ask({}, ({ ok }) => outcomes.push(ok));
  t.strictSame(outcomes, [false]);
});

t.test('what was closed is not opened by giving its socket up', (t) => {
  const { server, connection, states } = opened();
  connection.close();
  connection.restart();
  t.strictSame(states, ['CONNECTING', 'CLOSED']);
  t.equal(server.clock.pending, 0);
  t.end();
});

t.test('a connection closed by the listener of its loss does not reconnect', async (t) => {
  const { server, connection, states } = opened((state) => {
    if (state === 'WAITING') connection.close();
  });
  server.socket.authorizes().drops();
  server.clock.advance(3_600_000);
  t.strictSame(states, ['CONNECTING', 'OPEN', 'WAITING', 'CLOSED']);
  t.equal(server.sockets.length, 1);
});

t.test('a connection closed by the listener of its reconnect leaves no socket', async (t) => {
  let tries = 0;
  const { server, connection, states } = opened((state) => {
    if (state !== 'CONNECTING') return;
    tries += 1;
    if (tries === 2) connection.close();
  });
  server.socket.authorizes().drops();
  server.clock.advance(3_600_000);
  t.strictSame(states, ['CONNECTING', 'OPEN', 'WAITING', 'CONNECTING', 'CLOSED']);
  t.strictSame([server.sockets.length, server.clock.pending], [1, 0]);
});

t.test("a call without an answer fails in time, and its late answer is nobody's", (t) => {
  const { server, connection } = opened();
  server.socket.authorizes();
  const outcomes: Outcome<Reply>[] = [];
  connection.call({ type: 'POST_QUOTES', body: [] }, (outcome) => outcomes.push(outcome));
  const { id } = server.socket.next();
  for (let ms = 0; ms < DEFAULT_TIMEOUTS.callMs; ms += 1_000) {
    t.strictSame(outcomes, []);
    server.socket.says(heartbeat(0));
    server.clock.advance(1_000);
  }
  t.match(outcomes, [{ ok: false, error: { name: 'ConnectionLostError', message: 'No answer within 120000 ms' } }]);
  server.socket.says({ type: 'QUOTES_POSTED', body: {}, id });
  t.equal(outcomes.length, 1);
  t.equal(connection.state, 'OPEN');
  t.end();
});
