import { type Hex, OrderbookClient, ZERO_ADDRESS } from 'quotebook/client';
import { QuoteManager, type SentQuote, Trader } from 'quotebook/client/trading';
import t from 'tap';
import { createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { Market, ONE } from '../chain/dev/market.js';
import { until } from '../until.js';
import { startTestService } from './running-service.js';

/** A manager whose price for those who ask is better than its public one. */
const service = await startTestService({ limits: { lowerHeadMs: 100 } });
t.teardown(() => service.stop());
const { chain, httpUrl: url, apiKey } = service;
const market = new Market(chain);
const { client: node, maker, taker, stranger } = market;
const [, pool] = chain.pools;
if (pool === undefined) throw new Error('a chain has pools');
const { poolAddress, poolKey } = pool;
const client = new OrderbookClient({ url, apiKey, chainId: '421613' });
t.teardown(() => client.close());
const account = privateKeyToAccount(maker.privateKey);
const wallet = createWalletClient({ account, chain: node.chain, transport: http(chain.rpcUrl) });
const { erc20Router } = chain.contracts;
const options = { client, trader: new Trader({ client, wallet, erc20Router }), finalityBlocks: 0 };
const manager = new QuoteManager(options);
const posted: SentQuote[] = [];
const troubles: unknown[] = [];
manager.onEvent((event) => {
  if (event.type === 'POSTED') posted.push(event.quote);
  if (event.type === 'TROUBLE') troubles.push(event.error);
});
const [publicPrice, rfqPrice] = [ONE / 10n, ONE / 20n];
const quoted = { poolAddress, poolKey: { ...poolKey, strike: poolKey.strike.toString() } };
const ask = { price: publicPrice, size: 4n * ONE, rfq: { price: rfqPrice, size: 3n * ONE } };
manager.setTarget(quoted, { ask });
await manager.start();
await until(() => posted.length === 1);

const request = (size: bigint, terms: { readonly makers: Hex[] } | { readonly anonymous: true }) => {
  const legs = [{ poolAddress, side: 'ask' as const, size: size.toString() }];
  return client.rest.openRfq({ taker: taker.address, legs, ...terms });
};
const answers = () =>
  posted.filter(({ price }) => price === rfqPrice).map(({ taker: of, size }) => ({ taker: of, size }));

await t.test('it answers requests that name it, and none that name others or nobody', async (t) => {
  await request(ONE / 2n, { makers: [stranger.address] });
  await request(ONE / 4n, { anonymous: true });
  await request(ONE, { makers: [maker.address] });
  await until(() => answers().some(({ size }) => size === ONE));
  const [only, another] = answers();
  t.match(only, { taker: new RegExp(`^${taker.address}$`, 'i'), size: ONE });
  t.equal(another, undefined);
  const { validQuotes } = await client.rest.orders({ provider: maker.address });
  t.strictSame(
    validQuotes.map(({ taker: of, price }) => [of, price]),
    [[ZERO_ADDRESS, publicPrice.toString()]],
  );
});

await t.test('an unusable target is reported, and the next one is offered', async (t) => {
  const size = 5 as unknown as bigint;
  manager.setTarget(quoted, { ask: { price: publicPrice, size } });
  await until(() => troubles.length > 0);
  t.match(troubles[0], TypeError);
  manager.setTarget(quoted, { ask: { ...ask, size: 6n * ONE } });
  await until(() => posted.at(-1)?.size === 2n * ONE);
  t.match(posted.at(-1), { price: publicPrice, taker: null });
});

await t.test('after close nothing is offered', async (t) => {
  await manager.close();
  t.strictSame((await client.rest.orders({ provider: maker.address, taker: taker.address })).validQuotes, []);
});

await t.test(
  'a live quote of an earlier life, in a pool that has no contract yet, does not stop its looks',
  async (t) => {
    const key = { ...poolKey, strike: 2n * poolKey.strike };
    const early = { ...(await market.poolAddress(key)), poolKey: { ...key, strike: key.strike.toString() } };
    const terms = { side: 'ask', price: publicPrice, size: ONE } as const;
    const { posted: earlyQuote } = await client.signQuote(account, early, terms);
    t.equal((await client.rest.postQuotes([earlyQuote])).created.length, 1);
    const later = new QuoteManager(options);
    const seen: unknown[] = [];
    later.onEvent((event) => seen.push(event));
    later.setTarget(early, { ask: { price: publicPrice, size: ONE } });
    await later.start();
    t.strictSame(seen, []);
    await t.rejects(later.close(0), { name: 'QuotesLeftError' });
  },
);
