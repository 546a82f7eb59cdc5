import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { type WebSocket, WebSocketServer } from 'ws';
import type { BlockHead } from '../../../src/chain/contracts/blocks-and-logs.js';
import { HeadWatch } from '../../../src/chain/follow/head-watch.js';
import { ManualClock } from '../../system/manual-clock.js';
import { until } from '../../until.js';

const PATIENCE = { pingMs: 10_000, backoffMs: 200, maxBackoffMs: 5_000 };
const MOST_PATIENT = { bytes: (length: number) => new Uint8Array(length), unit: () => 1 };

/** Block 7, as a node announces it. */
const HEADER = {
  ...{ number: '0x7', timestamp: '0x64', logsBloom: `0x${'0'.repeat(512)}` },
  ...{ hash: `0x${'1'.repeat(64)}`, parentHash: `0x${'2'.repeat(64)}` },
};

/** A node that sends heads when the test says so. */
async function watched(t: Test, options: { readonly autoPong: boolean } = { autoPong: true }) {
  const node = new WebSocketServer({ host: '127.0.0.1', port: 0, ...options });
  await once(node, 'listening');
  const sockets: WebSocket[] = [];
  const asked: string[] = [];
  node.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('message', (data) => asked.push((data as Buffer).toString('utf8')));
  });
  const clock = new ManualClock();
  const told: BlockHead[] = [];
  /** In order, what the listener hears. */
  const heard: string[] = [];
  const url = `ws://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const listener = {
    onOpen: () => heard.push('open'),
    onClose: () => heard.push('close'),
    onHead(head: BlockHead): void {
      heard.push(`head ${head.number}`);
      told.push(head);
    },
  };
  const watch = new HeadWatch(url, listener, clock, MOST_PATIENT, PATIENCE);
  t.teardown(() => {
    watch.stop();
    node.close();
    for (const socket of sockets) socket.terminate();
  });
  watch.start();
  return { node, sockets, asked, clock, watch, told, heard };
}

t.test('it subscribes, and reports when the node has accepted that and when it is over', async (t) => {
  const { sockets, asked, heard } = await watched(t);
  await until(() => asked.length === 1);
  t.match(JSON.parse(asked[0] ?? ''), { method: 'eth_subscribe', params: ['newHeads'] });
  sockets[0]?.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no subscriptions"}}');
  sockets[0]?.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
  await until(() => heard.length === 1);
  t.strictSame(heard, ['open']);
  sockets[0]?.terminate();
  await until(() => heard.length === 2);
  t.strictSame(heard, ['open', 'close']);
});

t.test(
  'a connection that ends is made again, after longer and longer pauses until it has told of something',
  async (t) => {
    const { node, sockets, asked, clock, told } = await watched(t);
    for (const [n, pauseMs] of [200, 400, 800].entries()) {
      await until(() => asked.length === n + 1);
      sockets[n]?.terminate();
      await until(() => node.clients.size === 0 && clock.pending === 1);
      clock.advance(pauseMs - 1);
      t.equal(sockets.length, n + 1);
      clock.advance(1);
    }
    await until(() => asked.length === 4);
    sockets[3]?.send(JSON.stringify({ params: { result: HEADER } }));
    await until(() => told.length === 1);
    sockets[3]?.terminate();
    await until(() => node.clients.size === 0 && clock.pending === 1);
    clock.advance(200);
    await until(() => asked.length === 5);
    t.equal(sockets.length, 5);
  },
);

t.test('a node that refuses the subscription is asked after longer and longer pauses', async (t) => {
  const { node, sockets, asked, clock } = await watched(t);
  for (const [n, pauseMs] of [200, 400, 800].entries()) {
    await until(() => asked.length === n + 1);
    sockets[n]?.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no subscriptions"}}');
    sockets[n]?.close();
    await until(() => node.clients.size === 0 && clock.pending === 1);
    clock.advance(pauseMs - 1);
    // Had it connected, the node would accept that first.
    const { port } = node.address() as AddressInfo;
    const [answer] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
    answer.resume();
    t.equal(sockets.length, n + 1);
    clock.advance(1);
  }
});

t.test('a connection that is half dead is left for a new one', async (t) => {
  const { sockets, asked, clock } = await watched(t, { autoPong: false });
  await until(() => asked.length === 1);
  let pings = 0;
  sockets[0]?.on('ping', () => pings++);
  clock.advance(10_000);
  await until(() => pings === 1);
  t.equal(sockets[0]?.readyState, 1);
  clock.advance(10_000);
  await until(() => sockets[0]?.readyState === 3);
  clock.advance(200);
  await until(() => asked.length === 2);
  t.equal(sockets.length, 2);
});

t.test('a quiet connection that answers pings is kept', async (t) => {
  const { sockets, asked, clock } = await watched(t);
  await until(() => asked.length === 1);
  for (let n = 1; n <= 5; n++) {
    let hasPinged = false;
    let isReached = false;
    sockets[0]?.once('ping', () => (hasPinged = true));
    sockets[0]?.once('pong', () => (isReached = true));
    clock.advance(10_000);
    await until(() => hasPinged);
    // The pong is on its way: a ping that is sent after it, and is no sign of life, is answered once it has come.
    sockets[0]?.ping();
    await until(() => isReached);
  }
  t.equal(sockets.length, 1);
  t.equal(sockets[0]?.readyState, 1);
});

t.test('the header of a block is passed on, and a message without one is not', async (t) => {
  const { sockets, asked, told } = await watched(t);
  await until(() => asked.length === 1);
  const messages = [null, { params: { result: { number: '0x7' } } }, { params: {} }, { params: { result: HEADER } }];
  for (const message of ['no JSON', ...messages.map((message) => JSON.stringify(message))]) sockets[0]?.send(message);
  await until(() => told.length === 1);
  t.strictSame(told, [{ ...HEADER, number: 7, timestamp: 100 }]);
});

const FLOODS: readonly [string, (socket: WebSocket, header: string) => void][] = [
  ['headers', (socket, header) => socket.send(header)],
  ['small messages', (socket) => socket.send('{}')],
  ['pings', (socket) => socket.ping()],
];
for (const [what, flood] of FLOODS) {
  t.test(`a node that floods the connection with ${what} is left, for a pause among the longest`, async (t) => {
    const { node, sockets, asked, clock } = await watched(t);
    await until(() => asked.length === 1);
    const [socket] = sockets;
    if (socket === undefined) throw new Error('It is connected');
    const header = JSON.stringify({ params: { result: HEADER } });
    for (let n = 0; n < 5_000; n++) flood(socket, header);
    await until(() => node.clients.size === 0 && clock.pending === 1);
    clock.advance(PATIENCE.maxBackoffMs - 1);
    t.equal(sockets.length, 1);
    clock.advance(1);
    await until(() => asked.length === 2);
  });
}

t.test('a thousand headers between two pings are read', async (t) => {
  const { sockets, asked, told } = await watched(t);
  await until(() => asked.length === 1);
  const header = JSON.stringify({ params: { result: HEADER } });
  for (let n = 0; n < 1_000; n++) sockets[0]?.send(header);
  await until(() => told.length === 1_000);
  t.equal(sockets[0]?.readyState, 1);
});

t.test('a message that is longer than a header ends the connection', async (t) => {
  const { node, sockets, asked, told } = await watched(t);
  await until(() => asked.length === 1);
  sockets[0]?.send(JSON.stringify({ params: { result: { ...HEADER, extraData: '0'.repeat(100_000) } } }));
  await until(() => node.clients.size === 0);
  t.strictSame(told, []);
});
