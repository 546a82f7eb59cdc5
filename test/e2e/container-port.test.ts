import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { Pool } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import type { Offer, SignedOffer } from '../chain/sign-quote.js';
import { readDocument } from '../app/read-document.js';
import { RestClient, untilKnown } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { optionOf, queryOf } from './wire-option.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
// One token of the chain has no symbol in this deployment, as those of pools that anybody deploys.
const tokens = chain.profile.tokens.filter(({ symbol }) => symbol !== 'WBTC');
const running = await startTestService({ chain, profile: { ...chain.profile, tokens }, containerPort: 0 });
t.teardown(() => running.stop());
const { apiKey, containerAt, httpUrl, wsUrl } = running;
if (containerAt === null) throw new Error('there is a second listener');
const market = new Market(chain);
const { maker, taker } = market;
const container = new RestClient(`http://${containerAt}`, apiKey);
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const unnamed = market.pool('WBTC', 30_000n, true);
const chainId = '421613';

async function open(t: Test, channel: 'QUOTES' | 'RFQ', more: object = {}): Promise<SocketClient> {
  const socket = await SocketClient.open(`ws://${containerAt}`, undefined, 'readable');
  t.teardown(() => socket.end());
  await socket.auth(apiKey);
  t.match(await socket.ask({ type: 'FILTER', channel, body: { chainId, ...more } }), { type: 'INFO', body: null });
  return socket;
}

/** What the public container serves, and the other names of two of its routes. */
const CONTAINER_ROUTES: readonly string[] = [
  'POST /orderbook/quotes',
  'PATCH /orderbook/quotes',
  'DELETE /orderbook/quotes',
  'GET /orderbook/quotes',
  'GET /orderbook/orders',
  'POST /pool/exercise',
  'POST /pool/annihilate',
  'GET /account/orders',
  'GET /account/collateral_balances',
  'GET /account/native_balance',
  'GET /account/option_balances',
  'GET /account/option_balance',
  'POST /account/collateral_approval',
  'GET /pools/strikes',
  'GET /pools/maturities',
  'GET /oracles/spot',
  'GET /oracles/iv',
  'POST /vaults/trade',
  'GET /rfq/message',
  'GET /rfq/request',
  'GET /vaults/quote',
  'GET /pools',
  'POST /pools',
  'POST /pool/settle',
];

async function withoutKey(method: string, path: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`http://${containerAt}${path}`, { method });
  return { status: answer.status, body: await answer.json() };
}

interface Posted extends SignedOffer {
  /** Of its block on the stream chain, Unix seconds. */
  readonly ts: number;
}

/** Published through the second listener, to be filled within an hour. */
async function post(pool: Pool, terms: Partial<Offer> = {}): Promise<Posted> {
  const deadline = (await market.now()) + 3600;
  const offer = await market.sign(pool, { price: ONE / 20n, deadline, ...terms });
  const { provider, taker, price, size, isBuy, salt, signature } = offer;
  const poolKey = { ...pool.poolKey, strike: String(pool.poolKey.strike) };
  const amounts = { price: String(price), size: String(size) };
  const quote = { poolKey, chainId, provider, taker, ...amounts, isBuy, deadline, salt, signature };
  const { status, body } = await container.post('/quotes', [quote]);
  if (status !== 201) throw new Error(JSON.stringify(body));
  const [created] = body.created as readonly Pick<Posted, 'ts'>[];
  return { ...offer, ts: created?.ts ?? 0 };
}

/** The next frame is this one, of that quote. `frame.body`: what differs from a whole ask of one contract. */
async function sees(
  t: Test,
  socket: SocketClient,
  { body: changed = {}, ...frame }: { readonly type: string; readonly body?: object; readonly tradeSize?: string },
  { quoteId, isBuy, provider, taker, ts }: Posted,
  option: object,
): Promise<void> {
  const message = await socket.next();
  const { deadline } = message.body as { readonly deadline: number };
  t.ok(Math.abs(deadline - 3600) < 100, `${deadline} seconds left`);
  const body = {
    ...option,
    side: isBuy ? 'bid' : 'ask',
    remainingSize: 1,
    price: 0.05,
    provider,
    taker,
    deadline,
    quoteId,
    createdAt: ts,
    ...changed,
  };
  t.strictSame(message, { ...frame, body });
  t.strictSame(Object.keys(message.body as object), Object.keys(body), 'in their order');
}

await t.test('the same routes are served, with the same keys', async (t) => {
  for (const [path, status] of [
    ['/pools', 200],
    ['/pools/maturities', 200],
    ['/ready', 200],
    ['/nowhere', 404],
  ] as const) {
    const [first, second] = await Promise.all([new RestClient(httpUrl, apiKey).get(path), container.get(path)]);
    t.strictSame([second.status, second.body], [status, first.body], path);
  }
  const { status, body } = await new RestClient(`http://${containerAt}`, null).get('/pools');
  t.strictSame([status, body], [401, { message: 'API key not provided' }]);
  const query = queryOf({ ...optionOf(chain, call), base: 'DOGE' }, { size: '1', direction: 'buy' });
  const refused = await container.get(`/vaults/quote?${query}`);
  t.equal(refused.status, 400);
  t.match(refused.body, [{ keyword: 'pattern', message: /^must match pattern "\^testWETH\$\|/ }]);
});

await t.test('every route of the container is served on it, documented, and listed in its guide', async (t) => {
  const { paths } = (await container.get('/openapi.json')).body as { readonly paths: Record<string, object> };
  const guide = readDocument('docs/how-to/replace-the-container.md');
  const listed = [...guide.matchAll(/^\| `([A-Z]+ \/[\w/]+)` /gm)].map(([, route]) => route);
  t.strictSame(listed, CONTAINER_ROUTES);
  for (const route of CONTAINER_ROUTES) {
    const [method = '', path = ''] = route.split(' ');
    const preflight = await fetch(`http://${containerAt}${path}`, { method: 'OPTIONS' });
    const methods = preflight.headers.get('access-control-allow-methods')?.split(', ') ?? [];
    t.ok(methods.includes(method), `${route} is served`);
    t.ok(method.toLowerCase() in (paths[path] ?? {}), `${route} is documented`);
    const { status, body } = await withoutKey(method, path);
    t.strictSame([status, body], [401, { message: 'API key not provided' }], `${route} needs a key`);
  }
});

await t.test('routes that spend the wallet need a key with the scope operator', async (t) => {
  const { key } = await running.keys.create('paid', 'reads alone');
  const reader = new RestClient(`http://${containerAt}`, key);
  await untilKnown(() => reader.get('/pools'));
  const guide = readDocument('docs/how-to/replace-the-container.md');
  const spending = [...guide.matchAll(/^\| `([A-Z]+ \/[\w/]+)` +\| `operator`/gm)].map(([, route = '']) => route);
  t.equal(spending.length, 7);
  for (const route of spending) {
    const [method = '', path = ''] = route.split(' ');
    const answer = await fetch(`http://${containerAt}${path}`, { method, headers: { 'x-apikey': key }, body: '[]' });
    t.equal(answer.status, 403, route);
  }
});

await t.test('a quote is posted, filled and deleted by symbols and in whole units', async (t) => {
  const socket = await open(t, 'QUOTES');
  const option = optionOf(chain, call);
  const posted = await post(call);
  await sees(t, socket, { type: 'POST_QUOTE' }, posted, option);
  await market.fill(taker.address, posted, ONE / 4n);
  await sees(t, socket, { type: 'FILL_QUOTE', body: { remainingSize: 0.75 }, tradeSize: '0.25' }, posted, option);
  await market.cancel(maker.address, call.poolAddress, [posted.quoteId]);
  await sees(t, socket, { type: 'DELETE_QUOTE', body: { remainingSize: 0 } }, posted, option);

  const bid = await post(put, { isBuy: true });
  await sees(t, socket, { type: 'POST_QUOTE' }, bid, optionOf(chain, put));
  await market.fill(taker.address, bid, ONE);
  const filled = { type: 'FILL_QUOTE', body: { remainingSize: 0 }, tradeSize: '1.0' };
  await sees(t, socket, filled, bid, optionOf(chain, put));
  await sees(t, socket, { type: 'DELETE_QUOTE', body: { remainingSize: 0 } }, bid, optionOf(chain, put));
});

await t.test('a token without a symbol goes by its address', async (t) => {
  const socket = await open(t, 'QUOTES', { poolAddress: unnamed.poolAddress });
  const posted = await post(unnamed);
  const { poolKey } = unnamed;
  await sees(t, socket, { type: 'POST_QUOTE' }, posted, { ...optionOf(chain, unnamed), base: poolKey.base });
});

await t.test('a private quote goes to its taker', async (t) => {
  const mine = await open(t, 'QUOTES', { taker: taker.address });
  const other = await open(t, 'QUOTES');
  const posted = await post(call, { taker: taker.address });
  await sees(t, mine, { type: 'POST_QUOTE' }, posted, optionOf(chain, call));
  const next = await post(call);
  await sees(t, other, { type: 'POST_QUOTE' }, next, optionOf(chain, call));
});

await t.test('a request for quotes names the option, in either of its forms, to its sender as well', async (t) => {
  const socket = await open(t, 'RFQ');
  const body = { side: 'ask', chainId, size: String((3n * ONE) / 2n), taker: taker.address };
  const told = {
    type: 'RFQ',
    body: { ...optionOf(chain, call), side: 'ask', size: 1.5, taker: taker.address },
  };
  const poolKey = { ...call.poolKey, strike: String(call.poolKey.strike) };
  for (const pool of [{ poolKey }, { poolAddress: call.poolAddress }]) {
    socket.send({ type: 'RFQ', body: { ...pool, ...body } });
    t.strictSame(await socket.next(), told);
    t.match(await socket.next(), { type: 'INFO', message: /^Published RFQ to rfq:/ });
  }
  const { body: ready } = await container.get(
    `/rfq/message?${queryOf(optionOf(chain, call), { size: '1', direction: 'buy' })}`,
  );
  socket.send(ready);
  t.match(await socket.next(), { type: 'RFQ', body: { ...optionOf(chain, call), size: 1 } });
});

await t.test('AUTH, refusals and UNSUBSCRIBE are those of the plain protocol', async (t) => {
  const socket = await SocketClient.open(`ws://${containerAt}`, undefined, 'readable');
  t.teardown(() => socket.end());
  const filter = { type: 'FILTER', channel: 'QUOTES', body: { chainId } };
  const error = (message: string) => ({ type: 'ERROR', body: null, message });
  t.strictSame(await socket.ask(filter), error('Not Authorized'));
  t.strictSame(await socket.auth('nobody'), error('NOT_FOUND'));
  t.match(await socket.auth(apiKey), { message: 'Session authorized. Subscriptions enabled.' });
  t.strictSame(await socket.ask('{"type":'), error('Message is not valid JSON'));
  t.match(await socket.ask(filter), { type: 'INFO', message: /^Subscribed to quotes:421613/ });
  t.match(await socket.ask({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null }), {
    message: 'Unsubscribed from QUOTES channel',
  });
});

await t.test('frames that a client sends as soon as the socket is open are all answered', async (t) => {
  const socket = new WebSocket(`ws://${containerAt}`);
  t.teardown(() => socket.terminate());
  const answers: string[] = [];
  socket.on('message', (data: Buffer) => answers.push((JSON.parse(data.toString()) as { message: string }).message));
  socket.on('open', () => {
    socket.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
    socket.send(JSON.stringify({ type: 'FILTER', channel: 'RFQ', body: { chainId } }));
  });
  while (answers.length < 2) await once(socket, 'message');
  t.strictSame(answers, ['Session authorized. Subscriptions enabled.', 'Subscribed to rfq:421613:*:*:* channel.']);
});

await t.test('on the main port a subprotocol asks for the same', async (t) => {
  const readable = await SocketClient.open(wsUrl, 'quotebook.readable');
  const plain = await SocketClient.open(wsUrl);
  const numbered = await SocketClient.open(`ws://${containerAt}`, 'quotebook.v2.json');
  for (const socket of [readable, plain, numbered]) {
    t.teardown(() => socket.end());
    await socket.auth(apiKey);
  }
  t.match(await numbered.next(), { type: 'HEARTBEAT' });
  for (const socket of [readable, plain, numbered]) {
    t.match(await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId, poolAddress: put.poolAddress } }), {
      type: 'INFO',
    });
  }
  const posted = await post(put);
  await sees(t, readable, { type: 'POST_QUOTE' }, posted, optionOf(chain, put));
  t.match(await plain.next(), {
    type: 'POST_QUOTE',
    body: { poolAddress: put.poolAddress, fillableSize: String(ONE) },
  });
  t.match(await numbered.next(), { type: 'POST_QUOTE', body: { quoteId: posted.quoteId } }, 'on either port');
});

await t.test('it is served by node:http and ws as well', async (t) => {
  const other = await startTestService({ chain, containerPort: 0, netBackend: 'node' });
  t.teardown(() => other.stop());
  const socket = await SocketClient.open(`ws://${other.containerAt}`, undefined, 'readable');
  t.teardown(() => socket.end());
  await socket.auth(other.apiKey);
  await socket.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId } });
  const { poolAddress } = call;
  socket.send({ type: 'RFQ', body: { poolAddress, side: 'bid', chainId, size: '1', taker: taker.address } });
  t.match(await socket.next(), { type: 'RFQ', body: { ...optionOf(chain, call), size: 1e-18 } });
});
