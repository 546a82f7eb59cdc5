import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import t, { type Test } from 'tap';
import { CannotListen } from '../../src/net/address.js';
import type { NetResponse } from '../../src/net/net.js';
import { head, RawConnection, statuses, upgradeHead } from './raw-connection.js';
import { eachBackend, limits, quietSockets, serve } from './serving.js';
import { Client } from './socket-client.js';
import { until } from '../until.js';

const answer = (body: string): NetResponse => ({ status: 200, headers: {}, body });
const options = {
  http: (): NetResponse => answer('ok'),
  socketPath: '/',
  sockets: quietSockets,
  refuseBody: (): NetResponse => answer(''),
  limits,
  onFault: (): void => undefined,
};
const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

eachBackend(t, (t, backend) => {
  t.test('says which backend it is', async (t) => {
    const { server } = await serve(t, backend);
    t.equal(server.backend, backend.name);
  });

  t.test('port 0 finds a free one, and a port is taken once', async (t) => {
    const { port } = await serve(t, backend);
    t.ok(port > 1023);
    await t.rejects(backend.create(options).listen('127.0.0.1', port), CannotListen);
  });

  t.test('reports a name that is not a local address, with the port', async (t) => {
    const listening = backend.create(options).listen('nowhere.invalid', 0);
    await t.rejects(listening, { message: 'Cannot listen on nowhere.invalid port 0', cause: { message: /nowhere/ } });
  });

  t.test('a port that another program has is not shared', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.teardown(() => other.close());
    await t.rejects(backend.create(options).listen('127.0.0.1', (other.address() as AddressInfo).port));
  });

  t.test('a port is free again when nobody listens there, whatever connections are left of it', async (t) => {
    const first = backend.create({ ...options, http: () => answer('first') });
    const port = await first.listen('127.0.0.1', 0);
    const connection = await RawConnection.open(port);
    await connection.send(head('GET / HTTP/1.1', 'Host: x'));
    await connection.until((text) => text.endsWith('first'));
    first.stopListening();
    const second = backend.create(options);
    t.equal(await second.listen('127.0.0.1', port), port);
    await first.close(1001, '');
    await second.close(1001, '');
    const third = backend.create(options);
    t.equal(await third.listen('127.0.0.1', port), port);
    await third.close(1001, '');
    connection.reset();
  });

  t.test('an idle limit that the library would die of is refused', async (t) => {
    for (const wsIdleSeconds of [0, 7, 961]) {
      t.throws(() => backend.create({ ...options, limits: { ...limits, wsIdleSeconds } }), RangeError);
    }
  });

  t.test(
    'peers of an IPv6 listener are written in one form',
    { skip: !hasIpv6 && 'no IPv6 loopback here' },
    async (t) => {
      const server = backend.create({ ...options, http: (r) => answer(`<${r.remoteAddress}>`) });
      const port = await server.listen('::', 0);
      for (const [host, written] of [
        ['::1', '::1'],
        ['127.0.0.1', '127.0.0.1'],
      ] as const) {
        const connection = await RawConnection.open(port, host);
        await connection.send(head('GET / HTTP/1.1', 'Host: x'));
        t.match(await connection.until((text) => text.endsWith('>')), `<${written}>`);
        connection.reset();
      }
      await server.close(1001, '');
    },
  );

  t.test('once it stops listening, who is connected is served to the end, and nobody else', async (t) => {
    const { server, port, wsUrl } = await serve(t, backend, {
      sockets: { ...quietSockets, message: (socket) => socket.send('still here', false) },
    });
    const client = await Client.open(wsUrl);
    const connection = await RawConnection.open(port);
    await connection.send(head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 2') + 'a');
    server.stopListening();
    await t.rejects(RawConnection.open(port));
    client.ws.send('there?');
    t.strictSame(await client.has(1), [['still here', false]]);
    await connection.send('b');
    await connection.closed;
    t.match(connection.text, /200 OK[^]*connection: close[^]*ok$/i);
  });

  /** A server that answers on command. `began`: the request arrived. */
  async function serveSlowly(t: Test) {
    let finish: (response: NetResponse) => void = () => undefined;
    let tell: () => void = () => undefined;
    const began = new Promise<void>((resolve) => (tell = resolve));
    const serving = await serve(t, backend, {
      http: () => {
        tell();
        return new Promise((resolve) => (finish = resolve));
      },
    });
    return { ...serving, began, finish: (response: NetResponse): void => finish(response) };
  }

  t.test('closing closes every socket with the code and reason', async (t) => {
    const codes: number[] = [];
    const { server, wsUrl, port } = await serve(t, backend, {
      sockets: { ...quietSockets, close: (_, code) => codes.push(code) },
    });
    const clients = await Promise.all(Array.from({ length: 5 }, () => Client.open(wsUrl)));
    await server.close(1012, 'restarting');
    t.strictSame(codes, [1012, 1012, 1012, 1012, 1012]);
    for (const client of clients) t.strictSame(await client.closed, { code: 1012, reason: 'restarting' });
    await t.rejects(RawConnection.open(port));
  });

  t.test('a socket that opens while the server closes is closed with the code and reason, too', async (t) => {
    const { server, port, began, finish } = await serveSlowly(t);
    const late = await RawConnection.open(port);
    const [line = '', ...rest] = upgradeHead().split('\r\n');
    await late.send(`${line}\r\n`);
    const busy = await RawConnection.open(port);
    await busy.send(head('GET / HTTP/1.1', 'Host: x'));
    await began;
    const closed = server.close(1012, 'restarting');
    await late.send(rest.join('\r\n'));
    await late.until((text) => text.endsWith('\x88\x0c\x03\xf4restarting'));
    late.reset();
    finish(answer('at last'));
    await closed;
    t.match(late.text, 'HTTP/1.1 101 ');
  });

  t.test('closing waits for answers under way', async (t) => {
    const { server, port, began, finish } = await serveSlowly(t);
    const connection = await RawConnection.open(port);
    await connection.send(head('GET / HTTP/1.1', 'Host: x'));
    await began;
    const closed = server.close(1001, '');
    finish(answer('at last'));
    await closed;
    await connection.closed;
    t.match(connection.text, /200 OK[^]*at last$/);
  });

  t.test('closing cuts off idle connections, and what takes longer than drainMs', async (t) => {
    const seen = { aborted: false };
    let began: () => void = () => undefined;
    const underWay = new Promise<void>((resolve) => (began = resolve));
    const { server, port } = await serve(t, backend, {
      http: (r) => {
        if (r.path === '/') return answer('ok');
        began();
        setInterval(() => (seen.aborted = r.aborted), 1).unref();
        return new Promise(() => undefined);
      },
      limits: { drainMs: 30 },
    });
    const idle = await RawConnection.open(port);
    await idle.send(head('GET / HTTP/1.1', 'Host: x'));
    await idle.until((text) => text.endsWith('ok'));
    const stuck = await RawConnection.open(port);
    await stuck.send(head('GET /never HTTP/1.1', 'Host: x'));
    await underWay;
    await server.close(1001, '');
    await Promise.all([idle.closed, stuck.closed]);
    t.strictSame(statuses(stuck.text), []);
    await until(() => seen.aborted);
    t.pass('the handler can see that nobody waits');
  });

  t.test('closing twice is closing once', async (t) => {
    const closes: number[] = [];
    const sockets = { ...quietSockets, close: (_: unknown, code: number) => void closes.push(code) };
    const { server, wsUrl } = await serve(t, backend, { sockets });
    const clients = await Promise.all([Client.open(wsUrl), Client.open(wsUrl)]);
    await Promise.all([server.close(1001, 'first'), server.close(1012, 'second')]);
    await server.close(1012, 'third');
    const heard = await Promise.all(clients.map(({ closed }) => closed));
    t.strictSame(heard, Array(2).fill({ code: 1001, reason: 'first' }));
    t.strictSame(closes, [1001, 1001], 'each socket ended once');
  });
});
