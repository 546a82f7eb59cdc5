import { fileURLToPath } from 'node:url';
import t from 'tap';
import { noOwnNetwork, OWN_NETWORK } from '../faults/own-network.js';
import { natsServers } from './nats-servers.js';

const ROUNDS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const scene = fileURLToPath(new URL('./cut-off-members.js', import.meta.url));

t.test('an engine, a gateway and a NATS server are cut off', { skip: noOwnNetwork() }, async (t) => {
  t.setTimeout(ROUNDS * 300_000 + 60_000);
  // Fetches the server where it is missing: the scene has no network to do that with.
  await natsServers(t, { servers: 1 });
  const timeout = ROUNDS * 300_000;
  await t.spawn('unshare', [...OWN_NETWORK, process.execPath, scene], { timeout }, 'in a network of its own');
});
