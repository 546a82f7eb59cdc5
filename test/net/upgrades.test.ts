import t from 'tap';
import type { NetResponse, UpgradeDecision } from '../../src/net/net.js';
import { head, RawConnection, statuses, upgradeHead } from './raw-connection.js';
import { eachBackend, quietSockets, serve } from './serving.js';

const answer = (body: string): NetResponse => ({ status: 200, headers: {}, body });
/** As clients of HTTP/2 send their requests where no TLS has agreed on it: with a body, too. */
const h2c = (line: string, ...more: string[]): string =>
  head(line, 'Host: x', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk', ...more);
/** FIN and text, masked with zeros. */
const hi = Buffer.concat([Buffer.of(0x81, 0x82, 0, 0, 0, 0), Buffer.from('hi')]);

const sockets = {
  ...quietSockets,
  upgrade: ({ query }: { query: string }): UpgradeDecision =>
    query === 'refused' ? { status: 429, headers: {}, body: 'refused.' } : { accept: true, protocol: '' },
  message: (...[socket, data]: Parameters<typeof quietSockets.message>): void => void socket.send(data, false),
};
const upgrades = [
  { name: 'to another protocol', request: h2c('GET /other HTTP/1.1'), last: '/other.', status: 200 },
  { name: 'that is refused', request: upgradeHead().replace('/', '/?refused'), last: 'refused.', status: 429 },
  { name: 'to a WebSocket', request: upgradeHead(), last: '\r\n\r\n', status: 101 },
];

eachBackend(t, (t, backend) => {
  t.test('a wish for another protocol costs a request nothing, however often it is said', async (t) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on('warning', onWarning);
    t.teardown(() => process.off('warning', onWarning));
    const { port } = await serve(t, backend, {
      http: (r) => answer(`${r.header('x-apikey') ?? ''} ${Buffer.from(r.body).toString()}.`),
    });
    const connection = await RawConnection.open(port);
    for (let count = 1; count <= 15; count++) {
      await connection.send(h2c('POST / HTTP/1.1', 'X-ApiKey: a key', 'Content-Length: 5') + 'he');
      await new Promise((resolve) => setImmediate(resolve));
      await connection.send('llo');
      await connection.until((text) => text.match(/ hello\./g)?.length === count);
    }
    t.match(connection.text, /a key hello\.$/, 'nor is anything else of it lost');
    await connection.send(h2c('GET / HTTP/1.1').repeat(15));
    await connection.until((text) => statuses(text).length === 30);
    await connection.send(h2c('POST / HTTP/1.1', 'Content-Length: 2000') + 'x'.repeat(2000));
    await connection.closed;
    t.equal(statuses(connection.text).at(-1), 413, 'and what holds for bodies holds for its');
    t.strictSame(warnings, []);
  });

  for (const { name, request, last, status } of upgrades) {
    t.test(`an upgrade ${name}, right behind another request, is answered after it`, async (t) => {
      const { port } = await serve(t, backend, { http: (r) => answer(`${r.path}.`), sockets });
      const connection = await RawConnection.open(port);
      await connection.send(head('GET /first HTTP/1.1', 'Host: x') + request);
      const text = await connection.until((text) => statuses(text).length === 2 && text.endsWith(last));
      t.strictSame(statuses(text), [200, status]);
      t.match(text, '/first.');
      connection.reset();
    });

    t.test(`an upgrade ${name} that comes while the request before is being answered`, async (t) => {
      let release: (response: NetResponse) => void = () => undefined;
      let began: () => void = () => undefined;
      const underWay = new Promise<void>((resolve) => (began = resolve));
      const { port, url } = await serve(t, backend, {
        http(r) {
          if (r.path !== '/slow') return answer(`${r.path}.`);
          began();
          return new Promise((resolve) => (release = resolve));
        },
        sockets,
      });
      const connection = await RawConnection.open(port);
      await connection.send(head('GET /slow HTTP/1.1', 'Host: x') + request);
      await underWay;
      t.equal(await (await fetch(`${url}/alive`)).text(), '/alive.');
      if (backend.name === 'uWebSockets.js') {
        await connection.closed;
        t.equal(connection.text, '', 'uWebSockets.js closes the connection');
        release(answer('too late'));
        return;
      }
      t.equal(connection.text, '', 'nothing goes ahead of the answer');
      release(answer('slow.'));
      const text = await connection.until((text) => statuses(text).length === 2 && text.endsWith(last));
      t.strictSame(statuses(text), [200, status]);
      t.ok(text.indexOf('slow.') < text.lastIndexOf('HTTP/1.1'));
      if (status === 101) {
        await connection.send(hi);
        t.match(await connection.until((text) => text.endsWith('hi')), 'hi');
      }
      connection.reset();
    });
  }

  t.test('closing cuts off who waits for the turn of an upgrade, too', async (t) => {
    let began: () => void = () => undefined;
    const { server, port } = await serve(t, backend, {
      http() {
        began();
        return new Promise(() => undefined);
      },
      sockets,
      limits: { drainMs: 20 },
    });
    const connections: RawConnection[] = [];
    for (const { request } of upgrades) {
      const underWay = new Promise<void>((resolve) => (began = resolve));
      const connection = await RawConnection.open(port);
      await connection.send(head('GET /never HTTP/1.1', 'Host: x') + request);
      await underWay;
      connections.push(connection);
    }
    await server.close(1001, '');
    for (const connection of connections) await connection.closed;
    t.pass('all of them');
  });

  t.test('who goes away before its upgrade has its turn is let go', async (t) => {
    let release: (response: NetResponse) => void = () => undefined;
    const { port, url, server } = await serve(t, backend, {
      http: (r) => (r.path === '/slow' ? new Promise((resolve) => (release = resolve)) : answer(`${r.path}.`)),
      sockets: { ...sockets, open: () => t.fail('must not open') },
    });
    for (const { request } of upgrades) {
      const connection = await RawConnection.open(port);
      await connection.send(head('GET /slow HTTP/1.1', 'Host: x') + request);
      t.equal(await (await fetch(`${url}/alive`)).text(), '/alive.');
      connection.reset();
      await connection.closed;
      t.equal(await (await fetch(`${url}/alive`)).text(), '/alive.');
      release(answer('to nobody'));
    }
    await server.close(1001, '');
  });

  t.test('subprotocols may be asked for in one line or in several, with gaps between them', async (t) => {
    const asked: (string | undefined)[] = [];
    const { port } = await serve(t, backend, {
      sockets: {
        ...sockets,
        upgrade(r) {
          const names = r.header('sec-websocket-protocol');
          asked.push(names);
          return { accept: true, protocol: names?.match(/\bb\b/)?.[0] ?? '' };
        },
      },
    });
    const agreed = async (...lines: string[]): Promise<string | undefined> => {
      const connection = await RawConnection.open(port);
      await connection.send(upgradeHead(...lines.map((value) => `Sec-WebSocket-Protocol: ${value}`)));
      const text = await connection.until((text) => text.endsWith('\r\n\r\n'));
      t.strictSame(statuses(text), [101]);
      connection.reset();
      return /^sec-websocket-protocol: (.*)\r$/im.exec(text)?.[1];
    };
    t.strictSame(
      [
        await agreed('a, b'),
        await agreed('a', 'b'),
        await agreed(',a,, b ,'),
        await agreed('a', 'c'),
        await agreed(''),
      ],
      ['b', 'b', 'b', undefined, undefined],
    );
    t.strictSame(asked, ['a, b', 'a,b', ',a,, b ,', 'a,c', undefined]);
  });
});
