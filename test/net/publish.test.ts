import t from 'tap';
import type { NetSocket, SocketHandlers } from '../../src/net/net.js';
import { eachBackend, quietSockets, serve } from './serving.js';
import { Client } from './socket-client.js';

/** Sockets do what clients say: `+topic` subscribes, `-topic` unsubscribes, and each is answered with `done`. */
const obedient: SocketHandlers = {
  ...quietSockets,
  message: (socket, data) => {
    const text = Buffer.from(data).toString();
    if (text.startsWith('+')) socket.subscribe(text.slice(1));
    else socket.unsubscribe(text.slice(1));
    socket.send('done', false);
  },
};

async function tell(client: Client, ...orders: string[]): Promise<void> {
  const before = client.received.length;
  for (const order of orders) client.ws.send(order);
  await client.has(before + orders.length);
  client.received.length = before;
}

const texts = (client: Client): string[] => client.received.map(([text]) => text);

eachBackend(t, (t, backend) => {
  t.test('what is published reaches the subscribers of its topic alone', async (t) => {
    const { server, wsUrl } = await serve(t, backend, { sockets: obedient });
    const [a, b, both, neither] = await Promise.all([1, 2, 3, 4].map(() => Client.open(wsUrl)));
    if (!a || !b || !both || !neither) throw new Error('four clients');
    await tell(a, '+a');
    await tell(b, '+b');
    await tell(both, '+a', '+b');
    server.publish('a', 'for a', false);
    server.publish('b', 'for b', false);
    server.publish('nobody', 'for nobody', false);
    await Promise.all([a.has(1), b.has(1), both.has(2)]);
    await tell(neither, '+later');
    t.strictSame([a, b, both, neither].map(texts), [['for a'], ['for b'], ['for a', 'for b'], []]);
  });

  t.test('distinguishes text and binary', async (t) => {
    const { server, wsUrl } = await serve(t, backend, { sockets: obedient });
    const client = await Client.open(wsUrl);
    await tell(client, '+a');
    server.publish('a', 'text', false);
    server.publish('a', Buffer.from('bytes'), true);
    server.publish('a', Buffer.from('text of bytes'), false);
    t.strictSame(await client.has(3), [
      ['text', false],
      ['bytes', true],
      ['text of bytes', false],
    ]);
  });

  t.test('subscribing twice is subscribing once', async (t) => {
    const { server, wsUrl } = await serve(t, backend, { sockets: obedient });
    const client = await Client.open(wsUrl);
    await tell(client, '+a', '+a');
    server.publish('a', 'once', false);
    server.publish('a', 'end', false);
    await client.has(2);
    await tell(client, '-a');
    server.publish('a', 'never', false);
    await tell(client, '-a', '-never had');
    t.strictSame(texts(client), ['once', 'end']);
  });

  t.test('what was published before a subscription is not delivered to it, nor after it ends', async (t) => {
    let socket: NetSocket | undefined;
    const { server, wsUrl } = await serve(t, backend, {
      sockets: { ...obedient, open: (opened) => (socket = opened) },
    });
    const client = await Client.open(wsUrl);
    await tell(client, '+other');
    server.publish('a', 'before', false);
    socket?.subscribe('a');
    server.publish('a', 'during', false);
    socket?.unsubscribe('a');
    server.publish('a', 'after', false);
    socket?.send('end', false);
    await client.has(2);
    t.strictSame(texts(client), ['during', 'end']);
  });

  t.test('a subscriber gets topics, and what is sent to it alone, in the order of the calls', async (t) => {
    let socket: NetSocket | undefined;
    const { server, wsUrl } = await serve(t, backend, {
      sockets: { ...obedient, open: (opened) => (socket = opened) },
      limits: { wsBufferedBytes: 64 << 20 },
    });
    const client = await Client.open(wsUrl);
    await tell(client, '+a', '+b', '+c');
    const expected: string[] = [];
    // Sizes on both sides of uWebSockets.js's cork buffer (16 KiB), beyond which it writes past its batches.
    const sizes = [10, 200, 16_384, 20_000, 70_000];
    for (let i = 0; i < 2000; i++) {
      const message = `${i} `.padEnd(sizes[i % 7] ?? 20, '.');
      expected.push(message);
      if (i % 5 === 3) socket?.send(message, false);
      else server.publish('abc'.charAt(i % 3), message, false);
      if (i % 97 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await client.has(expected.length);
    t.strictSame(
      texts(client).map((text) => text.split(' ')[0]),
      expected.map((text) => text.split(' ')[0]),
    );
    t.strictSame(
      texts(client).map((text) => text.length),
      expected.map((text) => text.length),
    );
  });

  t.test('a thousand messages to fifty subscribers of mixed topics, none lost, none out of order', async (t) => {
    const { server, wsUrl } = await serve(t, backend, { sockets: obedient });
    const clients = await Promise.all(Array.from({ length: 50 }, () => Client.open(wsUrl)));
    const topicsOf = (i: number): number[] => [0, 1, 2, 3].filter((topic) => ((i + 1) >> topic) & 1);
    await Promise.all(clients.map((client, i) => tell(client, ...topicsOf(i).map((topic) => `+${topic}`))));
    for (let seq = 0; seq < 1000; seq++) {
      server.publish(String(seq % 4), String(seq), false);
      if (seq % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
    }
    for (const [i, client] of clients.entries()) {
      const expected = Array.from({ length: 1000 }, (_, seq) => seq).filter((seq) => topicsOf(i).includes(seq % 4));
      await client.has(expected.length);
      t.strictSame(texts(client), expected.map(String));
    }
  });

  t.test('publishing from within a handler keeps the order', async (t) => {
    const serving = await serve(t, backend, {
      sockets: {
        ...quietSockets,
        open: (socket) => socket.subscribe('a'),
        message: (socket) => {
          socket.send('1', false);
          serving.server.publish('a', '2', false);
          socket.send('3', false);
          serving.server.publish('a', '4', false);
        },
      },
    });
    const client = await Client.open(serving.wsUrl);
    client.ws.send('go');
    await client.has(4);
    t.strictSame(texts(client), ['1', '2', '3', '4']);
  });

  t.test('a socket that is closing gets nothing more', async (t) => {
    let socket: NetSocket | undefined;
    const { server, wsUrl } = await serve(t, backend, {
      sockets: { ...obedient, open: (opened) => (socket = opened) },
    });
    const client = await Client.open(wsUrl);
    await tell(client, '+a');
    server.publish('a', 'before', false);
    socket?.close(4000, '');
    server.publish('a', 'after', false);
    t.equal((await client.closed).code, 4000);
    t.strictSame(texts(client), ['before']);
  });

  t.test('clients that vanish while they are published to trouble nobody', async (t) => {
    const { server, wsUrl } = await serve(t, backend, { sockets: obedient });
    const clients = await Promise.all(Array.from({ length: 20 }, () => Client.open(wsUrl)));
    await Promise.all(clients.map((client) => tell(client, '+a')));
    const [stays, ...leave] = clients;
    if (!stays) throw new Error('twenty clients');
    for (let i = 0; i < 200; i++) {
      server.publish('a', String(i), false);
      if (i % 10 === 0) leave.pop()?.ws.terminate();
      if (i % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await stays.has(200);
    t.strictSame(
      texts(stays),
      Array.from({ length: 200 }, (_, i) => String(i)),
    );
  });
});
