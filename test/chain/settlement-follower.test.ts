import t from 'tap';
import { Market, ONE } from './dev/market.js';
import { Following, httpRpc } from './following.js';
import { MarketBook } from './market-book.js';
import { RpcProxy, type RpcRequest } from './rpc-proxy.js';

const market = await Market.open(t);
const { stranger, taker } = market;
const call = market.pool('testWETH', 1800n, true);

/** Blocks whose state a node keeps that is no archive (geth's and nitro's default). */
const KEPT = 128;

t.test('what happened in blocks whose state the node has no more is seen where the newest one is read', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const rpc = { settlement: httpRpc([proxy.url]) };
  await MarketBook.isolated(market, { rpc }, async (book) => {
    const [filled, withoutMeans] = [await market.sign(call), await market.sign(call, {}, stranger)];
    await book.publish(filled, withoutMeans);
    await book.following.stop();
    await market.fill(taker.address, filled, ONE / 2n);
    await market.approve(
      stranger.address,
      market.token('testWETH'),
      market.chain.profile.contracts.erc20Router.address,
      0n,
    );
    await market.client.mine({ blocks: KEPT + 60 });
    const kept = new Set<unknown>();
    const head = await market.client.getBlockNumber();
    for (let number = head - BigInt(KEPT - 1); number <= head; number++) {
      kept.add((await market.client.getBlock({ blockNumber: number })).hash);
    }
    let refusals = 0;
    const isPruned = ({ method, params }: RpcRequest): boolean => {
      const { blockHash } = (params[1] ?? {}) as { blockHash?: unknown };
      return method === 'eth_call' && blockHash !== undefined && !kept.has(blockHash);
    };
    proxy.trick = (asked) => {
      if (!isPruned(asked)) return 'PASS';
      refusals += 1;
      return { error: { code: -32000, message: 'missing trie node 9f5a (path ) state 0x9f5a is not available' } };
    };
    const again = await Following.start({
      profile: market.chain.profile,
      rpc,
      engine: book.following.engine,
      limits: { logRangeBlocks: 20 },
    });
    t.teardown(() => again.stop());
    await again.until(() => again.chains.follower.caughtUp);
    t.ok(refusals > 0);
    t.strictSame([book.fillable(filled), book.reasonOf(filled), book.reasonOf(withoutMeans)], [ONE / 2n, 0, 8]);
    t.strictSame(again.failures, []);
  });
});
