import t from 'tap';
import { tierQuotas } from '../../src/config/limits.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

const running = await startTestService({
  tierQuotas: { ...tierQuotas, free: { ...tierQuotas.free, requestsPerSecond: 4, quotesPerMinute: 1, quoteBurst: 2 } },
});
t.teardown(() => running.stop());
const { httpUrl, keys, apiKey, chain } = running;
const unknownKey = `qb_${'A'.repeat(48)}`;

async function freeClient(): Promise<RestClient> {
  return new RestClient(httpUrl, (await keys.create('free', 'quota test')).key);
}

await t.test('a free key over its requests a second gets 429 with the time to wait', async (t) => {
  const client = await freeClient();
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.get('/orders')));
  const refused = answers.filter(({ status }) => status === 429);
  t.ok(refused.length >= 1 && refused.length <= 4, `${refused.length} of 8 refused`);
  for (const { body, headers } of refused) {
    t.strictSame(body, { message: 'RATELIMITED' });
    t.equal(headers.get('retry-after'), '1');
    t.equal(headers.get('ratelimit-policy'), '"requests";q=4;w=1');
    t.equal(headers.get('ratelimit'), '"requests";r=0;t=1');
  }
});

await t.test('a POST of more quotes than are left is refused whole', async (t) => {
  const client = await freeClient();
  const [pool] = chain.pools;
  const [, maker] = chain.accounts;
  if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');
  const three = await Promise.all([1, 2, 3].map(() => signQuote(maker.privateKey, pool)));
  const taken = await client.post('/quotes', three.slice(0, 1));
  t.strictSame([taken.status, (taken.body.created as unknown[]).length], [201, 1]);
  const refused = await client.post('/quotes', three.slice(1));
  t.strictSame([refused.status, refused.body], [429, { message: 'RATELIMITED' }]);
  t.match(refused.headers.get('ratelimit'), /"quotes";r=1;t=60$/);
  const never = await client.post('/quotes', three, { accept: 'application/problem+json' });
  t.match(never, { status: 400, body: { code: 'invalid_parameter', retryable: false } });
  t.match(never.body.errors, [{ keyword: 'maxItems', message: 'must NOT have more than 2 items' }]);
  t.equal(never.headers.get('retry-after'), null);
});

await t.test('a paid key has the quotas of its tier', async (t) => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => new RestClient(httpUrl, apiKey).get('/orders')));
  t.ok(answers.every(({ status }) => status !== 429));
  t.match(answers[0]?.headers.get('ratelimit-policy'), `"requests";q=${tierQuotas.paid.requestsPerSecond};w=1`);
});

await t.test('an address that tries out keys is refused, but not with a key that holds', async (t) => {
  const guesser = new RestClient(httpUrl, unknownKey);
  const statuses: number[] = [];
  for (let guess = 0; guess < 11; guess++) statuses.push((await guesser.get('/orders?chainId=421613')).status);
  t.strictSame(statuses, [...Array<number>(10).fill(401), 429]);
  const last = await guesser.get('/orders?chainId=421613');
  t.strictSame([last.status, last.body], [429, { message: 'RATELIMITED' }]);
  t.match(last.headers.get('retry-after'), /^(900|89\d)$/);
  t.equal((await new RestClient(httpUrl, apiKey).get('/orders?chainId=421613')).status, 200);
});
