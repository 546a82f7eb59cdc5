import t from 'tap';
import type { NetRequest } from '../../src/net/net.js';
import { head, RawConnection, statuses, upgradeHead } from '../net/raw-connection.js';
import { eachBackend, quietSockets, serve, type Serving } from '../net/serving.js';
import { Client } from '../net/socket-client.js';
import { until } from '../until.js';

/** The shortest that uWebSockets.js knows; what is tested takes two of it. */
const WS_IDLE_SECONDS = 8;
const FEED_MS = 500;

/** Sends `more` again and again, until the other side has had enough. */
async function feed(connection: RawConnection, more: string): Promise<void> {
  const feeding = setInterval(() => connection.socket.writable && connection.socket.write(more), FEED_MS);
  await connection.closed;
  clearInterval(feeding);
}

async function trickle({ port }: Serving, first: string, more: string): Promise<number[]> {
  const connection = await RawConnection.open(port);
  await connection.send(first);
  await feed(connection, more);
  return statuses(connection.text).filter((status) => status < 400);
}

/** Begins a frame of 512 bytes and goes on byte by byte: any byte counts as life to uWebSockets.js. */
async function trickleFrame({ port }: Serving): Promise<void> {
  const connection = await RawConnection.open(port);
  await connection.send(upgradeHead());
  await connection.until((text) => text.includes('\r\n\r\n'));
  await connection.send(Uint8Array.of(0x81, 0xfe, 2, 0, 0, 0, 0, 0));
  await feed(connection, 'x');
}

async function silent({ port }: Serving): Promise<void> {
  const connection = await RawConnection.open(port);
  await connection.send(upgradeHead());
  await connection.closed;
}

t.jobs = 2;

eachBackend(t, async (t, backend) => {
  const requests: NetRequest[] = [];
  const closes: number[] = [];
  const serving = await serve(t, backend, {
    http: (r) => {
      requests.push(r);
      return { status: 200, headers: {}, body: 'x'.repeat(32 << 20) };
    },
    sockets: { ...quietSockets, close: (_, code) => closes.push(code) },
    limits: { wsIdleSeconds: WS_IDLE_SECONDS },
  });
  const healthy = await Client.open(serving.wsUrl);
  const stalled = await RawConnection.open(serving.port);
  stalled.socket.pause();
  await stalled.send(head('GET /stalled HTTP/1.1', 'Host: x'));

  t.comment('each of these is closed by the server, or the test does not end');
  const [trickledHead, trickledBody] = await Promise.all([
    trickle(serving, 'GET / HTTP/1.1\r\nHost: x\r\n', 'a: b\r\n'),
    trickle(serving, head('POST / HTTP/1.1', 'Host: x', 'Content-Length: 900'), 'b'),
    trickleFrame(serving),
    silent(serving),
  ]);
  t.strictSame(trickledHead, [], 'a head fed line by line');
  t.strictSame(trickledBody, [], 'a body fed byte by byte');
  t.equal(closes.length, 2, 'a silent socket, and one that is fed a frame byte by byte');
  await until(() => requests.some((r) => r.path === '/stalled' && r.aborted));
  stalled.reset();
  t.equal(healthy.ws.readyState, healthy.ws.OPEN, 'one that only answers pings lives on');
});
