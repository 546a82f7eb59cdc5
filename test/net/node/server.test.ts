import { connect } from 'node:net';
import t from 'tap';
import type { NetRequest, NetResponse } from '../../../src/net/net.js';
import { NodeServer } from '../../../src/net/node/server.js';
import { head, RawConnection, statuses, upgradeHead } from '../raw-connection.js';
import { type Backend, quietSockets, serve } from '../serving.js';
import { until } from '../../until.js';

// Times that uWebSockets.js has built in (10 s), and this backend takes from its limits.
const backend: Backend = { name: 'node', documented: 'node:http', create: (options) => new NodeServer(options) };
const answer = (body: string): NetResponse => ({ status: 200, headers: {}, body });

t.test('cuts off a head that is not complete in time', async (t) => {
  const { port } = await serve(t, backend, { limits: { httpIdleMs: 40 } });
  for (const piece of ['', 'GET / HT', 'GET / HTTP/1.1\r\nHost: x\r\n']) {
    const connection = await RawConnection.open(port);
    await connection.send(piece);
    await connection.closed;
    t.notMatch(statuses(connection.text), [200]);
  }
});

t.test('a head that goes on and on is cut off, too', async (t) => {
  const { port } = await serve(t, backend, { limits: { httpIdleMs: 40 } });
  const connection = await RawConnection.open(port);
  await connection.send('GET / HTTP/1.1\r\nHost: x\r\n');
  const feed = setInterval(() => connection.socket.writable && connection.socket.write('a: b\r\n'), 2);
  await connection.closed;
  clearInterval(feed);
  t.notMatch(statuses(connection.text), [200]);
});

t.test('a head that is too large is refused', async (t) => {
  const { port } = await serve(t, backend, { limits: { headBytes: 1000 } });
  const connection = await RawConnection.open(port);
  await connection.send(head(`GET /?${'x'.repeat(1000)} HTTP/1.1`, 'Host: x'));
  await connection.closed;
  t.strictSame(statuses(connection.text), [431]);
});

t.test('a connection that asks nothing more is closed', async (t) => {
  const { port } = await serve(t, backend, { limits: { httpIdleMs: 250 } });
  const connection = await RawConnection.open(port);
  await connection.send(head('GET / HTTP/1.1', 'Host: x'));
  await connection.closed;
  t.strictSame(statuses(connection.text), [200]);
});

const untaken: readonly [string, string][] = [
  ['is cut off, and the handler told', ''],
  ['is cut off also where it has asked to go on as a WebSocket behind that', upgradeHead()],
];

for (const [what, behind] of untaken) {
  t.test(`a peer that does not take its answer ${what}`, async (t) => {
    const requests: NetRequest[] = [];
    const { port } = await serve(t, backend, {
      http: (r) => {
        requests.push(r);
        return answer('x'.repeat(32 << 20));
      },
      limits: { httpIdleMs: 250 },
    });
    const connection = await RawConnection.open(port);
    connection.socket.pause();
    await connection.send(head('GET / HTTP/1.1', 'Host: x') + behind);
    await until(() => requests[0]?.aborted === true);
    t.pass('aborted');
    connection.reset();
  });
}

t.test('a handler may take longer than a connection may idle', async (t) => {
  // Long enough for the head to come in time where the machine stands still between it and the connection.
  const httpIdleMs = 250;
  const { port } = await serve(t, backend, {
    http: async () => {
      await new Promise((resolve) => setTimeout(resolve, 2 * httpIdleMs));
      return answer('done');
    },
    limits: { httpIdleMs },
  });
  const connection = await RawConnection.open(port);
  await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 2') + 'ab');
  t.match(await connection.until((text) => text.endsWith('done')), '200 OK');
  connection.reset();
});

t.test('a handler may take longer also where it was asked on top of an answer that took time to leave', async (t) => {
  const httpIdleMs = 250;
  const { port } = await serve(t, backend, {
    http: async ({ path }) => {
      if (path === '/large') return answer('x'.repeat(8 << 20));
      await new Promise((resolve) => setTimeout(resolve, 2 * httpIdleMs));
      return answer('done');
    },
    limits: { httpIdleMs },
  });
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(head('GET /large HTTP/1.1', 'Host: x') + head('GET /slow HTTP/1.1', 'Host: x'));
  let end = '';
  for await (const piece of socket) {
    end = (piece as Buffer).toString('latin1', (piece as Buffer).length - 4);
    if (end === 'done') break;
  }
  t.equal(end, 'done');
});

t.test('a peer that does not take an answer that waited for its turn is cut off, too', async (t) => {
  const requests: NetRequest[] = [];
  let finish: () => void = () => undefined;
  const { port } = await serve(t, backend, {
    http: async (r) => {
      requests.push(r);
      if (r.path === '/large') return answer('x'.repeat(32 << 20));
      await new Promise<void>((resolve) => (finish = resolve));
      return answer('done');
    },
    limits: { httpIdleMs: 250 },
  });
  const connection = await RawConnection.open(port);
  connection.socket.pause();
  await connection.send(head('GET /slow HTTP/1.1', 'Host: x') + head('GET /large HTTP/1.1', 'Host: x'));
  await until(() => requests.length >= 2);
  finish();
  await until(() => requests[1]?.aborted === true);
  t.pass('aborted');
  connection.reset();
});

t.test('an upgrade that is refused leaves nothing behind, also where the peer keeps its end open', async (t) => {
  const { port, url, server } = await serve(t, backend, {
    sockets: { ...quietSockets, upgrade: () => ({ status: 429, headers: {}, body: 'refused' }) },
    limits: { drainMs: 60_000 },
  });
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const codes: unknown[] = [];
  socket.on('error', (error: NodeJS.ErrnoException) => codes.push(error.code));
  socket.write(upgradeHead());
  let text = '';
  for await (const piece of socket.setEncoding('latin1').iterator({ destroyOnReturn: false })) text += piece as string;
  t.match(text, /429 Too Many Requests[^]*connection: close[^]*refused$/);
  for (let i = 0; i < 50 && codes.length === 0; i++) {
    socket.write('more');
    await fetch(url);
  }
  t.match(codes, [/ECONNRESET|EPIPE/], 'nobody is there');
  await server.close(1001, '');
});

t.test('more requests than may await their answers close the connection', async (t) => {
  const waiting: (() => void)[] = [];
  const { port } = await serve(t, backend, {
    http: () => new Promise((resolve) => waiting.push(() => resolve(answer('ok')))),
    limits: { pipelinedRequests: 3 },
  });
  const allowed = await RawConnection.open(port);
  await allowed.send(head('GET / HTTP/1.1', 'Host: x').repeat(3));
  while (waiting.length < 3) await new Promise((resolve) => setImmediate(resolve));
  waiting.splice(0).forEach((finish) => finish());
  await allowed.until((text) => statuses(text).length === 3);
  allowed.reset();
  const greedy = await RawConnection.open(port);
  await greedy.send(head('GET / HTTP/1.1', 'Host: x').repeat(4));
  await greedy.closed;
  t.equal(waiting.length, 3);
  t.strictSame(statuses(greedy.text), []);
});
