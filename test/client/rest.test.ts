import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { ApiError, OrderbookClient } from '../../src/client/node.js';
import { quote, ScriptedServer } from './scripted-server.js';

function client() {
  const server = new ScriptedServer();
  return {
    server,
    rest: new OrderbookClient({ url: 'http://quotes.test/', apiKey: 'k', chainId: '421613' }, server.ports).rest,
  };
}

t.test('a call carries the key, and its query the chain', async (t) => {
  const { server, rest } = client();
  await rest.quotes({ poolAddress: quote(1).poolAddress, size: '7', side: 'ask' });
  t.strictSame(server.requests, [
    {
      url: `http://quotes.test/quotes?poolAddress=${quote(1).poolAddress}&size=7&side=ask&chainId=421613`,
      method: 'GET',
      headers: { accept: 'application/json, application/problem+json', 'x-apikey': 'k' },
      redirect: 'manual',
    },
  ]);
});

t.test('each call has its route, and gives what was answered', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 299, body: '{"answered":true}' };
  const { poolAddress, taker } = quote(1);
  const option = { base: 'WETH', quote: 'USDC', expiration: '27NOV26', strike: '1800', type: 'C' } as const;
  const signature = { r: `0x${'1'.repeat(64)}`, s: `0x${'2'.repeat(64)}`, v: 27 } as const;
  const signed = { chainId: '421613', provider: taker, quoteIds: [], nonce: '1', deadline: 1, signature };
  const calls: readonly (readonly [route: string, call: Promise<unknown>])[] = [
    ['GET /quotes', rest.quotes({ poolAddress, size: '7', side: 'ask' })],
    ['GET /rfq_quotes', rest.rfqQuotes({ poolAddress, side: 'ask', taker })],
    ['GET /orders', rest.orders()],
    ['GET /tickers', rest.tickers()],
    ['GET /tickers', rest.pastTickers({ asOfSeq: '7' })],
    [`GET /book/${poolAddress}`, rest.book(poolAddress)],
    ['GET /book/WETH-USDC-27NOV26-1800-C', rest.book('WETH-USDC-27NOV26-1800-C', { depth: '5' })],
    ['GET /trades', rest.trades({ provider: taker })],
    ['GET /candles', rest.candles({ poolAddress, interval: '1h' })],
    ['POST /quotes', rest.postQuotes([])],
    ['DELETE /quotes', rest.withdrawQuotes(signed)],
    ['POST /quotes/restore', rest.restoreQuotes(signed)],
    ['POST /authorizations', rest.authorizeKey(signed)],
    ['DELETE /authorizations', rest.revokeKey(signed)],
    ['GET /authorizations', rest.authorizations()],
    ['POST /heartbeat', rest.heartbeat(taker, 15)],
    [
      'POST /fill_limits',
      rest.setFillLimit({ provider: taker, poolAddress, contracts: '0', fills: 1, windowSeconds: 1 }),
    ],
    ['GET /fill_limits', rest.fillLimits(taker)],
    ['GET /quotes/withdrawn', rest.withdrawnQuotes({ provider: taker })],
    ['GET /pools', rest.pools()],
    ['POST /pools', rest.deployPools([])],
    ['GET /vaults/quote', rest.vaultQuote({ ...option, size: '1', direction: 'buy' })],
    ['POST /pool/settle', rest.settle([])],
  ];
  for (const [route, call] of calls) t.strictSame(await call, { answered: true }, route);
  t.strictSame(
    server.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`),
    calls.map(([route]) => route),
  );
});

t.test('lists are written with brackets, and what is undefined is left out', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 200, body: '{"validQuotes":[],"invalidQuotes":[]}' };
  const untyped: object = { side: undefined };
  await rest.orders({ quoteIds: [quote(1).quoteId, quote(2).quoteId], ...untyped });
  t.equal(
    server.requests[0]?.url,
    `http://quotes.test/orders?quoteIds[]=${quote(1).quoteId}&quoteIds[]=${quote(2).quoteId}&chainId=421613`,
  );
});

t.test('many ids go in a body, with the limit as a number', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 200, body: '{"validQuotes":[],"invalidQuotes":[]}' };
  const quoteIds = Array.from({ length: 41 }, (_, i) => quote(i).quoteId);
  await rest.orders({ quoteIds, limit: '5' });
  const { url, method, body } = server.requests[0] ?? {};
  t.strictSame([method, url], ['POST', 'http://quotes.test/orders/query']);
  t.strictSame(JSON.parse(String(body)), { quoteIds, limit: 5, chainId: '421613' });
});

t.test('many ids as of the past go in the query: the body has no point of the past', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 200, body: '{"validQuotes":[],"invalidQuotes":[]}' };
  const quoteIds = Array.from({ length: 41 }, (_, i) => quote(i).quoteId);
  for (const point of [{ asOfSeq: 0 }, { asOfBlock: 7 }, { asOfTime: 6 }]) {
    await rest.orders({ quoteIds, ...point });
    const { url = '', method } = server.requests.at(-1) ?? {};
    const { pathname, searchParams } = new URL(url);
    t.strictSame([method, pathname, searchParams.getAll('quoteIds[]')], ['GET', '/orders', quoteIds]);
    const [[name, value] = []] = Object.entries(point);
    t.equal(searchParams.get(String(name)), String(value));
  }
});

t.test('numbers of answers and of the clock go into queries as they are', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 200, body: '{}' };
  const { poolAddress, quoteId } = quote(1);
  await rest.orders({ limit: 5, asOfBlock: 7 });
  await rest.trades({ from: 1, to: 2, limit: 1000 });
  await rest.candles({ poolAddress, interval: '1h', from: 1 });
  await rest.quoteHistory(quoteId, { afterSeq: 8, limit: 9 });
  await rest.book(poolAddress, { depth: 3, asOfSeq: 4 });
  await rest.pastTickers({ asOfTime: 6 });
  await rest.bookProof(poolAddress, 7);
  t.strictSame(
    server.requests.map(({ url }) => new URL(url).search),
    [
      '?limit=5&asOfBlock=7&chainId=421613',
      '?from=1&to=2&limit=1000&chainId=421613',
      `?poolAddress=${poolAddress}&interval=1h&from=1&chainId=421613`,
      '?afterSeq=8&limit=9',
      '?depth=3&asOfSeq=4&chainId=421613',
      '?asOfTime=6&chainId=421613',
      '?seq=7&chainId=421613',
    ],
  );
});

t.test('of no ids there are no orders: nothing is asked, since a query without them asks for all', async (t) => {
  const { server, rest } = client();
  t.strictSame(await rest.orders({ quoteIds: [] }), { validQuotes: [], invalidQuotes: [] });
  t.strictSame(await rest.orders({ quoteIds: [], limit: '5' }), {
    validQuotes: [],
    invalidQuotes: [],
    nextCursor: null,
  });
  t.strictSame(server.requests, []);
});

t.test('a body goes as JSON', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 200, body: '{"created":[],"existed":[],"failed":[]}' };
  const option = { base: 'WETH', quote: 'USDC', expiration: '27NOV26', strike: 1800, type: 'C' } as const;
  t.strictSame(await rest.deployPools([option]), { created: [], existed: [], failed: [] });
  t.strictSame(server.requests[0], {
    url: 'http://quotes.test/pools',
    method: 'POST',
    headers: {
      accept: 'application/json, application/problem+json',
      'x-apikey': 'k',
      'content-type': 'application/json',
    },
    redirect: 'manual',
    body: JSON.stringify([option]),
  });
});

t.test('an error says what the server said, and when to come back', async (t) => {
  const { server, rest } = client();
  server.answer = {
    status: 429,
    body: '{"message":"RATELIMITED"}',
    headers: { 'retry-after': '3', 'x-request-id': 'r-1' },
  };
  const error = await rest.pools().catch((caught: unknown) => caught);
  t.type(error, ApiError);
  t.match(error, {
    status: 429,
    message: 'RATELIMITED',
    retryAfterMs: 3_000,
    requestId: 'r-1',
    problems: [],
    pending: [],
  });
});

t.test('a schema error names the place', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 400, body: '[{"instancePath":"/0/price","message":"must be string"}]' };
  await t.rejects(rest.postQuotes([]), { status: 400, message: '/0/price must be string' });
});

t.test('problem details give an error its code, and the text and the list of plain JSON', async (t) => {
  const { server, rest } = client();
  const refusal = {
    type: '/docs/errors.md#codes',
    title: 'The key has not proven the address of the taker',
    status: 403,
    detail: 'The key has not proven its address',
    code: 'taker_not_proven',
    retryable: false,
  };
  server.answer = { status: 403, body: JSON.stringify(refusal) };
  const { message, ...other } = (await rest.orders().catch((caught: unknown) => caught)) as ApiError;
  t.equal(message, 'The key has not proven its address');
  t.match(other, { status: 403, code: 'taker_not_proven', retryable: false, param: null, problems: [], pending: [] });

  const errors = [{ instancePath: '/0/price', message: 'must be string' }];
  const schema = { detail: 'must be string', code: 'invalid_parameter', retryable: false, param: '0.price', errors };
  server.answer = { status: 400, body: JSON.stringify(schema) };
  const invalid = await rest.postQuotes([]).catch((caught: unknown) => caught);
  t.match(invalid, { message: '/0/price must be string', code: 'invalid_parameter', param: '0.price' });
  t.strictSame((invalid as ApiError).problems, errors);

  const late = { detail: 'not confirmed', code: 'not_confirmed', retryable: true, pending: [quote(1).quoteId] };
  server.answer = { status: 504, body: JSON.stringify(late) };
  await t.rejects(rest.postQuotes([]), { message: 'not confirmed', retryable: true, pending: [quote(1).quoteId] });
});

t.test('an error of a proxy or of an older server has no code', async (t) => {
  const { server, rest } = client();
  for (const body of [
    '{"message":"no"}',
    '[{"instancePath":"","message":"no"}]',
    '{"code":7,"retryable":"no"}',
    'no',
  ]) {
    server.answer = { status: 400, body };
    await t.rejects(rest.pools(), { name: 'ApiError', code: null, retryable: null, param: null }, body);
  }
});

t.test('ids that may still enter come with the 504', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 504, body: JSON.stringify({ message: 'not confirmed', pending: [quote(1).quoteId] }) };
  const error = await rest.postQuotes([]).catch((caught: unknown) => caught);
  t.match(error, { status: 504, pending: [quote(1).quoteId] });
});

t.test('what a proxy says in its own words is an error too', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 502, body: '<html>Bad gateway</html>' };
  await t.rejects(rest.pools(), { status: 502, message: '<html>Bad gateway</html>' });
});

t.test('a page that a proxy sends with 200 rejects as an ApiError', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 200, body: '<html>Log in first</html>' };
  await t.rejects(rest.pools(), { name: 'ApiError', status: 200, message: '<html>Log in first</html>' });
});

t.test('Retry-After is read as seconds, or ignored', async (t) => {
  const { server, rest } = client();
  const headers = { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' };
  server.answer = { status: 503, body: '{"message":"maintenance"}', headers };
  const error = await rest.pools().catch((caught: unknown) => caught);
  t.match(error, { status: 503, retryAfterMs: null });
});

t.test('an error about what is no longer kept says from where on the server answers', async (t) => {
  const { server, rest } = client();
  const body = JSON.stringify({ message: 'States before event 7 are not kept', oldest: { seq: 7, tsMs: 1 } });
  server.answer = { status: 410, body };
  await t.rejects(rest.book('0x1'), { name: 'ApiError', status: 410, oldestSeq: 7 });
  server.answer = { status: 410, body: '{"message":"This service keeps no log"}' };
  await t.rejects(rest.book('0x1'), { name: 'ApiError', status: 410, oldestSeq: null });
});

t.test('a proxy that does not reach the server says nothing of whether that is ready', async (t) => {
  const { server, rest } = client();
  const others = ['{"message":"no upstream"}', 'null', '{"ready":false}', '{"ready":"no","reasons":[]}'];
  for (const body of ['<html>No server is available</html>', ...others]) {
    server.answer = { status: 503, body, headers: { 'retry-after': '2' } };
    await t.rejects(rest.ready(), { name: 'ApiError', status: 503, retryAfterMs: 2_000 }, body);
  }
});

t.test('a server that is not ready yet is an answer, not an error', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 503, body: '{"ready":false,"reasons":["starting"]}' };
  t.strictSame(await rest.ready(), { ready: false, reasons: ['starting'] });
});

t.test('what a query holds does not become another query', async (t) => {
  const { server, rest } = client();
  await rest.pools({ expiration: '27NOV26&base=WETH' });
  t.equal(server.requests[0]?.url, 'http://quotes.test/pools?expiration=27NOV26%26base%3DWETH');
});

t.test('of a page in the place of an answer the beginning is shown', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 502, body: 'x'.repeat(100_000) };
  const error = await rest.pools().catch((caught: unknown) => caught);
  t.equal((error as ApiError).message, 'x'.repeat(200));
});

t.test('a schema error of the whole request says so', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 400, body: '[{"instancePath":"","message":"must be array"}]' };
  await t.rejects(rest.postQuotes([]), { message: 'the request must be array' });
});

async function served(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('nobody is sent the key whom a redirect names, and no POST becomes a GET that succeeds', async (t) => {
  let asked = 0;
  const elsewhere = await served(t, (_, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json').end('[]');
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await served(t, (_, response) => response.writeHead(status, { location: elsewhere }).end());
    const { rest } = new OrderbookClient({ url, apiKey: 'k', chainId: '421613' });
    const refused = { name: 'ApiError', status, message: 'A redirect is not followed' };
    await t.rejects(rest.postQuotes([]), refused);
    await t.rejects(rest.pools(), refused);
    await t.rejects(rest.ready(), refused);
  }
  t.equal(asked, 0);
});

t.test('a browser tells of a redirect as of status 0', async (t) => {
  const { server, rest } = client();
  server.answer = { status: 0, body: '' };
  await t.rejects(rest.pools(), { name: 'ApiError', status: 0, message: 'A redirect is not followed' });
});
