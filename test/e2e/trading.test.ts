import { OrderbookClient, UnknownPoolError } from 'quotebook/client';
import {
  ContractRefusedError,
  FillInterruptedError,
  NotEnoughMeansError,
  NothingHeldError,
  NotShownError,
  Trader,
  type TraderOptions,
} from 'quotebook/client/trading';
import t, { type Test } from 'tap';
import { custom, type Transport } from 'viem';
import { LONG, SHORT } from '../../src/chain/contracts/abi.js';
import { tradedPoolAbi } from '../../src/client/trading/abi.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RpcProxy, type RpcRequest, type Trick } from '../chain/rpc-proxy.js';
import { untilAnswer } from '../until.js';
import { documentedPorts } from './documented-network.js';
import { signQuote, type QuoteTerms } from './maker.js';
import { startTestService } from './running-service.js';

const running = await startTestService({ limits: { wsHeartbeatMs: 50 } });
t.teardown(() => running.stop());
const { chain, apiKey } = running;
const market = new Market(chain);
const { maker } = market;
const timeouts = { pollMs: 10, feedMs: 10_000 };
const notShown = { pollMs: 10, feedMs: 300 };

function connect(t: Test): OrderbookClient {
  const client = new OrderbookClient({ url: running.httpUrl, apiKey, chainId: '421613' }, documentedPorts);
  t.teardown(() => client.close());
  return client;
}

/** The part of the client that a trader uses. */
function port(client: OrderbookClient): TraderOptions['client'] {
  return {
    rest: client.rest,
    followEvents: (filter) => client.followEvents(filter),
    followQuotes: (filter) => client.followQuotes(filter),
    onHeartbeat: (listener) => client.onHeartbeat(listener),
  };
}

function trader(client: TraderOptions['client'], account = market.taker, timeoutsOf = timeouts): Trader {
  const { erc20Router } = chain.contracts;
  return new Trader({ client, wallet: market.walletOf(account), erc20Router, timeouts: timeoutsOf });
}

/** As the kit takes it. */
const quoted = ({ poolAddress, poolKey }: Pool) => ({
  poolAddress,
  poolKey: { ...poolKey, strike: poolKey.strike.toString() },
});

/** The pool of an account's expired position, which no list of pools has any more. */
async function expired(client: OrderbookClient, holder: Hex, pool: Pool): Promise<{ poolAddress: Hex }> {
  const positions = async () => (await client.rest.optionBalances(holder)).expired;
  const isOfPool = ({ token_address: address }: { token_address: Hex }): boolean => address === pool.poolAddress;
  const found = (await untilAnswer(positions, (held) => held.some(isOfPool))).find(isOfPool);
  if (found === undefined) throw new Error('there is one by now');
  return { poolAddress: found.token_address };
}

/** Posts quotes of the maker, and resolves to their ids. */
async function post(client: OrderbookClient, pool: Pool, ...offers: QuoteTerms[]) {
  const signed = await Promise.all(offers.map((offer) => signQuote(maker.privateKey, pool, offer)));
  const { created, failed } = await client.rest.postQuotes(
    signed as unknown as Parameters<OrderbookClient['rest']['postQuotes']>[0],
  );
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
  return created.map(({ quoteId }) => quoteId);
}

const buy = (size: bigint, limitPrice = ONE) => ({ side: 'ask', size, limitPrice }) as const;
const sell = (size: bigint, limitPrice = 0n) => ({ side: 'bid', size, limitPrice }) as const;

t.test('a pool is found by the name of its option', async (t) => {
  const client = connect(t);
  const pool = market.pool('testWETH', 1800n, true);
  const day = new Date(pool.poolKey.maturity * 1000).toUTCString().toUpperCase();
  const [, date = '', month = '', year = ''] = day.split(/[, ]+/);
  const name = `testWETH-USDC-${date}${month}${year.slice(2)}-1800-C`;
  t.equal((await client.pools.byName(name)).poolAddress, pool.poolAddress);
  await t.rejects(client.pools.byName('WETH-USDC-01JAN20-1-C'), UnknownPoolError);
  t.match(await client.pools.byAddress(pool.poolAddress), quoted(pool));
});

t.test('a buyer covers a size within its limit, and the contract takes what the plan said', async (t) => {
  const client = connect(t);
  const pool = market.pool('testWETH', 1800n, true);
  const [cheap = '0x'] = await post(client, pool, { price: ONE / 20n }, { price: ONE / 10n }, { price: ONE / 5n });
  const taker = trader(client);
  const plan = await taker.plan(quoted(pool), buy((3n * ONE) / 2n, ONE / 10n));
  t.match(plan, { covered: (3n * ONE) / 2n, shortfall: 0n, worstPrice: ONE / 10n });
  let result: Awaited<ReturnType<Trader['fill']>> | undefined;
  const [change] = await market.changes(market.token('testWETH'), [taker.address], async () => {
    result = await taker.fill(plan);
  });
  t.equal(change, plan.change);
  t.match(result, { failed: [], filled: (3n * ONE) / 2n, shortfall: 0n });
  t.strictSame(
    result?.fills.map(({ size, premium, fee }) => ({ size, premium, fee })),
    plan.fills.map(({ size, premium, fee }) => ({ size, premium, fee })),
  );
  const { validQuotes } = await client.rest.orders({ quoteIds: [cheap] });
  t.strictSame(validQuotes, [], 'the service shows the fill once it resolves');
});

t.test('a limit leaves a part uncovered', async (t) => {
  const client = connect(t);
  const pool = market.pool('testWETH', 1900n, true);
  await post(client, pool, { price: ONE / 20n }, { price: ONE / 5n });
  const taker = trader(client);
  const plan = await taker.plan(quoted(pool), buy(2n * ONE, ONE / 10n));
  t.match(plan, { covered: ONE, shortfall: ONE });
  t.match(await taker.fill(plan), { filled: ONE, shortfall: ONE });
});

t.test('discounts, tokens of six decimals and closing a position are planned to the unit', async (t) => {
  const client = connect(t);
  const pool = market.pool('testWETH', 2000n, false);
  const taker = trader(client);
  await market.setDiscount(taker.address, 123_456_789_012_345_678n);
  t.teardown(() => market.setDiscount(taker.address, 0n));
  const odd = 123_456_789_012_345_679n;
  await post(client, pool, { price: odd, size: odd }, { price: odd / 3n, size: 3n * odd }, { isBuy: true, price: odd });
  const perform = async (terms: Parameters<Trader['plan']>[1]): Promise<void> => {
    const plan = await taker.plan(quoted(pool), terms);
    const usdc = market.token('USDC');
    const changes = await market.changes(usdc, [taker.address], async () => {
      const { fills } = await taker.fill(plan);
      t.strictSame(
        fills.map(({ premium, fee }) => [premium, fee]),
        plan.fills.map(({ premium, fee }) => [premium, fee]),
      );
    });
    t.strictSame(changes, [plan.change], terms.side);
  };
  await perform(buy(2n * odd));
  await perform(sell(ONE));
});

t.test('a taker without means is refused before anything is sent', async (t) => {
  const client = connect(t);
  const pool = market.pool('testWETH', 2000n, true);
  await post(client, pool, { price: ONE / 2n });
  const taker = trader(client, market.stranger);
  const weth = market.token('testWETH');
  const had = await market.balance(weth, taker.address);
  const nonce = () => market.client.getTransactionCount({ address: taker.address });

  await taker.approve(quoted(pool), 1n);
  const before = await nonce();
  const unapproved = await taker.plan(quoted(pool), buy(ONE));
  await t.rejects(taker.fill(unapproved), NotEnoughMeansError);
  await taker.approve(quoted(pool), 2n ** 256n - 1n);
  await market.transfer(taker.address, weth, maker.address, had);
  const poor = await taker.plan(quoted(pool), buy(ONE));
  const error = await taker.fill(poor).catch((reason: unknown) => reason);
  t.match(error, { name: 'NotEnoughMeansError', token: pool.poolKey.base, balance: 0n, needed: poor.neededBalance });
  t.equal(await nonce(), before + 2, 'an approval and the transfer');
});

t.test('what a pool is asked before it is deployed says that there is no contract', async (t) => {
  const poolAddress = `0x${'12'.repeat(20)}` as const;
  const { poolKey } = quoted(market.pool('testWETH', 2000n, true));
  const taker = trader(connect(t));
  const noContract = { name: 'NoContractError', message: new RegExp(poolAddress) };
  await t.rejects(taker.plan({ poolAddress, poolKey }, buy(ONE)), noContract);
  await t.rejects(taker.exercise({ poolAddress }), noContract);
  await t.rejects(taker.settle({ poolAddress }), noContract);
});

t.test('a quote that is gone is listed as failed, and the others are filled', async (t) => {
  const client = connect(t);
  const pool = market.pool('WBTC', 30_000n, true);
  const [gone = '0x'] = await post(client, pool, { price: ONE / 20n }, { price: ONE / 10n });
  const taker = trader(client);
  const plan = await taker.plan(quoted(pool), buy(2n * ONE));
  await market.cancel(maker.address, pool.poolAddress, [gone]);
  t.match(await taker.fill(plan), {
    failed: [{ quoteId: gone, reason: 'Pool__QuoteOBCancelled' }],
    filled: ONE,
    shortfall: ONE,
  });
});

t.test('a quote that goes after its dry run, before the gas is estimated, is listed as failed, too', async (t) => {
  const client = connect(t);
  const pool = market.pool('WBTC', 30_000n, true);
  const [gone = '0x'] = await post(client, pool, { price: ONE / 20n }, { price: ONE / 10n });
  const node = market.transport()({});
  let isGone = false;
  const request: typeof node.request = async (asked) => {
    if (['eth_fillTransaction', 'eth_estimateGas'].includes(asked.method) && !isGone) {
      isGone = true;
      await market.cancel(maker.address, pool.poolAddress, [gone]);
    }
    return node.request(asked);
  };
  const wallet = market.walletOf(market.taker, custom({ request }, { retryCount: 0 }));
  const taker = new Trader({ client, wallet, erc20Router: chain.contracts.erc20Router, timeouts });
  const nonce = () => market.client.getTransactionCount({ address: taker.address });
  const before = await nonce();
  t.match(await taker.fill(await taker.plan(quoted(pool), buy(2n * ONE))), {
    failed: [{ quoteId: gone, reason: 'Pool__QuoteOBCancelled' }],
    filled: ONE,
    shortfall: ONE,
  });
  t.equal(await nonce(), before + 1);
});

/** A taker whose node shows `trick` from its second transaction on. */
async function troubledTaker(t: Test, trick: (request: RpcRequest, hash: unknown) => Trick) {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  let sent = 0;
  let hash: unknown;
  proxy.trick = (request) => {
    const isSending = request.method === 'eth_sendRawTransaction';
    if (isSending) sent += 1;
    if (isSending && sent === 2) return { rewrite: (result) => (hash = result) };
    return sent === 0 ? 'PASS' : trick(request, hash);
  };
  const { erc20Router } = chain.contracts;
  const short = { pollMs: 10, feedMs: 10_000, minedMs: 1_000 };
  const wallet = market.walletOf(market.taker, market.transport(proxy.url));
  const taker = new Trader({ client: connect(t), wallet, erc20Router, timeouts: short });
  return { taker, secondHash: () => hash };
}

/** The failure of a fill of two quotes, of one contract each, after the first of them was filled. */
async function interruptedFill(t: Test, pool: Pool, taker: Trader): Promise<FillInterruptedError> {
  const [first] = await post(connect(t), pool, { price: ONE / 20n }, { price: ONE / 10n });
  const plan = await taker.plan(quoted(pool), buy(2n * ONE));
  t.equal(plan.fills.length, 2);
  const error = await taker.fill(plan).catch((reason: unknown) => reason);
  if (!(error instanceof FillInterruptedError)) throw new Error('it was not interrupted', { cause: error });
  t.match(error, { failed: [], filled: ONE, shortfall: ONE, fills: [{ quoteId: first, size: ONE }] });
  const [fill] = error.fills;
  t.ok(fill);
  if (fill) t.equal((await market.client.getTransactionReceipt({ hash: fill.hash })).status, 'success');
  return error;
}

t.test('a fill whose node fails in the middle says what it has filled', async (t) => {
  const { taker } = await troubledTaker(t, ({ method }) =>
    method === 'eth_call' ? { status: 502, body: 'bad gateway' } : 'PASS',
  );
  const { pending, cause } = await interruptedFill(t, market.pool('WBTC', 30_000n, true), taker);
  t.equal(pending, null);
  t.match(cause, { message: /502/ });
});

t.test('a fill that waits for a block too long names the transaction that may still come', async (t) => {
  const { taker, secondHash } = await troubledTaker(t, ({ method, params }, hash) =>
    method === 'eth_getTransactionReceipt' && params[0] === hash ? { rewrite: () => null } : 'PASS',
  );
  const { pending, cause } = await interruptedFill(t, market.pool('WBTC', 30_000n, true), taker);
  t.equal(pending, secondHash());
  t.match(cause, { name: 'NotMinedError', hash: secondHash() });
});

/** Sends a transaction through it, and checks that the chain has that one and no other. */
async function sendsOnce(t: Test, transport: Transport, amount: bigint): Promise<void> {
  const wallet = market.walletOf(market.taker, transport);
  const taker = new Trader({ client: connect(t), wallet, erc20Router: chain.contracts.erc20Router, timeouts });
  const pool = quoted(market.pool('testWETH', 1900n, true));
  const count = () => market.client.getTransactionCount({ address: taker.address });
  const before = await count();
  const { hash } = await taker.approve(pool, amount);
  t.equal((await market.client.getTransaction({ hash })).nonce, before);
  t.equal(await count(), before + 1);
  t.equal((await taker.collateral(pool)).allowance, amount);
}

t.test('a transaction is waited for where the answer to its sending is lost', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? 'CUT_AFTER' : 'PASS');
  await sendsOnce(t, market.transport(proxy.url), 10n ** 20n);
});

t.test('a transaction is waited for where the node is asked twice, and refuses it as known', async (t) => {
  const node = market.transport()({});
  const request: typeof node.request = async (asked) => {
    if (asked.method === 'eth_sendRawTransaction') await node.request(asked);
    return node.request(asked);
  };
  await sendsOnce(t, custom({ request }, { retryCount: 0 }), 10n ** 20n + 1n);
});

t.test('a transaction that may have been sent is named, and one that the node refuses is not', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const { erc20Router } = chain.contracts;
  const short = { pollMs: 10, feedMs: 10_000, minedMs: 300 };
  const wallet = market.walletOf(market.taker, market.transport(proxy.url));
  const taker = new Trader({ client: connect(t), wallet, erc20Router, timeouts: short });
  const pool = quoted(market.pool('testWETH', 1900n, true));
  proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? 'CUT' : 'PASS');
  await t.rejects(taker.approve(pool, 10n ** 20n), { name: 'NotMinedError', hash: /^0x[0-9a-f]{64}$/ });
  const refusal = { error: { code: -32_000, message: 'transaction type not supported' } };
  proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? refusal : 'PASS');
  await t.rejects(taker.approve(pool, 10n ** 20n), { name: 'ContractFunctionExecutionError' });
});

t.test('fills that the feed does not show in time are named beside what was filled', async (t) => {
  const client = connect(t);
  const pool = market.pool('WBTC', 32_000n, true);
  await post(client, pool, { price: ONE / 20n }, { price: ONE / 10n });
  const { poolAddress } = market.pool('WBTC', 32_000n, false);
  const deaf = { ...port(client), followEvents: () => client.followEvents({ poolAddress }) };
  const taker = trader(deaf, market.taker, notShown);
  const { notShown: unseen, fills, filled } = await taker.fill(await taker.plan(quoted(pool), buy(2n * ONE)));
  t.equal(filled, 2n * ONE);
  t.strictSame(
    unseen,
    fills.map(({ hash }) => hash),
  );
});

t.test('a maker cancels some quotes, then all of them, private and unfunded ones too', async (t) => {
  const client = connect(t);
  const [call, put] = [market.pool('testWETH', 1600n, true), market.pool('testWETH', 1600n, false)];
  const own = trader(client, maker);
  const [first = '0x'] = await post(client, call, {}, {}, { taker: market.taker.address });
  await post(client, put, { isBuy: true }, { isBuy: true, taker: market.taker.address });
  t.equal((await own.cancel([{ poolAddress: call.poolAddress, quoteId: first }])).length, 1);
  const live = async () => {
    const taker = market.taker.address;
    const found = await Promise.all([call, put].map(({ poolAddress }) => client.rest.orders({ poolAddress, taker })));
    return found.map(({ validQuotes, invalidQuotes }) => validQuotes.length + invalidQuotes.length);
  };
  t.strictSame(await live(), [2, 2]);
  await market.approve(maker.address, market.token('USDC'), chain.contracts.erc20Router, 0n);
  await own.cancelAll({ poolAddress: call.poolAddress });
  t.strictSame(await live(), [0, 2]);
  await own.cancelAll();
  await market.approve(maker.address, market.token('USDC'), chain.contracts.erc20Router);
  t.strictSame(await live(), [0, 0]);
  t.strictSame(await own.cancelAll(), [], 'nothing is left to be cancelled');
});

t.test('a heartbeat names a block as read once the book has its events', async (t) => {
  const client = connect(t);
  const { poolAddress } = market.pool('testWETH', 1600n, true);
  // Heartbeats come to a client that follows something.
  await client.followQuotes({ poolAddress }).whenLive();
  for (let round = 0; round < 3; round++) {
    const quoteIds = await post(client, market.pool('testWETH', 1600n, true), {});
    const { transactions } = trader(client, maker);
    const cancel = { address: poolAddress, abi: tradedPoolAbi, functionName: 'cancelQuotesOB', args: [quoteIds] };
    const { blockNumber } = await transactions.send(cancel);
    await new Promise<void>((resolve) => {
      const stop = client.onHeartbeat(({ chains: { settlement } }) => {
        if ((settlement.readTo ?? -1) < blockNumber) return;
        stop();
        resolve();
      });
    });
    t.strictSame((await client.rest.orders({ quoteIds })).validQuotes, []);
  }
});

t.test('a transaction that the feed does not show in time is reported with its hash', async (t) => {
  const client = connect(t);
  const pool = market.pool('WBTC', 32_000n, false);
  const taker = trader(client);
  const deaf = trader({ ...port(client), onHeartbeat: () => () => undefined }, market.taker, notShown);
  await taker.approve(quoted(pool), 2n ** 256n - 1n);
  const error = await deaf.approve(quoted(pool), 2n ** 256n - 1n).catch((reason: unknown) => reason);
  if (!(error instanceof NotShownError)) throw new Error('it was shown');
  t.equal((await market.client.getTransactionReceipt({ hash: error.hash })).status, 'success');
});

t.test('after the maturity longs are exercised and shorts settled', async (t) => {
  const client = connect(t);
  const pool = market.pool('testWETH', 1700n, true);
  const [own, taker] = [trader(client, maker), trader(client)];
  await post(client, pool, { size: 2n * ONE });
  await taker.fill(await taker.plan(quoted(pool), buy(2n * ONE)));
  t.strictSame(await Promise.all([market.longs(pool, market.taker), market.shorts(pool, maker)]), [2n * ONE, 2n * ONE]);
  await t.rejects(taker.exercise(quoted(pool)), ContractRefusedError);
  await t.rejects(own.exercise(quoted(pool)), NothingHeldError);

  await market.setSettlementPrice(pool.poolKey, 2000n * ONE);
  await market.moveTimeTo(pool.poolKey.maturity);
  const weth = market.token('testWETH');
  let paid = { value: 0n, collateral: 0n };
  const changes = await market.changes(weth, [taker.address, own.address], async () => {
    const { value } = await taker.exercise(await expired(client, taker.address, pool));
    const { collateral } = await own.settle(await expired(client, own.address, pool));
    paid = { value, collateral };
  });
  t.strictSame(changes, [paid.value, paid.collateral]);
  // Of two contracts 0.15 each, less 0.3 % of two.
  t.strictSame(paid, { value: (3n * ONE) / 10n - (6n * ONE) / 1000n, collateral: (17n * ONE) / 10n });
  t.strictSame(
    await Promise.all([
      market.contracts(pool.poolAddress, taker.address, LONG),
      market.contracts(pool.poolAddress, own.address, SHORT),
    ]),
    [0n, 0n],
  );
  await t.rejects(taker.exercise(quoted(pool)), NothingHeldError);
});
