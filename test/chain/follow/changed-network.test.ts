import t from 'tap';
import { startLocalChain } from '../../../src/chain/dev/local-chain.js';
import { WrongChain } from '../../../src/chain/rpc/rpc-errors.js';
import { limits as defaultLimits } from '../../../src/config/limits.js';
import { systemClock } from '../../../src/system/clock.js';
import { DevActions } from '../dev-actions.js';
import { Following, httpRpc } from '../following.js';
import { RpcProxy, type RpcRequest, type Trick } from '../rpc-proxy.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const dev = new DevActions(chain);
const limits = { ...defaultLimits, rpcBackoffMs: 1, rpcAttempts: 1, lowerHeadMs: 100 };

interface Hashes {
  readonly hash: string;
  readonly parentHash: string;
}

/** Never the same one: one hash in 256 begins with any byte that could be put there. */
const otherHash = (hash: string): string => `0x${hash.slice(3)}${hash.slice(2, 3)}`;
const otherBlock = (block: Hashes): Hashes => ({
  ...block,
  hash: otherHash(block.hash),
  parentHash: otherHash(block.parentHash),
});

/** Answers of a node of another network. */
function otherNetwork({ method }: RpcRequest): Trick {
  if (method === 'eth_chainId') return { rewrite: () => '0x1' };
  if (method !== 'eth_getBlockByNumber') return 'PASS';
  return { rewrite: (block) => (block === null ? null : otherBlock(block as Hashes)) };
}

t.test('an endpoint that comes to be of another network is waited for, and is no deep reorg', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const rpc = httpRpc([proxy.url], limits);
  const following = await Following.start({ profile: chain.profile, rpc: { settlement: rpc, stream: rpc }, limits });
  t.teardown(() => following.stop());
  const clients = { settlement: dev.client, stream: dev.client };
  await following.upToDate(clients);
  const before = following.chains.readTo('settlement');

  proxy.trick = otherNetwork;
  await dev.client.mine({ blocks: 1 });
  let refusedAtMs = 0;
  await following.until(() => {
    if (refusedAtMs === 0 && following.failures.at(-1) instanceof WrongChain) refusedAtMs = systemClock.monotonicMs();
    return refusedAtMs > 0 && systemClock.monotonicMs() - refusedAtMs > 3 * limits.lowerHeadMs;
  });
  t.strictSame(following.chains.readTo('settlement'), before);

  proxy.trick = () => 'PASS';
  await following.upToDate(clients);
  t.equal(following.halted, null);
});
