import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const OWN_NETWORK = ['-n', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];
const scene = fileURLToPath(new URL('./pulled-cable.js', import.meta.url));

/** Why there can be no network here that drops packets, or false. */
function obstacle(): string | false {
  const { error, status, stderr } = spawnSync('unshare', [...OWN_NETWORK, 'nft', 'list', 'ruleset'], {
    encoding: 'utf8',
  });
  return status !== 0 && `no network of its own with nft can be had here: ${(error?.message ?? stderr).trim()}`;
}

t.test('sockets whose link is lost without a word are gone in forty seconds', { skip: obstacle() }, async (t) => {
  await t.spawn('unshare', [...OWN_NETWORK, process.execPath, scene], { timeout: 120_000 }, 'in a network of its own');
});
