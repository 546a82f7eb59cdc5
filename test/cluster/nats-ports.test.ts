import { once } from 'node:events';
import net from 'node:net';
import t from 'tap';
import { natsServers } from './nats-servers.js';

async function listening(): Promise<net.Server> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const portOf = (server: net.Server): number => (server.address() as net.AddressInfo).port;

t.test('servers start on other ports where a process took one of theirs before them', async (t) => {
  const other = await listening();
  t.teardown(() => other.close());
  let asked = 0;
  const portsOf = async (count: number): Promise<number[]> => {
    asked += 1;
    const held = await Promise.all(Array.from({ length: count }, listening));
    const ports = held.map(portOf);
    for (const server of held) await new Promise((resolve) => server.close(resolve));
    return asked === 1 ? [portOf(other), ...ports.slice(1)] : ports;
  };
  const { nodes } = await natsServers(t, { servers: 1, portsOf });
  t.equal(asked, 2);
  t.notOk(nodes[0]?.url.endsWith(`:${portOf(other)}`));
});
