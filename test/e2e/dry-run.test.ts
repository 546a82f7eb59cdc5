import t from 'tap';
import { domainSeparator, hashTypedData } from 'viem';
import type { DryRunResult } from '../../src/wire/orderbook.js';
import { QUOTE_TYPES } from '../auth/quote-types.js';
import { ONE, signQuote, type WireQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain, engine, httpUrl, apiKey } = running;
const rest = new RestClient(httpUrl, apiKey);
const [pool] = chain.pools;
const [, maker] = chain.accounts;
if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');
const makerKey = maker.privateKey;
const { poolAddress, poolKey } = pool;

async function dryRun(...quotes: readonly WireQuote[]): Promise<DryRunResult['quotes']> {
  const answer = await rest.post('/quotes?dryRun=true', quotes);
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return (answer.body as unknown as DryRunResult).quotes;
}

const domain = { name: 'Premia', version: '1', chainId: 421_613, verifyingContract: poolAddress } as const;

await t.test('a maker sees the bytes that its own library makes, and nothing is published', async (t) => {
  const quote = await signQuote(makerKey, pool);
  const [item] = await dryRun(quote);
  const message = {
    ...quote,
    provider: maker.address,
    taker: quote.taker as `0x${string}`,
    price: BigInt(quote.price),
    size: BigInt(quote.size),
    deadline: BigInt(quote.deadline),
    salt: BigInt(quote.salt),
  };
  t.strictSame(item, {
    outcome: 'created',
    reasons: [],
    poolAddress,
    domainSeparator: domainSeparator({ domain }),
    digest: hashTypedData({ domain, types: QUOTE_TYPES, primaryType: 'FillQuoteOB', message }),
    signer: maker.address.toLowerCase(),
  });
  t.equal(engine.get(item?.digest as `0x${string}`), undefined);
  const published = await rest.post('/quotes', [quote]);
  t.match(published, { status: 201, body: { created: [{ quoteId: item?.digest }] } });
  t.match(await dryRun(quote), [{ outcome: 'exists', reasons: [], digest: item?.digest }]);
});

await t.test('a quote that is there twice would exist the second time', async (t) => {
  const quote = await signQuote(makerKey, pool);
  t.match(await dryRun(quote, quote), [{ outcome: 'created' }, { outcome: 'exists' }]);
});

await t.test('every reason is reported, and first the one that POST would give', async (t) => {
  const soon = Math.floor(Date.now() / 1000) + 2;
  const late = 'Quote deadline is invalid (cannot be less than 10 sec)';
  const bad = await signQuote(makerKey, pool, { deadline: 1_700_000_000, price: ONE + 1n, size: 0n });
  const foreign = { ...bad, signature: { ...bad.signature, v: 29 } };
  const poor = await signQuote(makerKey, pool, { deadline: soon + 4, size: ONE * 10n ** 9n });
  const items = await dryRun(bad, foreign, poor);
  t.match(items, [
    {
      outcome: 'failed',
      reasons: [late, 'OutOfBoundsPrice', 'InvalidAssetUpdate'],
      signer: maker.address.toLowerCase(),
    },
    {
      outcome: 'failed',
      reasons: [late, 'OutOfBoundsPrice', 'InvalidQuoteOBSignature', 'InvalidAssetUpdate'],
      signer: null,
    },
    { outcome: 'failed', reasons: [late, 'InsufficientCollateralBalance'] },
  ]);
  const { body } = await rest.post('/quotes', [bad, foreign, poor]);
  t.strictSame(
    (body.failed as { reason: string }[]).map(({ reason }) => reason),
    items.map(({ reasons }) => reasons[0]),
  );
});

await t.test('a signature of another maker shows who made it', async (t) => {
  const [, , other] = chain.accounts;
  if (other === undefined) throw new Error('The local chain lacks accounts');
  const quote = { ...(await signQuote(other.privateKey, pool)), provider: maker.address };
  const [item] = await dryRun(quote);
  t.match(item, { outcome: 'failed', reasons: ['InvalidQuoteOBSignature'] });
  t.match(item?.signer, /^0x[0-9a-f]{40}$/);
  t.not(item?.signer, maker.address.toLowerCase());
});

await t.test('a key that no pool can have has nothing to compare with', async (t) => {
  const quote = await signQuote(makerKey, { poolAddress, poolKey: { ...poolKey, strike: 1n } });
  t.strictSame(await dryRun(quote), [
    {
      outcome: 'failed',
      reasons: ['Failed to fetch pool address'],
      poolAddress: null,
      domainSeparator: null,
      digest: null,
      signer: null,
    },
  ]);
});

await t.test('a misspelt parameter publishes nothing', async (t) => {
  const quote = await signQuote(makerKey, pool);
  for (const query of ['dryrun=true', 'dryRun=yes', 'dryRun=true&dryRun=true']) {
    const { status, body } = await rest.post(`/quotes?${query}`, [quote]);
    t.equal(status, 400, query);
    t.ok(Array.isArray(body), query);
  }
  t.match(await rest.post('/quotes?dryRun=false&', [quote]), { status: 201 });
});

await t.test('a dry run needs no wallet', async (t) => {
  const reader = await startTestService({ chain, walletKey: null });
  t.teardown(() => reader.stop());
  const client = new RestClient(reader.httpUrl, reader.apiKey);
  const quote = await signQuote(makerKey, pool);
  t.match(await client.post('/quotes?dryRun=true', [quote]), {
    status: 200,
    body: { quotes: [{ outcome: 'created' }] },
  });
  t.equal((await client.post('/quotes', [quote])).status, 501);
});
