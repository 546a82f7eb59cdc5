import { fileURLToPath } from 'node:url';
import t from 'tap';
import { noOwnNetwork, OWN_NETWORK } from './own-network.js';

const scene = fileURLToPath(new URL('./pulled-cable.js', import.meta.url));

t.test('sockets whose link is lost without a word are gone in forty seconds', { skip: noOwnNetwork() }, async (t) => {
  await t.spawn('unshare', [...OWN_NETWORK, process.execPath, scene], { timeout: 120_000 }, 'in a network of its own');
});
