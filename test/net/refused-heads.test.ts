import t from 'tap';
import type { NetRequestHead, NetResponse } from '../../src/net/net.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { eachBackend, serve } from './serving.js';
import { Client } from './socket-client.js';

const ok = (): NetResponse => ({ status: 200, headers: {}, body: 'ok' });
const unreachable = (): NetResponse => {
  throw new Error('the handler must not be called');
};
/** As the router does: without a key no body is read. */
const refuseHead = (r: NetRequestHead): NetResponse | null =>
  r.header('x-apikey') === undefined ? { status: 401, headers: { 'x-a': 'é' }, body: 'no key: ¢' } : null;
const post = (...lines: string[]): string => head('POST / HTTP/1.1', 'Host: x', ...lines);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

eachBackend(t, (t, backend) => {
  t.test('a head that is refused is answered before its body comes', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable, refuseHead, limits: { refusedBodyMs: 60_000 } });
    for (const lines of [['Content-Length: 1000000'], ['Transfer-Encoding: chunked']]) {
      const connection = await RawConnection.open(port);
      await connection.send(post(...lines));
      const text = await connection.until((text) => text.trimEnd().endsWith('no key: \xc2\xa2'));
      t.match(text, /^HTTP\/1.1 401 Unauthorized\r\n/);
      t.match(text, /\r\ncontent-length: 10\r\n/i);
      t.match(text, /\r\nconnection: close\r\n/i);
      connection.reset();
    }
  });

  t.test('what the backend itself refuses has a code for clients that ask for problem details', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable });
    const problemOf = async (request: string): Promise<unknown> => {
      const connection = await RawConnection.open(port);
      await connection.send(request);
      const text = await connection.until((text) => text.includes('\r\n\r\n{') && text.trimEnd().endsWith('}'));
      connection.reset();
      t.match(text, /\r\ncontent-type: application\/problem\+json\r\n/i);
      return JSON.parse(text.slice(text.indexOf('{')));
    };
    const accept = 'Accept: application/problem+json';
    t.match(await problemOf(head('GET / HTTP/1.1', 'Host: x', 'x-apikey: a', 'x-apikey: b', accept)), {
      status: 400,
      code: 'malformed_request',
      detail: 'x-apikey is repeated',
    });
    const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    t.match(await problemOf(head('GET / HTTP/1.1', 'Host: x', ...upgrade, 'Sec-WebSocket-Version: 8', accept)), {
      status: 426,
      code: 'unsupported_websocket_version',
    });
  });

  t.test('its sender may send the whole body, and reads the answer', async (t) => {
    const { url } = await serve(t, backend, { http: unreachable, refuseHead, limits: { refusedBodyMs: 60_000 } });
    for (const size of [1, 1_000, 100_000, 10_000_000]) {
      const response = await fetch(url, { method: 'POST', body: 'x'.repeat(size) });
      t.strictSame([response.status, await response.text()], [401, 'no key: ¢'], `${size} bytes`);
    }
  });

  t.test('then the connection is closed, and what comes behind the body is not looked at', async (t) => {
    const { port } = await serve(t, backend, { http: unreachable, refuseHead, limits: { refusedBodyMs: 60_000 } });
    const apart = await RawConnection.open(port);
    await apart.send(`${post('Content-Length: 3')}abc`);
    await apart.closed;
    t.strictSame(statuses(apart.text), [401]);
    const behind = await RawConnection.open(port);
    await behind.send(`${post('Content-Length: 3')}abc${head('GET / HTTP/1.1', 'Host: x')}`);
    await behind.closed;
    t.notOk(statuses(behind.text).includes(200));
  });

  t.test('a body that goes on for too long, or is too large, is cut off', async (t) => {
    const limits = { refusedBodyMs: 50, bodyDeadlineMs: 60_000, httpIdleMs: 60_000 };
    const slow = await serve(t, backend, { http: unreachable, refuseHead, limits });
    const connection = await RawConnection.open(slow.port);
    await connection.send(post('Content-Length: 1000'));
    await connection.closed;
    t.strictSame(statuses(connection.text), [401]);

    const large = { refusedBodyMs: 60_000, bodyDiscardBytes: 100_000 };
    const { port } = await serve(t, backend, { http: unreachable, refuseHead, limits: large });
    const sender = await RawConnection.open(port);
    await sender.send(post('Content-Length: 99999999'));
    await sender.until((text) => text.includes('no key'));
    const feed = (): void => {
      if (sender.socket.writable) sender.socket.write('x'.repeat(10_000), feed);
    };
    feed();
    await sender.closed;
    t.pass('closed');
  });

  t.test('who has a key is served as ever, on a connection that lives on', async (t) => {
    const { port } = await serve(t, backend, { http: (r) => ({ ...ok(), body: r.body }), refuseHead });
    const connection = await RawConnection.open(port);
    for (const [i, body] of ['one', 'two'].entries()) {
      await connection.send(post('x-apikey: k', 'Content-Length: 3') + body);
      await connection.until((text) => statuses(text).length === i + 1 && text.endsWith(body));
    }
    await connection.send(post());
    await connection.until((text) => statuses(text).length === 3);
    t.strictSame(statuses(connection.text), [200, 200, 200], 'a request without a body is for the handler');
    connection.reset();
  });

  t.test('bodies in flight have a bound in all and by address; 503 beyond', async (t) => {
    const limits = { bodyBytes: () => 1_000, bodiesBytes: 2_500, bodiesBytesPerAddress: 1_800, refusedBodyMs: 50 };
    const { port } = await serve(t, backend, { http: ok, limits });
    /** Sends 900 bytes of a body of 1,000. */
    const begin = async (from: string): Promise<RawConnection> => {
      const connection = await RawConnection.open(port, '127.0.0.1', from);
      await connection.send(post('Content-Length: 1000') + 'x'.repeat(900));
      await pause(20);
      return connection;
    };
    const first = await begin('127.0.0.1');
    const second = await begin('127.0.0.1');
    const third = await begin('127.0.0.1');
    await third.closed;
    t.strictSame(statuses(third.text), [503], 'beyond what one address may have');
    const other = await begin('127.0.0.2');
    await other.closed;
    t.strictSame(statuses(other.text), [503], 'beyond what all may have');
    first.reset();
    await first.closed;
    await pause(50);
    const again = await begin('127.0.0.2');
    await again.send('x'.repeat(100));
    await again.until((text) => text.endsWith('ok'));
    again.reset();
    second.reset();
    await pause(50);
    for (let i = 0; i < 10; i++) {
      const body = 'x'.repeat(1_000);
      t.equal((await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })).status, 200, 'and given back');
    }
  });

  t.test('connections have a bound in all and by address', async (t) => {
    const limits = { httpConnections: 3, httpConnectionsPerAddress: 2, bodyDeadlineMs: 60_000 };
    const { port, wsUrl } = await serve(t, backend, { http: ok, limits, trustedProxies: ['127.0.0.9'] });
    const begin = async (from: string): Promise<RawConnection> => {
      const connection = await RawConnection.open(port, '127.0.0.1', from);
      await connection.send(post('Content-Length: 3'));
      await pause(20);
      return connection;
    };
    const isServed = async (connection: RawConnection): Promise<boolean> => {
      await connection.send('abc');
      await Promise.race([connection.closed, connection.until((text) => text.endsWith('ok')).catch(() => undefined)]);
      return statuses(connection.text)[0] === 200;
    };
    const opened = [await begin('127.0.0.1'), await begin('127.0.0.1')];
    const beyond = await begin('127.0.0.1');
    t.notOk(await isServed(beyond), 'beyond what one address may have');
    if (backend.name === 'uWebSockets.js') t.strictSame(statuses(beyond.text), [429]);
    opened.push(await begin('127.0.0.2'));
    const other = await begin('127.0.0.3');
    t.notOk(await isServed(other), 'beyond what all may have');
    if (backend.name === 'uWebSockets.js') t.strictSame(statuses(other.text), [503]);
    for (const connection of opened) {
      t.ok(await isServed(connection));
      connection.reset();
    }
    await pause(50);
    const ofProxy = [await begin('127.0.0.9'), await begin('127.0.0.9'), await begin('127.0.0.9')];
    for (const connection of ofProxy) {
      t.ok(await isServed(connection), 'a trusted proxy is bound by the total alone');
      connection.reset();
    }
    await pause(50);
    const clients = [await Client.open(wsUrl), await Client.open(wsUrl), await Client.open(wsUrl)];
    t.ok(
      clients.every(({ ws }) => ws.readyState === ws.OPEN),
      'a WebSocket counts no more',
    );
    clients.forEach(({ ws }) => ws.terminate());
  });
});
