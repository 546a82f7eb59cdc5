// Free ports of this machine, for what has to know its port before it listens.
import net from 'node:net';

/** Another process may take one before it is used. */
export async function freePorts(count) {
  const servers = [];
  for (let i = 0; i < count; i += 1) {
    const server = net.createServer();
    await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    servers.push(server);
  }
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
