import { spawnSync } from 'node:child_process';

/** Arguments of `unshare` before a program and its own: the program gets a network that only it has. */
export const OWN_NETWORK = ['-n', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"'];

/** Why there can be no network here that drops packets, or false. */
export function noOwnNetwork(): string | false {
  const { error, status, stderr } = spawnSync('unshare', [...OWN_NETWORK, 'nft', 'list', 'ruleset'], {
    encoding: 'utf8',
  });
  return status !== 0 && `no network of its own with nft can be had here: ${(error?.message ?? stderr).trim()}`;
}
