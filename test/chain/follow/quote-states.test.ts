import t from 'tap';
import { getAbiItem, getAddress, numberToHex, toFunctionSelector } from 'viem';
import { LONG, poolFactoryAbi } from '../../../src/chain/contracts/abi.js';
import type { Pool, PoolKey } from '../../../src/engine/quote.js';
import { Market, ONE } from '../dev/market.js';
import { Following, httpRpc } from '../following.js';
import { LOOPS_FOR_EVER } from '../hostile-contracts.js';
import { MarketBook } from '../market-book.js';
import { RpcProxy } from '../rpc-proxy.js';
import type { SignedOffer } from '../sign-quote.js';

const DAY = 86_400;
const market = await Market.open(t);
const { maker, taker, stranger, operator } = market;
const callKey = { ...market.pool('testWETH', 1800n, true).poolKey, strike: 2100n * ONE };
const [weth, usdc] = [market.token('testWETH'), market.token('USDC')];
const router = market.chain.contracts.erc20Router;

async function poolOf(poolKey: PoolKey): Promise<Pool> {
  return { poolKey, poolAddress: (await market.poolAddress(poolKey)).poolAddress };
}

/** 08:00 UTC on a Wednesday so many weeks ahead: a date that new pools may have in its last three days alone. */
async function wednesdayAhead(weeks: number): Promise<number> {
  const week = 7 * DAY;
  // 1 January 1970 was a Thursday.
  return Math.ceil((await market.now()) / week) * week + (weeks - 1) * week + 6 * DAY + 8 * 3600;
}

async function poolOfTheFuture(): Promise<Pool> {
  const poolKey = { ...callKey, maturity: await wednesdayAhead(3) };
  let pool: Pool | undefined;
  await market.isolated(async () => {
    await market.moveTimeTo(poolKey.maturity - 2 * DAY);
    pool = await poolOf(poolKey);
  });
  if (pool === undefined) throw new Error('There is an address then');
  return pool;
}

const future = await poolOfTheFuture();

const onChainAlone = MarketBook.tests(t, market);

onChainAlone('quotes for a pool without a contract are as good as their provider’s means', {}, async (t, book) => {
  const [call, put] = [await poolOf(callKey), await poolOf({ ...callKey, isCallPool: false })];
  const [ask, bid] = [await market.sign(call), await market.sign(put, { isBuy: true })];
  // 1e-18 more for each contract: no six decimals can pay that, and a millionth more is asked for.
  const bidWithDust = await market.sign(put, { isBuy: true, price: ONE / 10n + 1n });
  await book.publish(ask, bid, bidWithDust);
  const reasons = async () => {
    await book.upToDate();
    return [ask, bid, bidWithDust].map((offer) => book.reasonOf(offer));
  };
  t.strictSame(await reasons(), [0, 0, 0]);
  await market.approve(maker.address, weth, router, ONE - ONE / 10n - 1n);
  t.strictSame(await reasons(), [8, 0, 0], 'a call’s ask needs its size less the premium');
  await market.approve(maker.address, weth, router, ONE - ONE / 10n);
  t.strictSame(await reasons(), [0, 0, 0]);
  // A tenth of the strike of 2100 USDC.
  const premium = 210_000_000n;
  const rest = (await market.balance(usdc, maker.address)) - premium;
  await market.transfer(maker.address, usdc, stranger.address, rest + 1n);
  t.strictSame(await reasons(), [0, 9, 9], 'a put’s bid needs the premium');
  await market.transfer(stranger.address, usdc, maker.address, 1n);
  t.strictSame(await reasons(), [0, 0, 9], 'rounded up to what the token can count');
  await market.transfer(stranger.address, usdc, maker.address, 1n);
  t.strictSame(await reasons(), [0, 0, 0]);
});

onChainAlone(
  'when its pool is deployed the contract takes over, until a reorg takes that back',
  {},
  async (t, book) => {
    const call = await poolOf(callKey);
    const ask = await market.sign(call);
    await market.approve(maker.address, weth, router, 0n);
    await book.publish(ask);
    t.equal(book.reasonOf(ask), 8);
    const poolsBefore = [...book.following.engine.pools()].length;
    await market.deployPool(stranger.address, callKey);
    await market.fill(taker.address, await market.sign(call, {}, operator), ONE);
    await market.moveContracts(taker.address, maker.address, call.poolAddress, LONG, ONE);
    await book.upToDate();
    t.equal(book.reasonOf(ask), 0, 'who holds the option may sell it without collateral: that only the contract knows');
    t.equal([...book.following.engine.pools()].length, poolsBefore + 1);
    await market.reorg(3);
    await book.upToDate();
    t.equal(book.reasonOf(ask), 8);
    t.equal([...book.following.engine.pools()].length, poolsBefore);
  },
);

onChainAlone('a quote that entered before its pool is filled and cancelled like any', {}, async (t, book) => {
  const call = await poolOf(callKey);
  const [filled, cancelled] = [await market.sign(call), await market.sign(call)];
  await book.publish(filled, cancelled);
  await market.deployPool(stranger.address, callKey);
  await market.fill(taker.address, filled, ONE / 4n);
  await market.cancel(maker.address, call.poolAddress, [cancelled.quoteId]);
  await book.upToDate();
  t.equal(book.fillable(filled), (3n * ONE) / 4n);
  t.equal(book.reasonOf(cancelled), null);
});

onChainAlone('a quote is invalid where a contract that its pool would need is not there', {}, async (t, book) => {
  const nowhere = getAddress(numberToHex(0xdead, { size: 20 }));
  const keys = [
    callKey,
    { ...callKey, quote: nowhere },
    { ...callKey, base: nowhere, isCallPool: false },
    { ...callKey, oracleAdapter: nowhere },
  ];
  const offers: SignedOffer[] = [];
  for (const key of keys) offers.push(await market.sign(await poolOf(key)));
  await book.publish(...offers);
  t.strictSame(
    offers.map((offer) => book.reasonOf(offer)),
    [0, 7, 7, 7],
  );
});

onChainAlone('a quote is invalid where its pool’s oracle or token has code and refuses', {}, async (t, book) => {
  const { oracleAdapter } = market.chain.contracts;
  const keys = [
    callKey,
    { ...callKey, quote: market.token('LINK') },
    { ...callKey, oracleAdapter: usdc },
    // It has code, and no decimals. As a token it is no good, which does not count against it as an oracle.
    { ...callKey, quote: oracleAdapter },
    { ...callKey, base: oracleAdapter, isCallPool: false },
  ];
  await market.setUsdPrice(market.token('LINK'), 0n);
  const offers: SignedOffer[] = [];
  for (const key of keys) offers.push(await market.sign(await poolOf(key)));
  await book.publish(...offers);
  t.strictSame(
    offers.map((offer) => book.reasonOf(offer)),
    [0, 7, 7, 7, 7],
  );
  t.strictSame(book.following.failures, []);
  const [good, ...bad] = keys;
  for (const key of bad) await t.rejects(market.deployPool(stranger.address, key));
  if (good) await market.deployPool(stranger.address, good);
});

onChainAlone(
  'a pair that an oracle takes up, or takes up no more, is found by the sweep',
  { limits: { sweepMs: 50 } },
  async (t, book) => {
    const link = market.token('LINK');
    const [held, refused] = [
      await market.sign(await poolOf(callKey)),
      await market.sign(await poolOf({ ...callKey, quote: link })),
    ];
    const price = 7n * ONE;
    await market.setUsdPrice(link, 0n);
    await book.publish(held, refused);
    t.strictSame([book.reasonOf(held), book.reasonOf(refused)], [0, 7]);
    await market.setUsdPrice(link, price);
    await book.following.until(() => book.reasonOf(refused) === 0);
    await market.setUsdPrice(usdc, 0n);
    await book.following.until(() => book.reasonOf(held) === 7);
    t.equal(book.reasonOf(refused), 0);
    t.strictSame(book.following.failures, []);
  },
);

t.test('an oracle that takes all gas is asked once for all pools of its pair, until the next sweep', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    const oracleAdapter = getAddress(numberToHex(0xbad, { size: 20 }));
    await market.client.setCode({ address: oracleAdapter, bytecode: LOOPS_FOR_EVER });
    const offers: SignedOffer[] = [];
    for (let step = 0n; step < 10n; step++) {
      const strike = (2100n + 100n * step) * ONE;
      offers.push(await market.sign(await poolOf({ ...callKey, strike, oracleAdapter })));
      offers.push(await market.sign(await poolOf({ ...callKey, strike })));
    }
    const deployments = () =>
      proxy.requests.filter(({ method, params }) => method === 'eth_call' && isDeployment(params[0])).length;
    await book.publish(...offers.slice(0, 10));
    const first = deployments();
    t.ok(first >= 2 && first <= 4, `${first} dry runs for two pairs`);
    await book.publish(...offers.slice(10));
    t.equal(deployments(), first);
    t.strictSame(
      offers.map((offer) => book.reasonOf(offer)),
      offers.map((_, i) => (i % 2 === 0 ? 7 : 0)),
    );
    t.strictSame(book.following.failures, []);
  });
});

function isDeployment(call: unknown): boolean {
  const { data } = call as { readonly data?: string };
  return data?.startsWith(toFunctionSelector(getAbiItem({ abi: poolFactoryAbi, name: 'deployPool' }))) === true;
}

onChainAlone(
  'a quote for a pool whose date is not allowed yet is known, and enters the book when it is',
  { limits: { sweepMs: 50 } },
  async (t, book) => {
    const offer = await market.sign(future);
    await book.publish(offer);
    t.equal(book.reasonOf(offer), 7);
    t.strictSame(await book.following.chains.pools.resolve([future.poolKey]), [null], 'to post it is refused');
    await market.moveTimeTo(future.poolKey.maturity - 3 * DAY + 1);
    await book.following.until(() => book.reasonOf(offer) === 0);
    t.strictSame(book.following.refused, []);

    const fresh = await Following.start({ profile: market.chain.profile });
    t.teardown(() => fresh.stop());
    await fresh.upToDate({ settlement: market.client, stream: market.client });
    t.equal(fresh.engine.get(offer.quoteId)?.state, 'live', 'as it does for one who reads the chain anew');
  },
);

t.test('where a node cannot be asked about another time, such a quote is refused and counted', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const error = { code: -32602, message: 'too many arguments, want at most 3' };
  proxy.trick = ({ method, params }) => (method === 'eth_call' && params.length > 3 ? { error } : 'PASS');
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    await book.publish(await market.sign(future));
    t.strictSame(book.following.refused, ['IMPOSSIBLE_POOL']);
    t.strictSame([book.ids, book.following.failures], [[], []]);
  });
});

t.test('quotes that each name another address without code as their token are asked about together', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  await MarketBook.isolated(market, { rpc: { settlement: httpRpc([proxy.url]) } }, async (book) => {
    const tokens = [weth, ...Array.from({ length: 40 }, (_, i) => getAddress(numberToHex(0xdead00 + i, { size: 20 })))];
    const offers: SignedOffer[] = [];
    for (const base of tokens) offers.push(await market.sign(await poolOf({ ...callKey, base })));
    proxy.requests.length = 0;
    await book.publish(...offers);
    t.strictSame(
      offers.map((offer) => book.reasonOf(offer)),
      tokens.map((token) => (token === weth ? 0 : 7)),
    );
    const asked = proxy.requests.filter(({ method }) => method === 'eth_call').length;
    t.ok(asked < 10, `${asked} calls`);
  });
});
