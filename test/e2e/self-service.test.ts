import t from 'tap';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient, requestApiKey } from 'quotebook/client';
import { KeyStore } from '../../src/auth/key-store.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { systemRandom } from '../../src/system/clock.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { Market, ONE } from '../chain/dev/market.js';
import { documentedFetch, documentedPorts } from './documented-network.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { ManualClock } from '../system/manual-clock.js';
import { until } from '../until.js';

/** People without a key create one by a sign-in. Behind a proxy, so that a test says where a request comes from. */
const STRIKES = 12;
const DAY_MS = 86_400_000;
const running = await startTestService({
  selfService: 'yes',
  privacy: 'proven',
  trustedProxies: ['127.0.0.1'],
  limits: { selfKeys: 5, selfKeysPerNetwork: 2, unknownKeysPerMinute: STRIKES },
});
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl } = running;
const market = new Market(chain);
const chainId = String(chain.chainId);
const pool = market.pool('testWETH', 1800n, true);
const newAccount = () => privateKeyToAccount(generatePrivateKey());

/** Creates a key from a network. */
function create(from: string, account = newAccount()) {
  const fetch: typeof documentedFetch = (url, init) =>
    documentedFetch(url, { ...init, headers: { ...init?.headers, 'x-forwarded-for': from } });
  return requestApiKey({ url: httpUrl, chainId, account }, { fetch });
}

await t.test('a service hands out no keys unless selfService is on, and reads no body of such a request', async (t) => {
  const off = await startTestService({ chain });
  t.teardown(() => off.stop());
  const rest = new RestClient(off.httpUrl, null);
  for (const path of ['/auth/keys/nonce', '/auth/keys']) {
    const { status, body } = await rest.post(path, {}, { accept: 'application/problem+json' });
    const detail = 'This service hands out no keys: ask its operator for one';
    t.match([status, body], [403, { code: 'self_service_off', detail, retryable: false }]);
  }
});

await t.test('bodies of callers without a key are small', async (t) => {
  const rest = new RestClient(httpUrl, null);
  for (const path of ['/auth/keys/nonce', '/auth/keys', '/Auth/Keys/']) {
    const from = { 'x-forwarded-for': '203.0.113.7' };
    t.equal((await rest.post(path, ' '.repeat(limits.keylessBodyBytes), from)).status, 400, path);
    t.equal((await rest.post(path, ' '.repeat(limits.keylessBodyBytes + 1), from)).status, 413, path);
  }
});

await t.test('a key reads and follows the market with the quotas of its tier', async (t) => {
  const { key, tier, address, replaced, unusedDays } = await create(
    '192.0.2.1',
    privateKeyToAccount(market.taker.privateKey),
  );
  t.strictSame([tier, address, replaced, unusedDays], ['self', market.taker.address.toLowerCase(), false, 30]);
  const rest = new RestClient(httpUrl, key);
  const { status, headers } = await rest.get(`/orders?chainId=${chainId}`);
  t.equal(status, 200);
  t.match(headers.get('ratelimit-policy'), `"requests";q=${tierQuotas.self.requestsPerSecond};w=1`);
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(key);
  t.match(await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId } }), { type: 'INFO' });
  socket.end();
  const own = `/rfq_quotes?chainId=${chainId}&poolAddress=${pool.poolAddress}&side=ask&taker=`;
  t.equal((await rest.get(`${own}${market.taker.address}`)).status, 200, 'it has proven its address');
  t.equal((await rest.get(`${own}${market.maker.address}`)).status, 403);
});

await t.test('the operator pays no gas for it: what needs gas is refused for ever', async (t) => {
  const { key } = await create('192.0.2.2', privateKeyToAccount(market.maker.privateKey));
  const rest = new RestClient(httpUrl, key);
  const quote = await signQuote(market.maker.privateKey, pool, { size: ONE });
  const posted = await rest.post('/quotes', [quote]);
  t.strictSame([posted.status, posted.body], [403, { message: 'The operator pays no gas for this key' }]);
  t.equal(posted.headers.get('retry-after'), null, 'no day to come changes that');
  t.match((await rest.post('/quotes?dryRun=true', [quote])).status, 200, 'a dry run costs none');
  const { status, body } = await rest.get(`/orders?chainId=${chainId}&provider=${market.maker.address}`);
  t.match([status, body], [200, { validQuotes: [] }]);
});

await t.test('a proven maker withdraws its quotes with such a key', async (t) => {
  const account = privateKeyToAccount(market.maker.privateKey);
  const { key, replaced } = await create('192.0.2.2', account);
  t.equal(replaced, true, 'another sign-in of an address replaces its key');
  const client = new OrderbookClient({ url: httpUrl, chainId, apiKey: key }, documentedPorts);
  t.teardown(() => client.close());
  const offer = await market.sign(pool);
  await market.publish(market.stranger.address, [offer]);
  const named = { chainId, provider: account.address, quoteIds: [offer.quoteId] };
  for (let tries = 0; ; tries += 1) {
    const { withdrawn } = await client.rest.withdrawQuotes(named);
    if (withdrawn.length > 0 || tries === 50) {
      t.strictSame(withdrawn, [offer.quoteId]);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
});

await t.test('the service writes down that a key was used, and a restart goes on with it', async (t) => {
  const files = new MemoryKeyFiles();
  const clock = new ManualClock();
  const open = () => KeyStore.open({ files, clock, random: systemRandom, cacheSize: 10, selfKeyUnusedDays: 3 });
  const start = async () => {
    const own = await startTestService({
      ...{ chain, keys: await open(), selfService: 'yes' as const },
      limits: { selfKeyNoteMs: 20, keyWatchMs: 20 },
    });
    t.teardown(() => own.stop());
    return own;
  };
  const first = await start();
  const { key } = await requestApiKey(
    { url: first.httpUrl, chainId, account: newAccount() },
    { fetch: documentedFetch },
  );
  const statusAt = async ({ httpUrl: url }: typeof first) =>
    (await new RestClient(url, key).get('/authorizations')).status;
  const written = files.contents.get('self-keys.json');
  clock.advance(2 * DAY_MS);
  t.equal(await statusAt(first), 200);
  await until(() => files.contents.get('self-keys.json') !== written);
  await first.stop();
  clock.advance(2 * DAY_MS);
  const second = await start();
  t.equal(await statusAt(second), 200, 'four days after it was created, two after it was used');
  clock.advance(3 * DAY_MS);
  t.equal(await statusAt(second), 401, 'nobody used it for three days');
});

await t.test('a network has a bound, and so has the service', async (t) => {
  const refused = (status: number, message: RegExp) => ({ name: 'ApiError', status, message });
  await create('192.0.2.1');
  await t.rejects(create('192.0.2.1'), refused(403, /^Too many keys: 2 were created from this network$/));
  await create('2001:db8::1');
  await create('2001:db8::2');
  await t.rejects(create('2001:db8::ffff'), refused(503, /^Too many keys are in force$/));
});

await t.test('requests without a key are few, and small', async (t) => {
  const rest = new RestClient(httpUrl, null);
  const from = { 'x-forwarded-for': '192.0.2.99' };
  const large = await rest.post('/auth/keys', { message: 'm'.repeat(9_000), signature: '0x00' }, from);
  t.strictSame([large.status, large.body], [413, { message: 'The body is too large' }]);
  const statuses: number[] = [];
  for (let i = 0; i < STRIKES + 1; i += 1) statuses.push((await rest.post('/auth/keys/nonce', {}, from)).status);
  t.strictSame(statuses, [...Array<number>(STRIKES).fill(200), 429]);
});
