import { once } from 'node:events';
import t, { type Test } from 'tap';
import type { NetSocket } from '../../src/net/net.js';
import { RawConnection, upgradeHead } from './raw-connection.js';
import { eachBackend, quietSockets, serve, type Backend } from './serving.js';
import { Client } from './socket-client.js';

const PONG = 0x8a;
const TEXT = 0x81;
const MOST = 50;

/** So many whole frames of nothing, masked with zeros. */
function frames(opcode: number, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => Buffer.of(opcode, 0x80, 0, 0, 0, 0)));
}

async function serveSockets(t: Test, backend: Backend, drainMs: number) {
  const opened: NetSocket[] = [];
  const codes: number[] = [];
  const sockets = {
    ...quietSockets,
    open: (socket: NetSocket) => void opened.push(socket),
    close: (_: NetSocket, code: number) => void codes.push(code),
  };
  const serving = await serve(t, backend, { sockets, limits: { wsIdleFrames: MOST, drainMs } });
  return { ...serving, opened, codes };
}

async function openRaw(port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  await connection.send(upgradeHead());
  await connection.until((text) => text.includes('\r\n\r\n'));
  return connection;
}

eachBackend(t, (t, backend) => {
  t.test('as many pings as are allowed are answered, one more closes the socket', async (t) => {
    const { wsUrl } = await serveSockets(t, backend, 2_000);
    const client = await Client.open(wsUrl);
    for (let i = 1; i <= MOST; i++) {
      client.ws.ping();
      await once(client.ws, 'pong');
    }
    client.ws.ping();
    t.strictSame(await client.closed, { code: 1008, reason: 'Too many pings' });
  });

  t.test('pongs that nobody asked for count as well', async (t) => {
    const { port } = await serveSockets(t, backend, 2_000);
    const connection = await openRaw(port);
    await connection.send(frames(PONG, MOST + 1));
    await connection.until((text) => text.includes('Too many pings'));
    connection.reset();
  });

  t.test('who goes on sending to a socket that is being closed is cut off', async (t) => {
    const drainMs = 3_600_000; // the drain alone would keep the socket open for an hour
    const { port, opened } = await serveSockets(t, backend, drainMs);
    const connection = await openRaw(port);
    connection.socket.pause();
    const [socket] = opened;
    if (socket === undefined) throw new Error('It is open');
    const chunk = 'x'.repeat(64 << 10);
    while (socket.bufferedBytes() === 0) {
      socket.send(chunk, false);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.close(1000, 'enough');
    connection.socket.write(frames(TEXT, MOST + 2));
    connection.socket.resume();
    await connection.closed;
    t.notOk(connection.text.includes('enough'), 'it was not waited for');
  });
});
