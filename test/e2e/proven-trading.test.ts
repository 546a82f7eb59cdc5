import { OrderbookClient } from 'quotebook/client';
import { Trader, type TradingWallet } from 'quotebook/client/trading';
import t, { type Test } from 'tap';
import { createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { DevAccount } from '../../src/chain/dev/dev-client.js';
import type { Pool } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { documentedPorts } from './documented-network.js';
import { startTestService } from './running-service.js';

/** Traders whose keys have no scope, on a service that shows private quotes to proven takers alone. */
const running = await startTestService({ privacy: 'proven', limits: { wsHeartbeatMs: 50 } });
t.teardown(() => running.stop());
const { chain, keys } = running;
const market = new Market(chain);
const maker = privateKeyToAccount(market.maker.privateKey);
const taker = privateKeyToAccount(market.taker.privateKey);

async function connect(t: Test, scopes: ['takers:all'] | [] = []): Promise<OrderbookClient> {
  const { key: apiKey } = await keys.create('paid', t.name, scopes);
  const chainId = String(chain.chainId);
  const client = new OrderbookClient({ url: running.httpUrl, apiKey, chainId }, documentedPorts);
  t.teardown(() => client.close());
  return client;
}

function trader(client: OrderbookClient, { privateKey }: DevAccount): Trader {
  const account = privateKeyToAccount(privateKey);
  const wallet: TradingWallet = createWalletClient({
    account,
    chain: market.client.chain,
    transport: http(chain.rpcUrl),
  });
  const { erc20Router } = chain.contracts;
  return new Trader({ client, wallet, erc20Router, timeouts: { pollMs: 10, feedMs: 10_000 } });
}

const quoted = ({ poolAddress, poolKey }: Pool) => ({
  poolAddress,
  poolKey: { ...poolKey, strike: poolKey.strike.toString() },
});

/** An ask of the maker for one contract; `isPrivate`: to the taker. */
async function post(client: OrderbookClient, pool: Pool, price: bigint, isPrivate: boolean) {
  const terms = { side: 'ask', price, size: ONE, ...(isPrivate && { taker: taker.address }) } as const;
  const { quoteId, posted } = await client.signQuote(maker, quoted(pool), terms);
  const { created, failed } = await client.rest.postQuotes([posted]);
  if (created.length !== 1) throw new Error(JSON.stringify(failed));
  return quoteId;
}

await t.test('a taker that has signed in plans, approves, and fills public and private quotes', async (t) => {
  const client = await connect(t);
  const pool = market.pool('testWETH', 1800n, true);
  const ids = [await post(client, pool, ONE / 20n, true), await post(client, pool, ONE / 10n, false)];
  const own = trader(client, market.taker);
  const terms = { side: 'ask', size: 2n * ONE, limitPrice: ONE } as const;
  await t.rejects(own.plan(quoted(pool), terms), { name: 'ApiError', status: 403, code: 'taker_not_proven' });
  await client.signIn({ account: taker });
  const plan = await own.plan(quoted(pool), terms);
  t.strictSame(
    plan.fills.map(({ quote }) => quote.quoteId),
    ids,
  );
  await own.approve(quoted(pool), plan.neededAllowance);
  const { failed, filled } = await own.fill(await own.plan(quoted(pool), terms));
  t.strictSame([failed, filled], [[], 2n * ONE]);
  const { validQuotes } = await client.rest.orders({ quoteIds: ids });
  t.strictSame(validQuotes, [], 'the service shows the fills');
});

await t.test('a maker without proof cancels public and private quotes by their ids', async (t) => {
  const [client, ofMakers] = [await connect(t), await connect(t, ['takers:all'])];
  const pools = [market.pool('testWETH', 1900n, true), market.pool('testWETH', 1600n, true)] as const;
  const [first, second] = [await post(client, pools[0], ONE / 20n, true), await post(client, pools[1], ONE, false)];
  const quotes = [
    { poolAddress: pools[0].poolAddress, quoteId: first },
    { poolAddress: pools[1].poolAddress, quoteId: second },
  ];
  t.equal((await ofMakers.rest.orders({ quoteIds: [first, second] })).validQuotes.length, 2);
  const listed = async ({ rest }: OrderbookClient): Promise<string[]> =>
    (await rest.ordersOf(market.maker.address)).validQuotes.map(({ quoteId }) => quoteId);
  t.strictSame((await listed(ofMakers)).sort(), [first, second].sort());
  t.strictSame(await listed(client), [second], 'public ones alone without proof and scope');
  t.equal((await trader(client, market.maker).cancel(quotes)).length, 2);
  t.equal((await ofMakers.rest.orders({ quoteIds: [first, second] })).validQuotes.length, 0);
});

await t.test('all quotes are cancelled that the key may see: private ones with the scope takers:all', async (t) => {
  const [client, ofMakers] = [await connect(t), await connect(t, ['takers:all'])];
  const pool = market.pool('WBTC', 30_000n, true);
  const [hidden, shown] = [await post(client, pool, ONE / 20n, true), await post(client, pool, ONE / 10n, false)];
  const live = async () => {
    const { validQuotes } = await ofMakers.rest.orders({ quoteIds: [hidden, shown] });
    return validQuotes.map(({ quoteId }) => quoteId);
  };
  t.equal((await trader(client, market.maker).cancelAll()).length, 1);
  t.strictSame(await live(), [hidden]);
  t.equal((await trader(ofMakers, market.maker).cancelAll({ poolAddress: pool.poolAddress })).length, 1);
  t.strictSame(await live(), []);
});

await t.test('a maker that has signed in lists and cancels all its quotes, private ones too', async (t) => {
  const client = await connect(t);
  const pool = market.pool('WBTC', 30_000n, true);
  const ids = [await post(client, pool, ONE / 20n, true), await post(client, pool, ONE / 10n, false)];
  const own = { provider: maker.address, poolAddress: pool.poolAddress, taker: '*' } as const;
  await t.rejects(client.rest.orders(own), { name: 'ApiError', code: 'missing_scope' });
  await client.signIn({ account: maker });
  const listed = async () => (await client.rest.orders(own)).validQuotes;
  t.same(new Set((await listed()).map(({ quoteId }) => quoteId)), new Set(ids));
  t.equal((await trader(client, market.maker).cancelAll({ poolAddress: pool.poolAddress })).length, 1);
  t.strictSame(await listed(), []);
});
