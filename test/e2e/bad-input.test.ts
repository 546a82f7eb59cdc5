import { createConnection } from 'node:net';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { limits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { type ErrorCode, errorAnchor, errorType } from '../../src/wire/error-codes.js';
import { ONE, signQuote, type WireQuote } from './maker.js';
import { type RestAnswer, RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey, engine } = running;
const rest = new RestClient(httpUrl, apiKey);
const [pool] = chain.pools;
const [, maker, stranger] = chain.accounts;
if (!pool || !maker || !stranger) throw new Error('The local chain lacks pools or accounts');
const good = await signQuote(maker.privateKey, pool);

const problemJson = { accept: 'application/problem+json' };

interface Refusal {
  readonly keyword: string;
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly message: string;
}

/** Posts and expects the first schema error to be this one, and the book to stay as it was. */
async function refused(t: Test, body: unknown, first: Partial<Refusal>): Promise<void> {
  const seq = engine.seq;
  const answer = await rest.post('/quotes', body);
  t.match({ status: answer.status, first: (answer.body as unknown as Refusal[])[0] }, { status: 400, first });
  t.match(engine.seq, seq, 'nothing changed');
}

/** Posts one quote and expects it to fail alone, with a reason and as it was posted. */
async function failed(t: Test, quote: WireQuote, reason: string): Promise<void> {
  const answer = await rest.post('/quotes', [quote]);
  t.strictSame([answer.status, answer.body], [200, { created: [], failed: [{ reason, quote }], exists: [] }]);
}

await t.test('a body of the wrong shape is refused in the words of its schema', async (t) => {
  await refused(t, [{ ...good, deadline: '1' }], { instancePath: '/0/deadline', message: 'must be integer' });
  await refused(t, [{ ...good, extra: 1 }], { message: 'must NOT have additional properties' });
  const unsalted = Object.fromEntries(Object.entries(good).filter(([name]) => name !== 'salt'));
  await refused(t, [unsalted], { message: "must have required property 'salt'" });
  await refused(t, [], { keyword: 'minItems' });
  await refused(
    t,
    Array.from({ length: 1001 }, () => good),
    { keyword: 'maxItems' },
  );
  await refused(t, good, { keyword: 'type', message: 'must be array' });
  await refused(t, [{ ...good, size: '-1' }], { keyword: 'pattern', instancePath: '/0/size' });
  await refused(t, [{ ...good, size: '9'.repeat(79) }], { instancePath: '/0/size' });
  await refused(t, [{ ...good, chainId: '1' }], { keyword: 'pattern', instancePath: '/0/chainId' });
  await refused(t, [{ ...good, chainId: '42161' }], {
    instancePath: '/0/chainId',
    schemaPath: '#/items/properties/chainId/enum',
  });
  await refused(t, [{ ...good, salt: 2 ** 53 }], { instancePath: '/0/salt' });
  await refused(t, '[{"a":', { keyword: 'json', message: 'must be JSON' });
});

await t.test('a client that asks for problem details gets them', async (t) => {
  const answer = await rest.post('/quotes', [], problemJson);
  t.equal(answer.headers.get('content-type'), 'application/problem+json');
  t.match(answer.body, { status: 400, code: 'invalid_parameter', retryable: false, errors: [{ keyword: 'minItems' }] });
  t.notOk('param' in answer.body, 'no single field is wrong');
});

await t.test('every problem has a code, and names the parameter that is wrong', async (t) => {
  const cases: [() => Promise<RestAnswer>, number, object][] = [
    [() => rest.post('/quotes', [{ ...good, deadline: '1' }], problemJson), 400, { param: '0.deadline' }],
    [() => rest.post('/quotes', [{ ...good, extra: 1 }], problemJson), 400, { param: '0.extra' }],
    [() => rest.post('/quotes', '[{"a":', problemJson), 400, { code: 'malformed_body' }],
    [
      () => rest.post('/quotes', [{ ...good, chainId: '42161' }], problemJson),
      400,
      { code: 'unsupported_chain', param: '0.chainId' },
    ],
    [
      () => {
        const leg = { poolAddress: pool.poolAddress, side: 'ask', size: '0' };
        const body = { chainId: good.chainId, taker: good.provider, legs: [{ ...leg, size: '1' }, leg] };
        return rest.post('/rfqs', body, problemJson);
      },
      400,
      { param: 'legs.1.size' },
    ],
    [() => rest.get('/quotes?chainId=421613', problemJson), 400, { code: 'invalid_parameter', param: 'poolAddress' }],
    [() => rest.get('/orders?chainId=%ff', problemJson), 400, { code: 'malformed_query' }],
    [() => rest.get('/nowhere', problemJson), 404, { code: 'unknown_path' }],
    [() => rest.get('/quotes', { ...problemJson, 'x-apikey': 'wrong' }), 401, { code: 'api_key_unknown' }],
    [
      () => rest.get('/pools?expiration=99ABC99', problemJson),
      400,
      { code: 'invalid_expiration', param: 'expiration' },
    ],
    [() => rest.post('/quotes', [good], { ...problemJson, 'content-encoding': 'gzip' }), 415, {}],
  ];
  for (const [ask, status, about] of cases) {
    const { body } = await ask();
    const code = body.code as ErrorCode;
    t.match(body, { status, code: /^[a-z_]+$/, retryable: false, type: errorType(code), ...about });
    const page = await fetch(new URL(errorType(code), httpUrl));
    t.match(await page.text(), `id="${errorAnchor(code)}"`, 'the type leads to where the code is explained');
  }
});

await t.test('a packed body is not taken, and the answer says so', async (t) => {
  for (const path of ['/quotes', '/pools', '/pool/settle']) {
    const answer = await rest.post(path, [good], { 'content-encoding': 'gzip' });
    t.strictSame([answer.status, answer.body], [415, { message: 'A body with a Content-Encoding is not taken' }], path);
    t.equal(answer.headers.get('accept-encoding'), 'identity');
  }
  const answer = await rest.post('/quotes', [], { 'content-encoding': 'Identity' });
  t.match(answer, { status: 400, body: [{ keyword: 'minItems' }] }, 'one that changes nothing is accepted');
});

await t.test('JSON as deep as it fits is refused like any wrong shape', async (t) => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const depth = Math.floor(limits.batchBodyBytes / (open.length + close.length)) - 1;
    const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
    t.equal((await rest.post('/quotes', nested)).status, 400, `${depth} of ${open}`);
  }
});

await t.test('the body of a batch may be larger than others', async (t) => {
  const batches = [
    ...['/quotes', '/orders/query', '/orderbook/quotes', '/pools'],
    ...['/pool/settle', '/pool/exercise', '/pool/annihilate'],
  ];
  const posts = running.service.routes.filter(({ method, needsKey }) => method === 'POST' && needsKey);
  t.ok(posts.length > batches.length);
  for (const { path } of posts) {
    const most = batches.includes(path) ? limits.batchBodyBytes : limits.bodyBytes;
    const { status } = await rest.post(path, ' '.repeat(most));
    t.equal(status, 400, `${path}: ${most} bytes are read`);
    t.equal((await rest.post(path, ' '.repeat(most + 1))).status, 413, `${path}: one more is not`);
  }
  t.equal((await rest.post('/Quotes/', ' '.repeat(limits.batchBodyBytes))).status, 400, 'and so by another spelling');
  const others = running.service.routes.filter(({ path, method }) => method !== 'POST' && path === '/orderbook/quotes');
  for (const method of ['PATCH', 'DELETE'] as const) {
    t.ok(others.some((route) => route.method === method));
    t.equal((await rest.send(method, '/orderbook/quotes', ' '.repeat(limits.bodyBytes + 1))).status, 413, method);
  }
});

await t.test('a body of 10 MB is refused before it is read', async (t) => {
  const answer = await rest.post('/quotes', `[${' '.repeat(10_000_000)}]`);
  t.strictSame([answer.status, answer.body], [413, { message: 'The body is too large' }]);
});

await t.test('a quote that no pool would fill fails with its reason', async (t) => {
  const { s, v } = good.signature;
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const highS = `0x${(order - BigInt(s)).toString(16).padStart(64, '0')}`;
  await failed(t, { ...good, signature: { ...good.signature, s: highS, v: 55 - v } }, 'InvalidQuoteOBSignature');
  await failed(t, { ...good, signature: { ...good.signature, v: 29 } }, 'InvalidQuoteOBSignature');
  await failed(t, { ...good, provider: stranger.address }, 'InvalidQuoteOBSignature');
  const late = await signQuote(maker.privateKey, pool, { deadline: Math.floor(Date.now() / 1000) - 5 });
  await failed(t, late, 'Quote deadline is invalid (cannot be less than 10 sec)');
  const dear = await signQuote(maker.privateKey, pool, { price: ONE + 1n });
  await failed(t, dear, 'OutOfBoundsPrice');
  const nothing = await signQuote(maker.privateKey, pool, { size: 0n });
  await failed(t, nothing, 'InvalidAssetUpdate');
  const huge = await signQuote(maker.privateKey, pool, { size: 2n ** 256n - 1n });
  await failed(t, huge, 'InvalidAssetUpdate');
  await failed(t, { ...good, poolKey: { ...good.poolKey, strike: '1' } }, 'Failed to fetch pool address');
});

await t.test('a quote of a provider without collateral fails with InsufficientCollateralAllowance', async (t) => {
  const poor: Hex = `0x${'5a'.repeat(32)}`;
  await failed(t, await signQuote(poor, pool), 'InsufficientCollateralAllowance');
});

await t.test('without a good key there is nothing', async (t) => {
  const none = await new RestClient(httpUrl, null).get('/orders?chainId=421613');
  t.strictSame([none.status, none.body], [401, { message: 'API key not provided' }]);
  const bad = await new RestClient(httpUrl, 'qb_nobody').post('/quotes', [good]);
  t.strictSame([bad.status, bad.body], [401, { message: 'NOT_FOUND' }]);
});

await t.test('sloppy query strings are read, wrong ones refused', async (t) => {
  const sloppy = await rest.get(`/quotes?&poolAddress=${pool.poolAddress}&&side=ask&size=1&chainId=421613`);
  t.strictSame([sloppy.status, sloppy.body], [200, []]);
  for (const query of ['', '?side=ask', `?poolAddress=${pool.poolAddress}&side=up&size=1&chainId=421613`]) {
    t.equal((await rest.get(`/quotes${query}`)).status, 400, query);
  }
  const id = `0x${'00'.repeat(32)}`;
  const byIds = await rest.get(`/orders?quoteIds%5B%5D=${id}&quoteIds[]=${id}&quoteIds=${id}`);
  t.strictSame([byIds.status, byIds.body], [200, { validQuotes: [], invalidQuotes: [] }]);
  const withBad = await rest.get(`/orders?quoteIds[]=${id}&quoteIds[]=0x12&quoteIds[]=`);
  t.strictSame([withBad.status, withBad.body], [200, { validQuotes: [], invalidQuotes: [] }], 'malformed ids');
  t.equal((await rest.get('/orders')).status, 400, 'no chain and no ids');
  t.equal((await rest.get('/nowhere')).status, 404);
});

await t.test('a socket that sends nonsense gets an error and stays open', async (t) => {
  const socket = await SocketClient.open(wsUrl);
  t.teardown(() => socket.end());
  const filter = { type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613' } };
  t.strictSame(await socket.ask(filter), { type: 'ERROR', body: null, message: 'Not Authorized' });
  t.strictSame(await socket.auth('nobody'), { type: 'ERROR', body: null, message: 'NOT_FOUND' });
  t.strictSame(await socket.auth(apiKey), {
    type: 'INFO',
    body: null,
    message: 'Session authorized. Subscriptions enabled.',
  });
  const deep = '['.repeat(limits.wsMessageBytes / 2) + ']'.repeat(limits.wsMessageBytes / 2);
  for (const bad of [deep, { type: 'HELLO' }, '{"type":', Buffer.from([1, 2]), { ...filter, body: { chainId: 1 } }]) {
    t.match(await socket.ask(bad), { type: 'ERROR', body: null, message: /.+/ });
  }
  t.match(await socket.ask(filter), { type: 'INFO' }, 'it still serves');
});

await t.test('a client that leaves in the middle of its request harms nobody', async (t) => {
  const { port } = new URL(httpUrl);
  const socket = createConnection(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`POST /quotes HTTP/1.1\r\nhost: x\r\nx-apikey: ${apiKey}\r\ncontent-length: 5000\r\n\r\n[{"poolKey"`);
  socket.destroy();
  await once(socket, 'close');
  t.equal((await rest.get('/orders?chainId=421613')).status, 200);
});

await t.test('a service without a wallet says which setting it lacks', async (t) => {
  const reader = await startTestService({ chain, walletKey: null });
  t.teardown(() => reader.stop());
  const answer = await new RestClient(reader.httpUrl, reader.apiKey).post('/quotes', [good]);
  t.strictSame(answer.body, { message: 'No wallet is configured to publish with: set walletKey or walletKeyFile' });
  t.equal(answer.status, 501);
});

await t.test('a wallet without money is named', async (t) => {
  const broke = await startTestService({ chain, walletKey: `0x${'6b'.repeat(32)}` });
  t.teardown(() => broke.stop());
  const answer = await new RestClient(broke.httpUrl, broke.apiKey).post('/quotes', [good]);
  t.match(
    { ...answer.body, status: answer.status },
    { status: 503, message: /^The wallet 0x[0-9a-f]{40} has no money for gas$/ },
  );
});
