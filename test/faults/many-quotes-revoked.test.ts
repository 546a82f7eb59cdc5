import t from 'tap';
import { Market, ONE } from '../chain/dev/market.js';
import { httpRpc } from '../chain/following.js';
import { MarketBook } from '../chain/market-book.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { limits } from '../../src/config/limits.js';
import type { SignedOffer } from '../chain/sign-quote.js';

const QUOTES = process.env.QUOTEBOOK_TEST_LONG === undefined ? 2_000 : 10_000;
/** As many as one transaction holds on Arbitrum. */
const PER_TRANSACTION = 175;

const market = await Market.open(t);
const proxy = await RpcProxy.open(market.chain.rpcUrl);
t.teardown(() => proxy.close());
const { maker, stranger } = market;
const weth = market.token('testWETH');
const router = market.chain.contracts.erc20Router;
const calls = ['1600', '1700', '1800', '1900', '2000'].map((strike) => market.pool('testWETH', BigInt(strike), true));

t.test(`a maker with ${QUOTES} quotes who revokes has all of them out within two blocks`, async (t) => {
  const options = { rpc: { settlement: httpRpc([proxy.url]) } };
  await MarketBook.isolated(market, options, async (book) => {
    const offers: SignedOffer[] = [];
    for (let n = 0; n < QUOTES; n++) {
      const pool = calls[n % calls.length];
      if (pool) offers.push(await market.sign(pool, { size: ONE / 1000n }));
    }
    for (let start = 0; start < QUOTES; start += PER_TRANSACTION) {
      await market.publish(stranger.address, offers.slice(start, start + PER_TRANSACTION));
    }
    await book.upToDate();
    const live = () => offers.filter((offer) => book.reasonOf(offer) === 0).length;
    t.equal(live(), QUOTES);
    proxy.requests.length = 0;
    await market.approve(maker.address, weth, router, 0n);
    await market.client.mine({ blocks: 1 });
    await book.upToDate();
    t.equal(live(), 0, 'the block after its own is the newest, and none is left');
    const asked = proxy.requests.filter(({ method }) => method === 'eth_call').length;
    // Two questions a quote, and slices that do not fill their last batch.
    const batches = Math.ceil((2 * QUOTES) / limits.rpcCallsPerBatch);
    t.ok(asked <= batches + 8, `${asked} calls for ${batches} batches`);
    await market.approve(maker.address, weth, router);
    await book.upToDate();
    t.equal(live(), QUOTES, 'and they come back');
    t.strictSame(book.following.failures, []);
  });
});
