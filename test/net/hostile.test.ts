import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import t from 'tap';
import { head, RawConnection } from './raw-connection.js';
import { eachBackend, limits, quietSockets, serve } from './serving.js';
import { Client } from './socket-client.js';

/** More by hand: FUZZ_RUNS=100000 node dist/test/net/hostile.test.js */
const numRuns = Number(process.env.FUZZ_RUNS ?? 200);
t.setTimeout(30_000 + numRuns * 20);

/** What is sent, cut into segments at the given places. */
const inSegments = (bytes: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer[]> =>
  fc.tuple(bytes, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 })).map(([whole, cuts]) => {
    const places = [0, ...cuts.map((cut) => Math.floor(cut * whole.length)).sort((a, b) => a - b), whole.length];
    return places.slice(1).map((place, i) => whole.subarray(places[i], place));
  });

const oneOf = (...values: string[]): fc.Arbitrary<string> => fc.constantFrom(...values);

const lengthHeader = fc
  .oneof(
    fc.integer({ min: 0, max: 3000 }).map(String),
    oneOf('', '-1', '+5', '0x10', '1e3', '5, 5', '99999999', '18446744073709551616', ' 7 ', '٣'),
  )
  .map((value) => `Content-Length: ${value}`);
const header = fc.oneof(
  lengthHeader,
  oneOf(
    'Host: x',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'transfer-encoding : chunked',
    'Expect: 100-continue',
    'Expect: a miracle',
    'Connection: close',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Connection: Upgrade\r\nUpgrade: h2c',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Key: short',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: a,,b',
    'no colon',
    ': no name',
    ' folded: yes',
    'X\0Y: z',
    'x-apikey: \xff\xfe',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: 1, max: 20_000 }).map((length) => `big: ${'x'.repeat(length)}`),
);
const requestLine = fc
  .tuple(
    oneOf('GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'CONNECT', 'TRACE', 'PRI', 'get', 'G\0T', ''),
    fc.oneof(
      oneOf('/', '/quotes', '*', 'http://x/', 'x:443', '//', '/%', '/?&&=', '/\xff', ''),
      fc.string({ unit: 'binary' }),
    ),
    oneOf('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9', 'http/1.1', ''),
  )
  .map((parts) => parts.join(' '));
const body = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc
    .array(oneOf('5\r\nhello\r\n', '0\r\n\r\n', 'zz\r\n', 'ffffffffffffffff\r\n', '-1\r\n', '5;ext=1\r\nhel', '\r\n'))
    .map((chunks) => chunks.join('')),
  fc.integer({ min: 0, max: 3000 }).map((length) => 'x'.repeat(length)),
);
const request = fc
  .tuple(requestLine, fc.array(header, { maxLength: 60, size: 'max' }), oneOf('\r\n', '\n', '\r'), body)
  .map(([line, headers, end, body]) => Buffer.from([line, ...headers, '', body].join(end), 'latin1'));
/** Good ones among them: what comes behind a bad one is never read. */
const good = oneOf('', 'Connection: Upgrade\r\nUpgrade: h2c\r\n', 'Content-Length: 2\r\n').map((line) =>
  Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\n${line}\r\n${line.includes('Length') ? 'ab' : ''}`),
);
const requests = fc
  .array(fc.oneof({ weight: 2, arbitrary: good }, { weight: 3, arbitrary: request }), { minLength: 1, maxLength: 4 })
  .map((all) => Buffer.concat(all));

/** Frames as no library sends them: any opcode, reserved bits, unmasked, and lengths that lie. */
const frame = fc
  .record({
    fin: fc.boolean(),
    reserved: fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 7 }) },
    ),
    opcode: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0, 1, 2, 8, 9, 10) }, fc.integer({ min: 0, max: 15 })),
    masked: fc.oneof({ weight: 6, arbitrary: fc.constant(true) }, fc.constant(false)),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 130, size: 'max' }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'grapheme' }).map((text) => Buffer.from(text)),
      fc.integer({ min: 0, max: 6000 }).map((length) => Buffer.alloc(length, 'x')),
    ),
    lie: fc.option(fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536, 2 ** 31, 2 ** 53 - 1), { freq: 6 }),
  })
  .map(({ fin, reserved, opcode, masked, payload, lie }) => {
    const length = lie ?? payload.length;
    const start = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    start[0] = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
    start[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127);
    if (start.length === 4) start.writeUInt16BE(length, 2);
    if (start.length === 10) start.writeBigUInt64BE(BigInt(length), 2);
    // Masked with zeros: the payload reads as it is.
    return Buffer.concat([start, Buffer.alloc(masked ? 4 : 0), payload]);
  });
const frames = fc.array(frame, { minLength: 1, maxLength: 8 }).map((all) => Buffer.concat(all));

async function sendAll(connection: RawConnection, segments: readonly Buffer[]): Promise<void> {
  for (const segment of segments) {
    await connection.send(segment);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

eachBackend(t, (t, backend) => {
  t.test('whatever comes as HTTP, the server lives and serves others', async (t) => {
    const { port, url } = await serve(t, backend, {
      http: (r) => {
        if (r.body.length > limits.bodyBytes(r.method, r.path)) throw new Error('the body is over its limit');
        return { status: 200, headers: {}, body: r.path === '/alive' ? 'alive' : (r.header('x-apikey') ?? '') };
      },
      limits: { bodyDeadlineMs: 5, drainMs: 100 },
    });
    await fc.assert(
      fc.asyncProperty(inSegments(requests), async (segments) => {
        const connection = await RawConnection.open(port);
        await sendAll(connection, segments);
        const answer = await (await fetch(`${url}/alive`)).text();
        connection.reset();
        return answer === 'alive';
      }),
      { numRuns },
    );
    t.pass('and nothing was thrown');
  });

  t.test('whatever comes as WebSocket frames, the server lives and serves others', async (t) => {
    const { port, wsUrl } = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        message: (socket, data, isBinary) => {
          if (data.length > limits.wsMessageBytes) throw new Error('the message is over its limit');
          if (!isBinary && !isUtf8(data)) throw new Error('the text is no UTF-8');
          socket.send(data, isBinary);
        },
      },
      limits: { drainMs: 100 },
    });
    const other = await Client.open(wsUrl);
    let echoes = 0;
    const lines = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const upgrade = head('GET / HTTP/1.1', ...lines, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==');
    await fc.assert(
      fc.asyncProperty(inSegments(frames), async (segments) => {
        const connection = await RawConnection.open(port);
        await connection.send(upgrade);
        await connection.until((text) => text.includes('\r\n\r\n'));
        await sendAll(connection, segments);
        other.ws.send('still there?');
        await other.has(++echoes);
        connection.reset();
      }),
      { numRuns },
    );
    t.ok(other.received.every(([text]) => text === 'still there?'));
  });

  t.test('frames that come right behind the upgrade are read', async (t) => {
    const { port } = await serve(t, backend, {
      sockets: { ...quietSockets, message: (socket, data, isBinary) => socket.send(data, isBinary) },
    });
    const connection = await RawConnection.open(port);
    const lines = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const upgrade = head('GET / HTTP/1.1', ...lines, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==');
    await connection.send(Buffer.concat([Buffer.from(upgrade), Buffer.of(0x81, 0x82, 0, 0, 0, 0), Buffer.from('hi')]));
    if (backend.name === 'node') {
      t.match(await connection.until((text) => text.endsWith('hi')), '101 Switching Protocols');
    } else {
      // A client may not send before it has the answer (RFC 6455 section 4.1); 20.30 drops what it does send.
      await connection.until((text) => text.includes('\r\n\r\n'));
      t.match(connection.text, '101 Switching Protocols');
    }
    connection.reset();
  });
});
