import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import t from 'tap';
import WebSocket from 'ws';
import type { NetRequestHead, NetSocket, SocketHandlers } from '../../src/net/net.js';
import { Client } from './socket-client.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { eachBackend, quietSockets, serve } from './serving.js';

const echo: SocketHandlers = {
  ...quietSockets,
  message: (socket, data, isBinary) => socket.send(data, isBinary),
};

/** The response to an upgrade that is refused. */
async function refusal(url: string, options: WebSocket.ClientOptions = {}): Promise<{ status: number; body: string }> {
  const ws = new WebSocket(url, options);
  ws.on('error', () => undefined);
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, IncomingMessage];
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk as string;
  return { status: response.statusCode ?? 0, body };
}

eachBackend(t, (t, backend) => {
  t.test('text and binary messages come back as they went', async (t) => {
    const { wsUrl } = await serve(t, backend, { sockets: echo });
    const client = await Client.open(wsUrl);
    for (const text of ['{"a":1}', '', 'naïve €\u{1f642}']) client.ws.send(text);
    client.ws.send(Buffer.from([0, 255, 128]));
    t.strictSame(await client.has(4), [
      ['{"a":1}', false],
      ['', false],
      ['naïve €\u{1f642}', false],
      [Buffer.from([0, 255, 128]).toString(), true],
    ]);
  });

  t.test('a message in fragments is one message', async (t) => {
    const { wsUrl } = await serve(t, backend, { sockets: echo });
    const client = await Client.open(wsUrl);
    for (const [piece, fin] of [
      ['one ', false],
      ['two ', false],
      ['three', true],
    ] as const)
      client.ws.send(piece, { fin });
    t.strictSame(await client.has(1), [['one two three', false]]);
  });

  t.test('messages of every frame length arrive whole', async (t) => {
    const sizes = [1, 125, 126, 127, 65_535, 65_536, 1_000_000];
    const { wsUrl } = await serve(t, backend, {
      sockets: { ...quietSockets, message: (socket) => sizes.forEach((size) => socket.send('x'.repeat(size), false)) },
      limits: { wsBufferedBytes: 16 << 20 },
    });
    const client = await Client.open(wsUrl);
    client.ws.send('go');
    t.strictSame(
      (await client.has(sizes.length)).map(([text]) => text.length),
      sizes,
    );
  });

  t.test('messages sent together arrive in order', async (t) => {
    const messages = Array.from({ length: 300 }, (_, i) => Buffer.from(`${i} ${'x'.repeat(i * 10)}`));
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        message: (socket) => void setImmediate(() => socket.sendAll(messages, false)),
      },
      limits: { wsBufferedBytes: 16 << 20 },
    });
    const client = await Client.open(wsUrl);
    client.ws.send('go');
    t.strictSame(
      await client.has(messages.length),
      messages.map((message) => [message.toString(), false]),
    );
  });

  t.test('messages sent together end where the socket is over its budget', async (t) => {
    const message = Buffer.alloc(1 << 20, 'x');
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        message: (socket) => void setImmediate(() => socket.sendAll(Array<Buffer>(64).fill(message), false)),
      },
      limits: { wsBufferedBytes: 2 << 20 },
    });
    const client = await Client.open(wsUrl);
    client.ws.send('go');
    t.equal((await client.closed).code, 1013);
    t.ok(client.received.length < 64, `${client.received.length} of them arrived`);
  });

  t.test('a message of the limit is taken, one more byte closes with 1009', async (t) => {
    let messages = 0;
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        message: (socket, data) => {
          messages++;
          socket.send(String(data.length), false);
        },
      },
    });
    const client = await Client.open(wsUrl);
    client.ws.send('x'.repeat(1024));
    t.strictSame(await client.has(1), [['1024', false]]);
    client.ws.send('x'.repeat(1025));
    t.equal((await client.closed).code, 1009);
    t.equal(messages, 1);
  });

  t.test('fragments that add up to too much are closed', async (t) => {
    const { wsUrl } = await serve(t, backend, {
      sockets: { ...quietSockets, message: () => t.fail('must not be handed over') },
    });
    const client = await Client.open(wsUrl);
    for (let i = 0; i < 3; i++) client.ws.send('x'.repeat(500), { fin: i === 2 });
    t.equal((await client.closed).code, 1009);
  });

  t.test('a message far beyond the limit is cut off', async (t) => {
    const { wsUrl } = await serve(t, backend);
    const client = await Client.open(wsUrl);
    client.ws.send(Buffer.alloc(10_000_000));
    t.ok([1006, 1009].includes((await client.closed).code));
  });

  t.test('the upgrade handler sees the request', async (t) => {
    let seen: unknown[] = [];
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        upgrade: (r: NetRequestHead) => {
          seen = [r.method, r.path, r.query, r.remoteAddress, r.header('origin'), r.header('sec-websocket-protocol')];
          return { accept: true, protocol: 'b' };
        },
      },
    });
    const client = await Client.open(`${wsUrl}?a=%5B`, ['a', 'b'], { origin: 'https://x.example' });
    t.strictSame(seen, ['GET', '/', 'a=%5B', '127.0.0.1', 'https://x.example', 'a,b']);
    t.equal(client.ws.protocol, 'b');
  });

  t.test('a socket knows its number, its peer and its protocol', async (t) => {
    const opened: NetSocket[] = [];
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        upgrade: (r) => ({ accept: true, protocol: r.header('sec-websocket-protocol') ?? '' }),
        open: (socket) => {
          opened.push(socket);
          socket.send('welcome', false);
        },
      },
    });
    for (const protocols of [[], ['quotebook.v2.json'], []]) await (await Client.open(wsUrl, protocols)).has(1);
    t.strictSame(
      opened.map(({ id, remoteAddress, protocol, closed }) => [id, remoteAddress, protocol, closed]),
      [
        [1, '127.0.0.1', '', false],
        [2, '127.0.0.1', 'quotebook.v2.json', false],
        [3, '127.0.0.1', '', false],
      ],
    );
  });

  t.test('compression is never agreed on', async (t) => {
    const { wsUrl } = await serve(t, backend);
    const client = await Client.open(wsUrl, [], { perMessageDeflate: true });
    t.equal(client.ws.extensions, '');
  });

  t.test('an upgrade is refused with the response given', async (t) => {
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        upgrade: () => ({ status: 429, headers: { 'retry-after': '5' }, body: '{"message":"RATELIMITED"}' }),
        open: () => t.fail('must not open'),
      },
    });
    t.strictSame(await refusal(wsUrl), { status: 429, body: '{"message":"RATELIMITED"}' });
  });

  t.test('an upgrade handler that throws is a 500', async (t) => {
    const { wsUrl, faults } = await serve(t, backend, {
      faults: 'expected',
      sockets: {
        ...quietSockets,
        upgrade: () => {
          throw new Error('upgrade failed');
        },
      },
    });
    t.equal((await refusal(wsUrl)).status, 500);
    t.match(faults, [{ message: 'upgrade failed' }]);
  });

  t.test('another version of the protocol is refused with the one that is spoken', async (t) => {
    const { port } = await serve(t, backend);
    const connection = await RawConnection.open(port);
    const lines = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 8'];
    await connection.send(head('GET / HTTP/1.1', ...lines, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='));
    const text = await connection.until((text) => text.includes('13"}'));
    t.strictSame(statuses(text), [426]);
    t.match(text, /sec-websocket-version: 13\r\n/i);
    connection.reset();
  });

  for (const where of ['open', 'message'] as const) {
    t.test(`a handler that throws on ${where} closes its socket with 1011`, async (t) => {
      const { wsUrl, faults } = await serve(t, backend, {
        faults: 'expected',
        sockets: {
          ...quietSockets,
          [where]: () => {
            throw new Error(`${where} failed`);
          },
        },
      });
      const client = await Client.open(wsUrl);
      client.ws.send('x');
      t.equal((await client.closed).code, 1011);
      t.match(faults, [{ message: `${where} failed` }]);
    });
  }

  t.test('closing tells the client the code and reason, and the handlers once, later', async (t) => {
    const told: number[] = [];
    let toldWithin = -1;
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        message: (socket) => {
          socket.close(4001, 'enough');
          socket.close(4002, 'twice');
          toldWithin = told.length;
          t.ok(socket.closed);
          t.notOk(socket.send('too late', false));
          socket.subscribe('topic');
          t.equal(typeof socket.bufferedBytes(), 'number');
        },
        close: (_, code) => told.push(code),
      },
    });
    const client = await Client.open(wsUrl);
    client.ws.send('close me');
    client.ws.send('nobody hears this');
    t.strictSame(await client.closed, { code: 4001, reason: 'enough' });
    while (told.length === 0) await new Promise((resolve) => setImmediate(resolve));
    t.equal(toldWithin, 0);
    t.strictSame(told, [4001]);
    t.strictSame(client.received, []);
  });

  t.test('what was sent before closing arrives before it', async (t) => {
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        message: (socket) => {
          for (let i = 0; i < 1000; i++) socket.send(`message ${i}`, false);
          socket.close(4000, '');
        },
      },
    });
    const client = await Client.open(wsUrl);
    client.ws.send('go');
    t.equal((await client.closed).code, 4000);
    t.strictSame(
      client.received.map(([text]) => text),
      Array.from({ length: 1000 }, (_, i) => `message ${i}`),
    );
  });

  t.test('reports the close code of a client that closes or vanishes', async (t) => {
    const codes: number[] = [];
    let told: () => void = () => undefined;
    const { wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        close: (socket, code) => {
          t.ok(socket.closed);
          t.notOk(socket.send('to nobody', false));
          codes.push(code);
          told();
        },
      },
    });
    for (const leave of [
      (ws: WebSocket) => ws.close(4123),
      (ws: WebSocket) => ws.terminate(),
      (ws: WebSocket) => ws.close(),
    ]) {
      const closing = new Promise<void>((resolve) => (told = resolve));
      leave((await Client.open(wsUrl)).ws);
      await closing;
    }
    t.strictSame(codes, [4123, 1006, 1005]);
  });

  t.test('reports a close handler that throws', async (t) => {
    const { wsUrl, server, faults } = await serve(t, backend, {
      faults: 'expected',
      sockets: {
        ...quietSockets,
        close: () => {
          throw new Error('close failed');
        },
      },
    });
    await Client.open(wsUrl);
    await server.close(1001, '');
    t.match(faults, [{ message: 'close failed' }]);
  });

  t.test('pings are answered', async (t) => {
    const { wsUrl } = await serve(t, backend);
    const client = await Client.open(wsUrl);
    client.ws.ping('are you there');
    const [data] = (await once(client.ws, 'pong')) as [Buffer];
    t.equal(data.toString(), 'are you there');
  });
});
