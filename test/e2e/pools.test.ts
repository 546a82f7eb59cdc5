import pino from 'pino';
import t, { type Test } from 'tap';
import type { Pool } from '../../src/engine/quote.js';
import { formatExpiration } from '../../src/wire/expiration.js';
import type { OrdersResponse } from '../../src/wire/orderbook.js';
import { Market } from '../chain/dev/market.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf, queryOf, type WireOption, type WirePool } from './wire-option.js';
import { untilAnswer } from '../until.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain } = running;
const market = new Market(chain);
const rest = new RestClient(running.httpUrl, running.apiKey);

const near = market.pool('testWETH', 1800n, true);
const far = chain.pools.map(({ poolKey }) => poolKey.maturity).reduce((a, b) => Math.max(a, b));
const call: WireOption = optionOf(chain, near);

interface Deployed {
  readonly created: readonly WirePool[];
  readonly existed: readonly WirePool[];
  readonly failed: readonly (WireOption & { readonly reason: string })[];
}

async function deploy(options: readonly WireOption[]): Promise<Deployed> {
  const { status, body } = await rest.post('/pools', options);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body as unknown as Deployed;
}

async function list(query = ''): Promise<readonly WirePool[]> {
  const { status, body } = await rest.get(`/pools${query}`);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body as unknown as readonly WirePool[];
}

const wirePool = (pool: Pool): WirePool => ({ ...optionOf(chain, pool), poolAddress: pool.poolAddress });
const byAddress = (a: WirePool, b: WirePool): number => (a.poolAddress < b.poolAddress ? -1 : 1);

await t.test('pools that are on the chain are listed, by their symbols', async (t) => {
  t.strictSame([...(await list())].sort(byAddress), chain.pools.map(wirePool).sort(byAddress));
});

await t.test('filters narrow the list', async (t) => {
  const { expiration } = call;
  const expected = chain.pools.filter(
    ({ poolKey }) => poolKey.base === market.token('WBTC') && formatExpiration(poolKey.maturity) === expiration,
  );
  const found = await list(`?base=WBTC&quote=USDC&expiration=${expiration}`);
  t.strictSame([...found].sort(byAddress), expected.map(wirePool).sort(byAddress));
  t.not(found.length, 0);
  t.strictSame(await list('?base=ARB'), [], 'a token without pools');
  t.strictSame(await list('?expiration=01JAN23'), [], 'a day that is past');
});

await t.test('a pool that is deployed is listed the moment it is answered, and exists from then on', async (t) => {
  const option = { ...call, strike: 2200 };
  const { created, existed, failed } = await deploy([option]);
  const { poolAddress, isDeployed } = await market.poolAddress({ ...near.poolKey, strike: 2200n * 10n ** 18n });
  t.strictSame({ created, existed, failed }, { created: [{ ...option, poolAddress }], existed: [], failed: [] });
  t.ok(isDeployed);
  t.ok((await list(`?base=testWETH`)).some((pool) => pool.poolAddress === poolAddress));
  t.strictSame(await deploy([option]), { created: [], existed: [{ ...option, poolAddress }], failed: [] });
});

await t.test('a strike below one is exact', async (t) => {
  const option = { ...call, base: 'PREMIA', strike: 0.42, type: 'P' };
  const { created } = await deploy([option]);
  t.match(created, [option]);
  const [listed] = await list('?base=PREMIA');
  t.strictSame(listed, created[0]);
});

await t.test('requests for the same pool at the same moment get one pool between them', async (t) => {
  const option = { ...call, strike: 2300 };
  const answers = await Promise.all([deploy([option, option]), deploy([option]), deploy([option])]);
  t.equal(answers.flatMap(({ created }) => created).length, 1);
  t.equal(answers.flatMap(({ existed }) => existed).length, 3);
  t.equal(answers.flatMap(({ failed }) => failed).length, 0);
});

await t.test('of 100 options 97 are created and 3 impossible ones fail, in one answer', async (t) => {
  const strikes = Array.from({ length: 97 }, (_, i) => ({ ...call, base: 'WBTC', strike: 31_000 + 1000 * i }));
  const options: WireOption[] = strikes.filter(({ strike }) => strike <= 99_000 && strike !== 32_000);
  for (let strike = 1000; options.length < 97; strike += 100) options.push({ ...call, base: 'ARB', strike });
  const impossible = [
    { ...call, strike: 1801 },
    { ...call, expiration: '01JAN23' },
    { ...call, expiration: '31FEB27' },
  ];
  options.splice(10, 0, ...impossible);
  const { created, existed, failed } = await deploy(options);
  t.strictSame([created.length, existed.length, failed.length], [97, 0, 3]);
  t.strictSame(failed, [
    { ...impossible[0], reason: 'PoolFactory__OptionStrikeInvalid' },
    { ...impossible[1], reason: 'Invalid expiration date: 01JAN23 is in the past' },
    { ...impossible[2], reason: 'Invalid expiration date: 31FEB27' },
  ]);
  const listed = new Set((await list()).map(({ poolAddress }) => poolAddress));
  t.ok(created.every(({ poolAddress }) => listed.has(poolAddress)));
});

await t.test('dates that no new pool may have fail with their own words', async (t) => {
  const day = 86_400;
  const thursday = formatExpiration(near.poolKey.maturity + 6 * day);
  const nextFriday = formatExpiration(far + 7 * day);
  const years = formatExpiration(far + 400 * day);
  const { failed } = await deploy([thursday, nextFriday, years].map((expiration) => ({ ...call, expiration })));
  const reasons = failed.map(({ reason }) => reason);
  t.match(reasons, [
    /^\d{4}-\d\d-\d\dT00:00:00.000Z is not Friday!$/,
    /^\d{4}-\d\d-\d\dT00:00:00.000Z is not the last Friday of the month!$/,
    `Invalid expiration date: ${years} is more then in 1 year`,
  ]);
  const [same] = (await deploy([{ ...call, quote: call.base }])).failed;
  t.equal(same?.reason, 'PoolFactory__IdenticalAddresses');
});

await t.test(
  'a quote whose pool cannot be deployed is refused, and where its maker publishes it not valid',
  async (t) => {
    const poolKey = { ...near.poolKey, base: market.token('LINK'), strike: 8n * ONE };
    const pool: Pool = { poolKey, poolAddress: (await market.poolAddress(poolKey)).poolAddress };
    await market.setUsdPrice(poolKey.base, 0n);
    const { failed } = await deploy([{ ...call, base: 'LINK', strike: 8 }]);
    t.match(failed, [{ reason: 'OracleAdapter__PairCannotBeSupported' }]);

    const posted = await rest.post('/quotes', [await signQuote(market.maker.privateKey, pool)]);
    t.match(posted, { status: 200, body: { created: [], failed: [{ reason: 'InvalidAssetUpdate' }] } });

    const published = await market.sign(pool);
    await market.publish(market.maker.address, [published]);
    const listed = async () =>
      (await rest.get(`/orders?quoteIds[]=${published.quoteId}`)).body as unknown as OrdersResponse;
    const orders = await untilAnswer(
      listed,
      ({ validQuotes, invalidQuotes }) => validQuotes.length + invalidQuotes.length > 0,
    );
    t.match(orders, { validQuotes: [], invalidQuotes: [{ reason: 'InvalidAssetUpdate' }] });
  },
);

async function refused(t: Test, path: string, body: unknown, first: Record<string, unknown>): Promise<void> {
  const answer = body === undefined ? await rest.get(path) : await rest.post(path, body);
  t.equal(answer.status, 400, JSON.stringify(answer.body));
  t.match((answer.body as unknown as unknown[])[0], first);
}

await t.test('bad input to POST /pools is refused in the words of its schema', async (t) => {
  const without = Object.fromEntries(Object.entries(call).filter(([name]) => name !== 'strike'));
  await refused(t, '/pools', [without], { keyword: 'required', message: "must have required property 'strike'" });
  await refused(t, '/pools', [{ ...call, more: 1 }], { message: 'must NOT have additional properties' });
  await refused(t, '/pools', [{ ...call, strike: '1800' }], { instancePath: '/0/strike', message: 'must be number' });
  await refused(t, '/pools', [{ ...call, strike: 0 }], { instancePath: '/0/strike', message: 'must be > 0' });
  await refused(t, '/pools', [{ ...call, strike: -1 }], { instancePath: '/0/strike', message: 'must be > 0' });
  await refused(t, '/pools', [{ ...call, strike: 1e-19 }], { message: 'must NOT have more than 18 decimals' });
  await refused(t, '/pools', [{ ...call, type: 'p' }], { message: 'must match pattern "^C$|^P$"' });
  await refused(t, '/pools', [{ ...call, expiration: '1JAN23' }], {
    instancePath: '/0/expiration',
    keyword: 'pattern',
  });
  await refused(t, '/pools', [call, { ...call, base: 'DOGE' }], { instancePath: '/1/base', keyword: 'pattern' });
  await refused(t, '/pools', call, { message: 'must be array' });
  await refused(t, '/pools', [], { keyword: 'minItems' });
  await refused(t, '/pools', Array.from({ length: 101 }).fill(call), { keyword: 'maxItems' });
  await refused(t, '/pools', '{"a":', { keyword: 'json' });
});

await t.test('bad input to GET /pools is refused', async (t) => {
  await refused(t, '/pools?base=DOGE', undefined, { instancePath: '/base', keyword: 'pattern' });
  await refused(t, '/pools?expiration=SOON', undefined, { instancePath: '/expiration', keyword: 'pattern' });
  await refused(t, '/pools?base=WETH&base=WBTC', undefined, { instancePath: '/base' });
  await refused(t, '/pools?limit=1', undefined, { message: 'must NOT have additional properties' });
  const noDay = await rest.get('/pools?expiration=31FEB27');
  t.strictSame([noDay.status, noDay.body], [400, { message: 'Invalid expiration date: 31FEB27' }]);
});

await t.test('without a wallet pools are listed and none deployed', async (t) => {
  const reader = await startTestService({ chain, walletKey: null });
  t.teardown(() => reader.stop());
  const client = new RestClient(reader.httpUrl, reader.apiKey);
  const message = "No wallet is configured: set walletKey or walletKeyFile to the operator's private key";
  for (const answer of [
    await client.post('/pools', [call]),
    await client.post('/pool/settle', [call]),
    await client.get(`/vaults/quote?${queryOf(call, { size: '1', direction: 'buy' })}`),
  ]) {
    t.strictSame([answer.status, answer.body], [501, { message }]);
  }
  t.equal((await client.get('/pools')).status, 200);
});

await t.test('a wallet without money says so for each pool that it cannot deploy', async (t) => {
  const broke = await startTestService({ chain, walletKey: `0x${'6b'.repeat(32)}` });
  t.teardown(() => broke.stop());
  const client = new RestClient(broke.httpUrl, broke.apiKey);
  const { status, body } = await client.post('/pools', [call, { ...call, strike: 2500 }]);
  t.equal(status, 200);
  t.match(body, {
    created: [],
    existed: [{ ...call, poolAddress: near.poolAddress }],
    failed: [{ ...call, strike: 2500, reason: /^The wallet 0x[0-9a-f]{40} has no money for gas$/ }],
  });
});

await t.test('the operator sees why a node refused; the client only that the chain does not answer', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const settlement = { ...chain.profile.settlement, rpcUrls: [proxy.url] };
  const refused = await startTestService({ chain, profile: { ...chain.profile, settlement }, logger });
  t.teardown(() => refused.stop());
  const error = { code: -32000, message: 'header not found' };
  proxy.trick = ({ method }) => (method === 'eth_call' ? { error } : 'PASS');
  const answer = await new RestClient(refused.httpUrl, refused.apiKey).post('/pools', [{ ...call, strike: 2400 }]);
  t.equal(answer.status, 503);
  const told = lines.filter((line) => line.includes('chain call refused'));
  t.equal(told.length, 1);
  t.match(told[0], error.message);
});

await t.test('instruments are the live pools by name, with their keys', async (t) => {
  const service = await startTestService({ chain: running.chain, walletKey: null });
  t.teardown(() => service.stop());
  const client = new RestClient(service.httpUrl, service.apiKey);
  const { status, body } = await client.get('/instruments');
  t.equal(status, 200);
  const listed = body as unknown as readonly { instrument: string; poolAddress: string }[];
  const name = `testWETH-USDC-${formatExpiration(near.poolKey.maturity)}-1800-C`;
  t.match(
    listed.find(({ poolAddress }) => poolAddress === near.poolAddress),
    { instrument: name, expiry: near.poolKey.maturity, strike: '1800', poolKey: { base: near.poolKey.base } },
  );
  t.match(await client.get('/instruments?x=1'), { status: 400, body: [{ keyword: 'additionalProperties' }] });
});
