// Free ports of this machine, for what has to know its port before it listens.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import net from 'node:net';

const LOWEST = 10_000;
/** So many times another port is tried for a taken one. */
const TRIES = 20;

/** The ports that the system gives to connections begin here; LOWEST: it does not say. */
function lowestEphemeral() {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return LOWEST;
  }
}

function listen(port) {
  const server = net.createServer();
  return new Promise((resolve, reject) =>
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server)),
  );
}

/** Below the ports that connections and port 0 get, where the system has such. */
async function listenSomewhere() {
  const end = lowestEphemeral();
  for (let left = end > LOWEST ? TRIES : 0; left > 0; left -= 1) {
    const server = await listen(randomInt(LOWEST, end)).catch(() => null);
    if (server !== null) return server;
  }
  return listen(0);
}

/** Another process that asks here, too, may take one before it is used. */
export async function freePorts(count) {
  const servers = [];
  for (let i = 0; i < count; i += 1) servers.push(await listenSomewhere());
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
