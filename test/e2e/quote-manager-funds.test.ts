import { type Hex, OrderbookClient, signWithdrawal } from 'quotebook/client';
import { type ManagerEvent, QuoteManager, Trader } from 'quotebook/client/trading';
import t, { type Test } from 'tap';
import { createWalletClient, encodeFunctionData, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { erc20Abi } from '../../src/chain/contracts/abi.js';
import { Market, ONE } from '../chain/dev/market.js';
import { until, untilAnswer } from '../until.js';
import { startTestService } from './running-service.js';

/** A maker whose funds leave and return while a manager quotes. */
const service = await startTestService({ limits: { lowerHeadMs: 100 } });
t.teardown(() => service.stop());
const { chain, httpUrl: url, apiKey } = service;
const market = new Market(chain);
const { client: node, maker, stranger, taker } = market;
const client = new OrderbookClient({ url, apiKey, chainId: '421613' });
t.teardown(() => client.close());
const account = privateKeyToAccount(maker.privateKey);
const wallet = createWalletClient({ account, chain: node.chain, transport: http(chain.rpcUrl) });
const { erc20Router } = chain.contracts;
const trader = new Trader({ client, wallet, erc20Router, timeouts: { pollMs: 10 } });
const weth = market.token('testWETH');
const terms = { side: 'ask', price: ONE / 10n, size: ONE } as const;

const quoted = (strike: bigint) => {
  const { poolAddress, poolKey } = market.pool('testWETH', strike, true);
  return { poolAddress, poolKey: { ...poolKey, strike: poolKey.strike.toString() } };
};

async function takeFunds(): Promise<void> {
  await market.transfer(maker.address, weth, stranger.address, await market.balance(weth, maker.address));
}

async function returnFunds(): Promise<void> {
  await market.transfer(stranger.address, weth, maker.address, 100n * ONE);
}

/** Takes the funds in the block of the publication that `post` asks for: they were there when the service checked it. */
async function whileFundsGo(t: Test, post: () => unknown): Promise<void> {
  const amount = await market.balance(weth, maker.address);
  await node.setAutomine(false);
  try {
    post();
    const { pending } = await untilAnswer(
      () => node.getTxpoolStatus(),
      (status) => status.pending > 0,
    );
    t.equal(pending, 1, 'the publication');
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [stranger.address, amount] });
    await node.sendTransaction({ account: maker.address, to: weth, data, gas: 500_000n });
    await node.mine({ blocks: 1 });
  } finally {
    await node.setAutomine(true);
  }
}

function managed(t: Test): { readonly manager: QuoteManager; readonly events: ManagerEvent[] } {
  const manager = new QuoteManager({ client, trader, finalityBlocks: 0, lookMs: 100 });
  const events: ManagerEvent[] = [];
  manager.onEvent((event) => events.push(event));
  t.teardown(() => manager.close(0).catch(() => undefined));
  return { manager, events };
}

/** Posts as another program of the maker would. */
async function postElsewhere(pool: ReturnType<typeof quoted>, named?: Hex) {
  const { quoteId, posted } = await client.signQuote(account, pool, { ...terms, ...(named && { taker: named }) });
  return { quoteId, answer: () => client.rest.postQuotes([posted]) };
}

/** Resolves when the manager, which is to offer nothing, has cancelled the quote. */
async function untilCancelled(events: readonly ManagerEvent[], quoteId: Hex): Promise<void> {
  await until(() => events.some((event) => event.type === 'CANCELLED' && event.quoteIds.includes(quoteId)), 20_000);
}

t.test('a quote that loses its funds on its way counts, and has no replacement', async (t) => {
  const pool = quoted(1600n);
  const { manager, events } = managed(t);
  await manager.start();
  const { price, size } = terms;
  await whileFundsGo(t, () => manager.setTarget(pool, { ask: { price, size } }));
  await until(() => events.some(({ type }) => type === 'REFUSED'));
  t.match(
    events.find(({ type }) => type === 'REFUSED'),
    { reason: 'InsufficientCollateralBalance' },
  );
  t.equal(manager.exposure(pool, 'ask'), size);
  await returnFunds();
  const { poolAddress } = pool;
  const orders = () => client.rest.orders({ poolAddress });
  await untilAnswer(orders, ({ validQuotes }) => validQuotes.length === 1);
  await manager.close();
  t.strictSame(await orders(), { validQuotes: [], invalidQuotes: [] });
});

t.test('a quote of another program belongs to the manager once its funds return', async (t) => {
  const pool = quoted(1700n);
  const { manager, events } = managed(t);
  manager.setTarget(pool, null);
  await manager.start();
  const { quoteId, answer } = await postElsewhere(pool);
  let failed: unknown;
  await whileFundsGo(t, () => {
    void answer().then((result) => ({ failed } = result));
  });
  await until(() => failed !== undefined);
  t.match(failed, [{ reason: 'InsufficientCollateralBalance' }]);
  await returnFunds();
  await untilCancelled(events, quoteId);
});

/** Hides a quote of the maker: it can still be filled. */
async function postHidden(pool: ReturnType<typeof quoted>): Promise<Hex> {
  const { quoteId, answer } = await postElsewhere(pool);
  const { created } = await answer();
  if (created.length !== 1) throw new Error('the quote is not published');
  const deadline = Math.floor(Date.now() / 1000) + 300;
  const consent = { quoteIds: [quoteId], nonce: BigInt(quoteId), deadline };
  await client.rest.withdrawQuotes(await signWithdrawal(account, '421613', consent));
  return quoteId;
}

t.test('a withdrawn quote of an earlier run counts, since it may be filled, and close cancels it', async (t) => {
  const pool = quoted(1800n);
  const quoteId = await postHidden(pool);
  const { manager, events } = managed(t);
  const { price, size } = terms;
  manager.setTarget(pool, { ask: { price, size: 2n * size } });
  await manager.start();
  await until(() => events.some(({ type }) => type === 'POSTED'));
  t.equal(manager.exposure(pool, 'ask'), 2n * size);
  const posted = events.flatMap((event) => (event.type === 'POSTED' ? [event.quote.size] : []));
  t.strictSame(posted, [size], 'what the hidden quote leaves of the target');
  await manager.close();
  const cancelled = events.flatMap((event) => (event.type === 'CANCELLED' ? event.quoteIds : []));
  t.ok(cancelled.includes(quoteId));
  t.equal(cancelled.length, 2);
});

t.test('a withdrawn quote belongs to a manager whose target for its pool comes later', async (t) => {
  const pool = quoted(1600n);
  const quoteId = await postHidden(pool);
  const { manager, events } = managed(t);
  await manager.start();
  manager.setTarget(pool, null);
  await untilCancelled(events, quoteId);
});

t.test('a manager finds a private quote without funds of its earlier run', async (t) => {
  const pool = quoted(1900n);
  const { quoteId, answer } = await postElsewhere(pool, taker.address);
  t.equal((await answer()).created.length, 1);
  await takeFunds();
  await untilAnswer(
    () => client.rest.ordersOf(maker.address),
    ({ invalidQuotes }) => invalidQuotes.some(({ quote }) => quote.quoteId === quoteId),
  );
  const { manager, events } = managed(t);
  manager.setTarget(pool, null);
  await manager.start();
  await untilCancelled(events, quoteId);
});

t.test('close rejects for a quote that the book shows, though by the clock it has ended', async (t) => {
  await returnFunds();
  const pool = quoted(2000n);
  const { quoteId, answer } = await postElsewhere(pool);
  t.equal((await answer()).created.length, 1);
  const manager = new QuoteManager({ client, trader, finalityBlocks: 0, slackSeconds: -1_000_000, lookMs: 100 });
  manager.setTarget(pool, null);
  await manager.start();
  t.equal(manager.exposure(pool, 'ask'), 0n);
  await t.rejects(manager.close(500), { name: 'QuotesLeftError', quoteIds: [quoteId] });
});
