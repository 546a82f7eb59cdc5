import t from 'tap';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { Market, ONE } from '../chain/dev/market.js';
import { tierQuotas } from '../../src/config/limits.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, type WireOption } from './wire-option.js';

const free = { ...tierQuotas.free, quotesPerDay: 2 };
const metrics = new Metrics();
const running = await startTestService({ metrics, tierQuotas: { ...tierQuotas, free } });
t.teardown(() => running.stop());
const { chain, engine, httpUrl, keys } = running;
const [pool] = chain.pools;
const [operator, maker] = chain.accounts;
if (!pool || !maker || !operator) throw new Error('The local chain lacks pools or accounts');
const { id, key } = await keys.create('free', 'gas');
const rest = new RestClient(httpUrl, key);

async function lists(client: RestClient, { expiration }: WireOption): Promise<boolean> {
  return ((await client.get(`/pools?expiration=${expiration}`)).body as unknown as unknown[]).length > 0;
}

async function sample(name: string): Promise<number> {
  const line = (await metrics.text()).split('\n').find((each) => each.startsWith(name));
  return Number(line?.split(' ').at(-1));
}

await t.test('a key has the quotes of its day published, and no more until it ends', async (t) => {
  const quotes = await Promise.all([1, 2, 3].map(() => signQuote(maker.privateKey, pool)));
  const never = await rest.post('/quotes', quotes);
  const message = 'The request needs 3 quotes, and a day of the key has 2';
  t.strictSame([never.status, never.body], [400, { message }], 'no day has so many');
  t.equal((await rest.post('/quotes', quotes.slice(0, 2))).status, 201);
  t.match(await rest.post('/quotes?dryRun=true', quotes.slice(2)), { status: 200 }, 'a dry run costs no gas');
  const refused = await rest.post('/quotes', quotes.slice(2));
  t.strictSame([refused.status, refused.body], [429, { message: 'RATELIMITED' }]);
  t.match(refused.headers.get('retry-after'), /^8(6400|63\d\d)$/);
  t.equal(await sample(`quotebook_published_quotes_total{key="${id}",tier="free"}`), 2);
  t.equal(await sample(`quotebook_charged_gas_total{key="${id}",tier="free"}`), 21_800 + 2 * 12_100);
  t.ok((await sample('quotebook_wallet_spent_gwei{chain="stream"}')) > 0);
});

await t.test('a quote that is known costs nothing', async (t) => {
  const other = new RestClient(httpUrl, (await keys.create('free', 'known')).key);
  const quote = await signQuote(maker.privateKey, pool);
  t.equal((await other.post('/quotes', [quote])).status, 201);
  for (let again = 0; again < 3; again++) t.equal((await other.post('/quotes', [quote])).status, 200);
});

await t.test('a request that a fault of the service ends costs nothing of the day', async (t) => {
  const other = new RestClient(httpUrl, (await keys.create('free', 'fault')).key);
  const quotes = await Promise.all([1, 2].map(() => signQuote(maker.privateKey, pool)));
  const broken = t.capture(engine, 'get', () => {
    throw new Error('a bug');
  });
  t.equal((await other.post('/quotes', quotes)).status, 500);
  broken.restore();
  t.equal((await other.post('/quotes', quotes)).status, 201, 'all of the day is left');
});

await t.test('while it cannot be kept what keys use, wallets send nothing, until it can', async (t) => {
  const budgets = new MemoryKeyValueStore();
  const full = await startTestService({ chain, budgets });
  t.teardown(() => full.stop());
  const client = new RestClient(full.httpUrl, full.apiKey);
  const put = budgets.put.bind(budgets);
  budgets.put = () => Promise.reject(new Error('ENOSPC'));
  t.equal((await client.post('/quotes', [await signQuote(maker.privateKey, pool)])).status, 201);
  const option = { ...optionOf(chain, pool), strike: 4_300 };
  const quote = await signQuote(maker.privateKey, pool);
  for (const [path, body] of [
    ['/quotes', quote],
    ['/pools', option],
  ] as const) {
    const refused = await client.post(path, [body]);
    t.strictSame([refused.status, refused.body], [503, { message: 'STORAGE_FULL' }], path);
    t.equal(refused.headers.get('retry-after'), '1');
  }
  t.equal((await client.get(`/orders?chainId=${chain.chainId}`)).status, 200, 'reads go on');
  budgets.put = put;
  t.equal((await client.post('/quotes', [quote])).status, 503, 'this one tries again to keep it');
  t.equal((await client.post('/quotes', [quote])).status, 201);
  t.match(await client.post('/pools', [option]), { status: 200, body: { created: [option] } });
});

await t.test('a wallet that has spent its cap publishes and deploys nothing more', async (t) => {
  const capped = await startTestService({ chain, spendPerDayWei: 1n });
  t.teardown(() => capped.stop());
  const client = new RestClient(capped.httpUrl, capped.apiKey);
  const first = await signQuote(maker.privateKey, pool);
  t.equal((await client.post('/quotes', [first])).status, 201);
  const refused = await client.post('/quotes', [await signQuote(maker.privateKey, pool)]);
  const message = `The wallet ${operator.address.toLowerCase()} has spent what it may in a day`;
  t.strictSame([refused.status, refused.body], [429, { message }]);
  t.match(refused.headers.get('retry-after'), /^8(6400|63\d\d)$/);
  t.match(await client.post('/quotes', [first]), { status: 200, body: { exists: [{ salt: first.salt }] } });
  const listed: unknown = (await client.get('/pools')).body;
  const [{ expiration } = { expiration: '' }] = listed as { expiration: string }[];
  const option = { base: 'testWETH', quote: 'USDC', expiration, strike: 2_900, type: 'C' };
  const deployed = await client.post('/pools', [option]);
  t.strictSame([deployed.status, deployed.body], [429, { message }]);
  t.match(deployed.headers.get('retry-after'), /^8(6400|63\d\d)$/);
  const known = { ...option, strike: 1_800 };
  t.match(
    await client.post('/pools', [known]),
    { status: 200, body: { existed: [known] } },
    'what is there costs nothing',
  );
});

await t.test('deployments are charged to the day of their key, with the gas that they used', async (t) => {
  running.service.adoptQuotas({ ...tierQuotas, free: { ...tierQuotas.free, gasPerDay: 400_000 } });
  const { id, key } = await keys.create('free', 'pools');
  const other = new RestClient(httpUrl, key);
  const option = { ...optionOf(chain, pool), strike: 4_100 };
  t.match(await other.post('/pools', [option]), { status: 200, body: { created: [option] } });
  const used = await sample(`quotebook_charged_gas_total{key="${id}",tier="free"}`);
  t.ok(used > 200_000 && used < 400_000, `${used}`);
  const refused = await other.post('/pools', [{ ...option, strike: 4_200 }]);
  t.strictSame([refused.status, refused.body], [429, { message: 'RATELIMITED' }]);
  t.match(refused.headers.get('retry-after'), /^8(6400|63\d\d)$/);
  t.match(await other.post('/pools', [option]), { status: 200, body: { existed: [option] } });
  t.equal((await other.post('/quotes', [await signQuote(maker.privateKey, pool)])).status, 201, 'the rest is left');
});

await t.test('settlements are charged to their key, and a wallet that has spent its cap settles no more', async (t) => {
  const market = new Market(chain);
  const held = [1_800n, 1_900n, 2_000n].map((strike) => market.pool('testWETH', strike, true));
  for (const each of held) await market.fill(operator.address, await market.sign(each), ONE);
  const [first, second, third] = held.map((each) => optionOf(chain, each));
  const [{ poolKey } = pool] = held;
  if (first === undefined || second === undefined || third === undefined) throw new Error('Nothing is held');
  await market.setSettlementPrice(poolKey, 1_950n * ONE);
  await market.moveTimeTo(poolKey.maturity);
  while (await lists(new RestClient(httpUrl, running.apiKey), first));
  const other = new RestClient(httpUrl, (await keys.create('free', 'settle')).key);
  const settle = async (gasPerDay: number, options: readonly WireOption[]) => {
    running.service.adoptQuotas({ ...tierQuotas, free: { ...tierQuotas.free, gasPerDay } });
    return other.post('/pool/settle', options);
  };
  const gone = (option: WireOption) => ({ failedOption: option, reason: 'No balance to settle' });
  const beyond = 'The request needs 270000 gas, and a day of the key has 200000';
  t.match(await settle(200_000, [first]), { status: 400, body: { message: beyond } }, 'it may take two');
  t.match(await settle(300_000, [first]), { status: 200, body: { success: [first] } });
  t.match(await settle(300_000, [second]), { status: 429 }, 'what is left is too little');
  t.match(await settle(1, [first]), { status: 200, body: { failed: [gone(first)] } }, 'nothing is held, nothing costs');
  const capped = await startTestService({ chain, spendPerDayWei: 1n });
  t.teardown(() => capped.stop());
  const client = new RestClient(capped.httpUrl, capped.apiKey);
  t.match(await client.post('/pool/settle', [second]), { status: 200, body: { success: [second] } });
  const message = `The wallet ${operator.address.toLowerCase()} has spent what it may in a day`;
  t.match(await client.post('/pool/settle', [first, third]), { status: 429, body: { message } });
  t.match(await client.post('/pool/settle', [first, second]), {
    status: 200,
    body: { success: [], failed: [first, second].map(gone) },
  });
});
