import t from 'tap';
import type { NetSocket } from '../../src/net/net.js';
import { head, RawConnection } from './raw-connection.js';
import { eachBackend, quietSockets, serve, type Backend, type Serving } from './serving.js';
import { Client } from './socket-client.js';

/**
 * One message carries its number and this much; a stalled peer's kernel takes some megabytes before ours buffers any.
 */
const messageBytes = 20_000;
/** Far longer than a test takes: nobody is cut for being idle, which one that does not read is, too. */
const IDLE_SECONDS = 600;
/** ws gives a peer 30 s to answer its close frame. */
const LIBRARY_MS = 20_000;
const message = (seq: number): string => `${seq} `.padEnd(messageBytes, '.');
const seqs = (client: Client): number[] => client.received.map(([text]) => Number(text.split(' ')[0]));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, seq) => seq);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Crowd extends Serving {
  readonly fast: Client;
  readonly slow: Client;
  /** The server's end of `slow`. */
  readonly slowSocket: NetSocket;
  readonly closes: [id: number, code: number][];
}

/** Two subscribers of one topic, one of which has stopped reading. */
async function crowd(t: Parameters<typeof serve>[0], backend: Backend, drainMs: number): Promise<Crowd> {
  const sockets: NetSocket[] = [];
  const closes: [number, number][] = [];
  const serving = await serve(t, backend, {
    sockets: {
      ...quietSockets,
      open: (socket) => {
        sockets.push(socket);
        socket.subscribe('all');
      },
      close: (socket, code) => closes.push([socket.id, code]),
      overBudgetReason: (socket) => `socket ${socket.id} is slow`,
    },
    limits: { drainMs, wsIdleSeconds: IDLE_SECONDS },
  });
  const slow = await Client.open(serving.wsUrl);
  const fast = await Client.open(serving.wsUrl);
  const [slowSocket] = sockets;
  if (slowSocket === undefined) throw new Error('two sockets');
  slow.ws.pause();
  return { ...serving, fast, slow, slowSocket, closes };
}

/** Publishes until the slow one is given up, at the pace of the fast one; returns how many. */
async function publishUntilGivenUp({ server, slowSocket, fast }: Crowd): Promise<number> {
  let seq = 0;
  while (!slowSocket.closed) {
    server.publish('all', message(seq++), false);
    if (seq % 5 === 0) await fast.has(seq);
    await turn();
    if (seq > 5_000) throw new Error('100 MB unread and nobody closed');
  }
  return seq;
}

eachBackend(t, (t, backend) => {
  t.test('a subscriber that stops reading is closed with 1013 and a reason, without a gap before it', async (t) => {
    const all = await crowd(t, backend, 60_000);
    const published = await publishUntilGivenUp(all);
    for (let more = 0; more < 50; more++) all.server.publish('all', message(published + more), false);
    t.ok(all.slowSocket.bufferedBytes() < 4 << 20, 'what is buffered for it is bounded');
    all.slow.ws.resume();
    t.strictSame(await all.slow.closed, { code: 1013, reason: 'socket 1 is slow' });
    t.strictSame(seqs(all.slow), upTo(all.slow.received.length));
    t.ok(all.slow.received.length <= published, 'nothing is sent to it after it was given up');
    await all.fast.has(published + 50);
    t.strictSame(seqs(all.fast), upTo(published + 50), 'the other one missed nothing');
    while (all.closes.length === 0) await turn();
    t.strictSame(all.closes, [[1, 1013]]);
  });

  t.test('one that never reads again is cut after drainMs', async (t) => {
    const all = await crowd(t, backend, 50);
    const published = await publishUntilGivenUp(all);
    const startMs = performance.now();
    while (all.closes.length === 0) await turn();
    t.ok(performance.now() - startMs < LIBRARY_MS, 'by us');
    t.strictSame(all.closes, [[1, 1006]]);
    all.slow.ws.resume();
    t.equal((await all.slow.closed).code, 1006);
    t.strictSame(seqs(all.slow), upTo(all.slow.received.length));
    await all.fast.has(published);
    t.strictSame(seqs(all.fast), upTo(published));
  });

  t.test('what one tick publishes to a subscriber that does not read is bounded, too', async (t) => {
    const all = await crowd(t, backend, 60_000);
    let seq = 0;
    while (all.slowSocket.bufferedBytes() === 0) {
      all.server.publish('all', message(seq++), false);
      await all.fast.has(seq);
    }
    for (let more = 0; more < 500; more++) all.server.publish('all', message(seq++), false);
    t.ok(all.slowSocket.closed);
    t.ok(all.slowSocket.bufferedBytes() < 2 << 20, `${all.slowSocket.bufferedBytes()} of ${500 * messageBytes} bytes`);
    all.slow.ws.resume();
    t.equal((await all.slow.closed).code, 1013);
  });

  t.test('sending to one that does not read says so, and stops', async (t) => {
    const all = await crowd(t, backend, 60_000);
    let sent = 0;
    while (all.slowSocket.send(message(sent), false)) {
      sent++;
      await turn();
    }
    t.ok(all.slowSocket.closed);
    t.notOk(all.slowSocket.send(message(sent + 1), false));
    all.slow.ws.resume();
    t.equal((await all.slow.closed).code, 1013);
    t.ok(all.slow.received.length >= sent);
    t.strictSame(seqs(all.slow), upTo(all.slow.received.length));
  });

  t.test('one that reads again in time stays', async (t) => {
    const all = await crowd(t, backend, 60_000);
    let seq = 0;
    while (all.slowSocket.bufferedBytes() === 0) {
      all.server.publish('all', message(seq++), false);
      await turn();
    }
    all.slow.ws.resume();
    await all.slow.has(seq);
    all.server.publish('all', message(seq++), false);
    await all.slow.has(seq);
    t.strictSame(seqs(all.slow), upTo(seq));
    t.notOk(all.slowSocket.closed);
    t.equal(all.slowSocket.bufferedBytes(), 0);
  });

  t.test('one that sends pings and reads nothing is closed', async (t) => {
    const closes: number[] = [];
    const { port } = await serve(t, backend, {
      sockets: { ...quietSockets, close: (_, code) => closes.push(code) },
      limits: { wsBufferedBytes: 64 << 10, wsIdleFrames: Infinity, drainMs: 50 },
    });
    const connection = await RawConnection.open(port);
    const lines = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    await connection.send(head('GET / HTTP/1.1', ...lines, 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='));
    await connection.until((text) => text.includes('\r\n\r\n'));
    connection.socket.pause();
    // FIN and ping, masked with zeros, 125 bytes: a thousand in one write.
    const pings = Buffer.concat(
      Array.from({ length: 1000 }, () => Buffer.concat([Buffer.of(0x89, 0xfd, 0, 0, 0, 0), Buffer.alloc(125)])),
    );
    const flood = (): void => {
      if (connection.socket.writable) connection.socket.write(pings, flood);
    };
    flood();
    while (closes.length === 0) await turn();
    t.ok([1006, 1013].includes(closes[0] ?? 0));
    connection.reset();
  });
});
