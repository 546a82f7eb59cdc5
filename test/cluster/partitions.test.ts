import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { natsServers } from './nats-servers.js';

const OWN_NETWORK = ['-n', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const ROUNDS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const scene = fileURLToPath(new URL('./cut-off-members.js', import.meta.url));

/** Why there can be no network here that drops packets, or false. */
function obstacle(): string | false {
  const { error, status, stderr } = spawnSync('unshare', [...OWN_NETWORK, 'nft', 'list', 'ruleset'], {
    encoding: 'utf8',
  });
  return status !== 0 && `no network of its own with nft can be had here: ${(error?.message ?? stderr).trim()}`;
}

t.test('an engine, a gateway and a NATS server are cut off', { skip: obstacle() }, async (t) => {
  t.setTimeout(ROUNDS * 300_000 + 60_000);
  // Fetches the server where it is missing: the scene has no network to do that with.
  await natsServers(t, { servers: 1 });
  const timeout = ROUNDS * 300_000;
  await t.spawn('unshare', [...OWN_NETWORK, process.execPath, scene], { timeout }, 'in a network of its own');
});
