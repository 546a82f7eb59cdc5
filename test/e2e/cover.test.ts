import t from 'tap';
import { encodeFunctionData } from 'viem';
import { OrderbookClient } from '../../src/client/node.js';
import { erc20Abi } from '../../src/chain/contracts/abi.js';
import type { DevAccount } from '../../src/chain/dev/dev-client.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import type { OrderbookSnapshot } from '../../src/wire/feed-messages.js';
import type { CoverTerms } from '../../src/wire/orderbook.js';
import { Market, ONE } from '../chain/dev/market.js';
import { type QuoteTerms, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const { taker } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);
const calls = chain.pools.filter(({ poolKey }) => poolKey.isCallPool);
const puts = chain.pools.filter(({ poolKey }) => !poolKey.isCallPool);
/** A pool in which nothing happened yet. */
function fresh(pools: Pool[]): Pool {
  const pool = pools.pop();
  if (pool === undefined) throw new Error('each test has a pool');
  return pool;
}

async function post(maker: DevAccount, pool: Pool, ...offers: readonly QuoteTerms[]): Promise<void> {
  const quotes = await Promise.all(offers.map((offer) => signQuote(maker.privateKey, pool, offer)));
  const { status, body } = await rest.post('/quotes', quotes);
  if (status !== 201) throw new Error(JSON.stringify(body));
}

async function cover(pool: Pool, side: 'bid' | 'ask', size: bigint, more = ''): Promise<CoverTerms> {
  const { poolAddress } = pool;
  const query = `chainId=${chain.chainId}&poolAddress=${poolAddress}&side=${side}&size=${size}${more}`;
  const { status, body } = await rest.get(`/quotes/cover?${query}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as unknown as CoverTerms;
}

/** The taker approves what the answer names, and nothing more. */
async function approve({ approval }: CoverTerms): Promise<Hex> {
  if (approval === null) throw new Error('there is nothing to approve');
  const args = [approval.spender, BigInt(approval.amount)] as const;
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args });
  await market.send(taker.address, approval.token, data);
  return approval.token;
}

const offers = [
  { price: ONE / 20n, size: ONE / 2n },
  { price: ONE / 19n + 7n, size: ONE / 3n },
  { price: ONE / 10n, size: 3n * ONE },
];

for (const [name, pool, side] of [
  ['calls bought', fresh(calls), 'ask'],
  ['puts bought', fresh(puts), 'ask'],
  ['calls sold', fresh(calls), 'bid'],
  ['puts sold', fresh(puts), 'bid'],
] as const) {
  await t.test(`${name}: the bundle takes exactly what the cover says, under exactly its approval`, async (t) => {
    const prices = side === 'ask' ? offers : offers.map(({ size }, i) => ({ size, price: ONE / BigInt(10 + i) }));
    await post(market.maker, pool, ...prices.map((offer) => ({ ...offer, isBuy: side === 'bid' })));
    const found = await cover(pool, side, ONE);
    t.equal(found.legs.length, 3);
    t.strictSame([found.covered, found.shortfall, found.isDeployed], [ONE.toString(), '0', true]);
    const token = await approve(found);
    const { bundle } = found;
    if (bundle === null) throw new Error('three legs have a bundle');
    const [change] = await market.changes(token, [taker.address], () =>
      market.send(taker.address, bundle.to, bundle.data),
    );
    t.equal(change, -found.legs.reduce((sum, { pays }) => sum + BigInt(pays), 0n));
    t.equal(found.approval?.amount, (-(change ?? 0n)).toString());
    t.equal(side === 'ask' ? await market.longs(pool, taker) : await market.shorts(pool, taker), ONE);
  });
}

await t.test('a single leg is filled by its own call, and there is no bundle', async (t) => {
  const call = fresh(calls);
  await post(market.maker, call, { price: ONE / 20n, size: 2n * ONE });
  const found = await cover(call, 'ask', ONE / 4n);
  const [leg] = found.legs;
  if (leg === undefined) throw new Error('the quote covers the size');
  t.equal(found.bundle, null);
  t.strictSame([leg.take, leg.quote.fillableSize], [(ONE / 4n).toString(), (2n * ONE).toString()]);
  await approve(found);
  await market.send(taker.address, leg.call.to, leg.call.data);
  t.equal(await market.longs(call, taker), ONE / 4n);
});

await t.test('a size that the book does not cover has a shortfall, and none has null prices', async (t) => {
  const put = fresh(puts);
  const empty = await cover(put, 'ask', 5n);
  t.match(empty, { covered: '0', shortfall: '5', averagePrice: null, worstPrice: null, deadline: null });
  t.match(empty, { approval: null, bundle: null, legs: [] });
  const { epoch } = (await rest.get(`/tickers?chainId=${chain.chainId}`)).body;
  t.equal(empty.epoch, epoch, 'of the log that the feed numbers');
});

await t.test("a taker's private quotes take part when the taker is named", async (t) => {
  const put = fresh(puts);
  await post(market.maker, put, { price: ONE / 30n, taker: taker.address });
  t.equal((await cover(put, 'ask', ONE)).legs.length, 0);
  t.equal((await cover(put, 'ask', ONE, `&taker=${taker.address}`)).legs.length, 1);
  t.equal((await cover(put, 'ask', ONE, `&taker=${taker.address}&provider=${taker.address}`)).legs.length, 0);
});

await t.test('the client library reads the same cover', async (t) => {
  const pool = fresh(calls);
  await post(market.maker, pool, { price: ONE / 20n });
  const client = new OrderbookClient({
    url: running.httpUrl,
    apiKey: running.apiKey,
    chainId: String(chain.chainId),
  });
  t.teardown(() => client.close());
  const { poolAddress } = pool;
  const found = await client.rest.cover({ poolAddress, side: 'ask', size: ONE.toString() });
  t.strictSame(found, await cover(pool, 'ask', ONE));
});

await t.test(
  'a pool goes by the name of its option as well: in the query, on the socket and for its book',
  async (t) => {
    const { body: named } = await rest.get('/instruments');
    const [option] = named as unknown as readonly { readonly instrument: string; readonly poolAddress: Hex }[];
    if (option === undefined) throw new Error('There is no instrument');
    const { instrument, poolAddress } = option;
    const ask = `chainId=${chain.chainId}&side=ask&size=${ONE}`;
    const byName = await rest.get(`/quotes/cover?${ask}&instrument=${instrument}`);
    const byAddress = await rest.get(`/quotes/cover?${ask}&poolAddress=${poolAddress}`);
    t.equal(byName.status, 200);
    t.strictSame(byName.body, byAddress.body);
    const refused = await rest.get(`/quotes/cover?${ask}&instrument=NO-SUCH`);
    t.strictSame([refused.status, refused.body], [400, { message: 'No deployed pool is named NO-SUCH' }]);
    const both = await rest.get(`/quotes/cover?${ask}&instrument=${instrument}&poolAddress=${poolAddress}`);
    t.strictSame([both.status, both.body], [400, { message: 'Name the pool by either poolAddress or instrument' }]);

    const socket = await SocketClient.open(running.wsUrl, 'quotebook.v2.json');
    t.teardown(() => socket.end());
    await socket.auth(running.apiKey);
    const follow = (pool: object) => ({
      type: 'FILTER',
      channel: 'COVER',
      body: { chainId: String(chain.chainId), side: 'ask', size: ONE.toString(), ...pool },
    });
    const { body: acknowledged } = (await socket.ask(follow({ instrument }))) as { body?: { keys: readonly string[] } };
    t.match(acknowledged?.keys, [new RegExp(poolAddress)]);
    t.match(await socket.next(), { type: 'COVER', key: acknowledged?.keys[0] });
    t.match(await socket.ask(follow({ instrument: 'NO-SUCH' })), { type: 'ERROR', code: 'pool_not_deployed' });
    t.match(await socket.ask(follow({})), { type: 'ERROR', code: 'invalid_parameter' });
    t.match(await socket.ask(follow({ instrument, poolAddress })), { type: 'ERROR', code: 'invalid_parameter' });
  },
);

await t.test('the book of a pool is the snapshot of ORDERBOOK', async (t) => {
  const pool = fresh(calls);
  const { poolAddress } = pool;
  const taken = { taker: taker.address };
  await post(market.maker, pool, { price: ONE / 20n }, { price: ONE / 10n }, { price: ONE / 30n, ...taken });
  const socket = await SocketClient.open(running.wsUrl, 'quotebook.v2.json');
  t.teardown(() => socket.end());
  await socket.auth(running.apiKey);
  const chainId = String(chain.chainId);
  for (const depth of [1, 4000]) {
    await socket.ask({ type: 'FILTER', channel: 'ORDERBOOK', body: { chainId, poolAddress, depth } });
    const { body, levelsHash, seq } = (await socket.next()) as unknown as OrderbookSnapshot;
    t.equal(body.asks.length, Math.min(depth, 2), 'public quotes alone');
    const { body: instruments } = await rest.get('/instruments');
    const listed = instruments as unknown as readonly { readonly instrument: string; readonly poolAddress: Hex }[];
    const name = listed.find((option) => option.poolAddress === poolAddress)?.instrument ?? '';
    for (const pathOf of [poolAddress, poolAddress.toUpperCase().replace('0X', '0x'), name]) {
      const book = await rest.get(`/book/${pathOf}?chainId=${chainId}&depth=${depth}`);
      t.match(book, { status: 200, body: { poolAddress, instrument: name, levelsHash, ...body, seq } }, pathOf);
    }
  }
  const unknown = `0x${'ab'.repeat(20)}`;
  t.match(await rest.get(`/book/${unknown}?chainId=${chainId}`), {
    status: 200,
    body: { poolAddress: unknown, instrument: null, bids: [], asks: [] },
  });
  for (const wrong of [`${poolAddress}?chainId=42161`, `${poolAddress}?chainId=${chainId}&depth=4001`, poolAddress]) {
    t.equal((await rest.get(`/book/${wrong}`)).status, 400, wrong);
  }
  t.match(await rest.get(`/book/NO-SUCH?chainId=${chainId}`), {
    status: 400,
    body: { message: 'No deployed pool is named NO-SUCH' },
  });
});

await t.test('a query that is wrong is refused', async (t) => {
  for (const query of ['', 'chainId=1', `chainId=${chain.chainId}&poolAddress=0x1&side=ask&size=1`]) {
    t.equal((await rest.get(`/quotes/cover?${query}`)).status, 400, query);
  }
});
