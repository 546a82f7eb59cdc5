import { Server } from 'node:net';
import t from 'tap';
import { Metrics, serveMetrics } from '../../src/metrics/metrics.js';
import { head, RawConnection, statuses } from '../net/raw-connection.js';

const LIMITS = { metricsConnections: 16, httpIdleMs: 10_000 };

/** The server behind the next `listen`, which hands out no more than its port. */
function listening(): Promise<Server> {
  const { prototype } = Server;
  const listen = Reflect.get(prototype, 'listen') as (...args: unknown[]) => Server;
  return new Promise((resolve) => {
    prototype.listen = function (this: Server, ...args: unknown[]) {
      prototype.listen = listen;
      resolve(this);
      return listen.apply(this, args);
    };
  });
}

t.test('it answers GET /metrics alone, whatever the query', async (t) => {
  const server = await serveMetrics(new Metrics(), '127.0.0.1', 0, LIMITS);
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${server.port}`;
  const answer = await fetch(`${url}/metrics?from=prometheus`);
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-type'), 'text/plain; version=0.0.4');
  t.match(await answer.text(), '# TYPE quotebook_seq gauge');
  t.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404);
  t.equal((await fetch(`${url}/metrics/`)).status, 404);
});

t.test('a port that is taken is an error of the start', async (t) => {
  const server = await serveMetrics(new Metrics(), '127.0.0.1', 0, LIMITS);
  t.teardown(() => server.close());
  await t.rejects(serveMetrics(new Metrics(), '127.0.0.1', server.port, LIMITS), {
    name: 'CannotListen',
    cause: { code: 'EADDRINUSE' },
  });
});

t.test('a reading that fails is a 500, and the next one may be right', async (t) => {
  const metrics = new Metrics();
  let isBroken = true;
  metrics.beforeReading(() => {
    if (isBroken) throw new Error('a gauge cannot be read');
  });
  const server = await serveMetrics(metrics, '127.0.0.1', 0, LIMITS);
  t.teardown(() => server.close());
  const read = async (): Promise<number> => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).status;
  t.equal(await read(), 500);
  isBroken = false;
  t.equal(await read(), 200);
});

t.test('connections that cannot be taken end neither it nor the process', async (t) => {
  const taken = listening();
  const server = await serveMetrics(new Metrics(), '127.0.0.1', 0, LIMITS);
  t.teardown(() => server.close());
  const few = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' });
  for (let count = 0; count < 3; count++) (await taken).emit('error', few);
  t.equal((await fetch(`http://127.0.0.1:${server.port}/metrics`)).status, 200);
});

t.test('no more than so many connections are taken', async (t) => {
  const server = await serveMetrics(new Metrics(), '127.0.0.1', 0, { ...LIMITS, metricsConnections: 2 });
  t.teardown(() => server.close());
  const open = await RawConnection.open(server.port);
  const other = await RawConnection.open(server.port);
  const third = await RawConnection.open(server.port);
  await third.closed;
  for (const connection of [open, other]) {
    await connection.send(head('GET /metrics HTTP/1.1', 'Host: x'));
    await connection.until((text) => text.startsWith('HTTP/1.1 200 '));
    connection.reset();
  }
});

t.test('a connection without a whole request in time is closed', async (t) => {
  const server = await serveMetrics(new Metrics(), '127.0.0.1', 0, { ...LIMITS, httpIdleMs: 40 });
  t.teardown(() => server.close());
  const slow = await RawConnection.open(server.port);
  await slow.send('GET /metrics HTTP/1.1\r\nHost:');
  await slow.closed;
  t.strictSame(statuses(slow.text), [408]);
});
