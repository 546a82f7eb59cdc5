import t, { type Test } from 'tap';
import { encodeFunctionData } from 'viem';
import { LONG, optionTokenAbi, SHORT } from '../../../src/chain/contracts/abi.js';
import type { DevAccount } from '../../../src/chain/dev/dev-client.js';
import type { Hex, Pool } from '../../../src/engine/quote.js';
import { Market, ONE } from '../dev/market.js';
import { type FollowingOptions, httpRpc } from '../following.js';
import { MarketBook, withoutMulticall } from '../market-book.js';
import { RpcProxy } from '../rpc-proxy.js';
import type { SignedOffer } from '../sign-quote.js';

const market = await Market.open(t);
const { maker, taker, stranger, operator } = market;
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const [weth, usdc] = [market.token('testWETH'), market.token('USDC')];
const router = market.chain.contracts.erc20Router;
const ways: [how: string, options: Partial<FollowingOptions>][] = [
  ['with Multicall3', {}],
  ['without Multicall3', withoutMulticall(market)],
];

for (const [how, options] of ways) {
  const onChainAlone = (name: string, test: (t: Test, book: MarketBook) => Promise<void>): void => {
    void t.test(`${how}: ${name}`, (t) => MarketBook.isolated(market, options, (book) => test(t, book)));
  };

  onChainAlone('an allowance that goes takes its quotes out, and brings them back', async (t, book) => {
    const [ask, bid] = [await market.sign(call), await market.sign(put, { isBuy: true })];
    await book.publish(ask, bid);
    const reasons = async () => {
      await book.upToDate();
      return [book.reasonOf(ask), book.reasonOf(bid)];
    };
    t.strictSame(await reasons(), [0, 0]);
    await market.approve(maker.address, weth, router, 0n);
    t.strictSame(await reasons(), [8, 0], 'a call is backed by the base token');
    await market.approve(maker.address, usdc, router, 0n);
    t.strictSame(await reasons(), [8, 8], 'and a put by the quote token');
    await market.approve(maker.address, weth, router, ONE - ONE / 10n);
    t.strictSame(await reasons(), [0, 8], 'just enough is enough');
    await market.approve(maker.address, weth, stranger.address, 0n);
    t.strictSame(await reasons(), [0, 8], 'what others may take is nothing to the book');
    await market.approve(maker.address, usdc, router);
    t.strictSame(await reasons(), [0, 0]);
  });

  onChainAlone('a balance that goes takes its quotes out, and brings them back', async (t, book) => {
    const ask = await market.sign(call, { size: 2n * ONE });
    await book.publish(ask);
    const all = await market.balance(weth, maker.address);
    await market.transfer(maker.address, weth, stranger.address, all);
    await book.upToDate();
    t.equal(book.reasonOf(ask), 9);
    await market.transfer(stranger.address, weth, maker.address, 2n * ONE);
    await book.upToDate();
    t.equal(book.reasonOf(ask), 0);
    await market.fill(taker.address, ask, ONE);
    await market.transfer(maker.address, weth, stranger.address, (await market.balance(weth, maker.address)) - ONE);
    await book.upToDate();
    t.equal(book.reasonOf(ask), 0, 'what is left of it is what must be paid for');
    t.equal(book.fillable(ask), ONE);
  });

  onChainAlone('longs and shorts that come and cannot be used take quotes out until they go', async (t, book) => {
    await market.fill(taker.address, await market.sign(call, {}, operator), ONE);
    const [ask, bid] = [await market.sign(call), await market.sign(call, { isBuy: true })];
    await market.lockContracts(maker.address, call.poolAddress, LONG, ONE);
    await market.lockContracts(maker.address, call.poolAddress, SHORT, ONE);
    await book.publish(ask, bid);
    const reasons = async () => {
      await book.upToDate();
      return [book.reasonOf(ask), book.reasonOf(bid)];
    };
    t.strictSame(await reasons(), [0, 0]);
    await market.moveContracts(taker.address, maker.address, call.poolAddress, LONG, ONE);
    t.strictSame(await reasons(), [10, 0]);
    await moveContractsTogether(operator, maker, SHORT);
    t.strictSame(await reasons(), [10, 11]);
    await market.lockContracts(maker.address, call.poolAddress, LONG, 0n);
    await market.moveContracts(maker.address, taker.address, call.poolAddress, LONG, ONE);
    t.strictSame(await reasons(), [0, 11]);
    await market.lockContracts(maker.address, call.poolAddress, SHORT, 0n);
    await moveContractsTogether(maker, operator, SHORT);
    t.strictSame(await reasons(), [0, 0]);
  });
}

/** By a `TransferBatch`. */
function moveContractsTogether(from: DevAccount, to: DevAccount, id: bigint): Promise<Hex> {
  const args = [from.address, to.address, [id], [ONE], '0x'] as const;
  const data = encodeFunctionData({ abi: optionTokenAbi, functionName: 'safeBatchTransferFrom', args });
  return market.send(from.address, call.poolAddress, data);
}

/** A book whose node is asked through a proxy. */
async function throughProxy(
  t: Test,
  limits: FollowingOptions['limits'],
  work: (book: MarketBook, proxy: RpcProxy) => Promise<void>,
): Promise<void> {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const options = { rpc: { settlement: httpRpc([proxy.url]) }, ...(limits && { limits }) };
  await MarketBook.isolated(market, options, (book) => work(book, proxy));
}

t.test('what no event told is found by the sweep', async (t) => {
  await throughProxy(t, { sweepMs: 50, lowerHeadMs: 100 }, async (book, proxy) => {
    const offers = await Promise.all([call, put, call, call].map((pool: Pool) => market.sign(pool)));
    await book.publish(...offers);
    const [revoked, cancelled, filled, filledUp] = offers;
    if (!revoked || !cancelled || !filled || !filledUp) throw new Error('There are four');
    proxy.trick = ({ method }) => (method === 'eth_getLogs' ? { rewrite: () => [] } : 'PASS');
    await market.cancel(maker.address, put.poolAddress, [cancelled.quoteId]);
    await market.fill(taker.address, filled, ONE / 4n);
    await market.fill(taker.address, filledUp, ONE);
    await market.approve(maker.address, weth, router, 0n);
    const states = () => offers.map((offer) => [book.reasonOf(offer), book.fillable(offer)].join());
    const expected = ['8,1000000000000000000', ',0', '8,750000000000000000', ',0'];
    await book.following.until(() => states().every((state, i) => state === expected[i]));
    t.strictSame(states(), expected);
    proxy.trick = () => 'PASS';
    await market.approve(maker.address, weth, router);
    await book.upToDate();
    t.equal(book.reasonOf(filled), 0, 'and events are heard again');
  });
});

t.test('a maker who revokes has all quotes out with the block that says so, by batched calls', async (t) => {
  const QUOTES = 300;
  await throughProxy(t, {}, async (book, proxy) => {
    const offers = await Promise.all(Array.from({ length: QUOTES }, () => market.sign(call, { size: ONE / 1000n })));
    await market.publish(stranger.address, offers.slice(0, QUOTES / 2));
    await book.publish(...offers.slice(QUOTES / 2));
    const live = () => offers.filter((offer) => book.reasonOf(offer) === 0).length;
    t.equal(live(), QUOTES);
    proxy.requests.length = 0;
    await market.approve(maker.address, weth, router, 0n);
    await book.upToDate();
    t.equal(live(), 0, 'its block is the newest, and all are out');
    const calls = proxy.requests.filter(({ method }) => method === 'eth_call').length;
    t.ok(calls <= 8, `${calls} calls for ${QUOTES} quotes`);
    await market.approve(maker.address, weth, router);
    await book.upToDate();
    t.equal(live(), QUOTES);
  });
});

const takenBack: [what: string, happens: (offer: SignedOffer) => Promise<unknown>][] = [
  ['an allowance that went', () => market.approve(maker.address, weth, router, 0n)],
  ['a fill', (offer) => market.fill(taker.address, offer, ONE)],
];

for (const [what, happens] of takenBack) {
  t.test(
    `${what} comes back with a reorg, even if the node still told the old state in the middle of it`,
    async (t) => {
      await throughProxy(t, {}, async (book, proxy) => {
        const ask = await market.sign(call);
        await book.publish(ask);
        let told: unknown;
        proxy.trick = ({ method }) => (method === 'eth_call' ? { rewrite: (result) => (told = result) } : 'PASS');
        await happens(ask);
        await book.upToDate();
        t.not(book.reasonOf(ask), 0);
        let isRepeated = false;
        proxy.trick = ({ method }) => {
          if (method !== 'eth_call' || isRepeated) return 'PASS';
          isRepeated = true;
          return { rewrite: () => told };
        };
        await market.reorg(1);
        await book.upToDate();
        t.ok(isRepeated);
        t.equal(book.reasonOf(ask), 0);
        t.equal(book.fillable(ask), ONE);
      });
    },
  );
}
