import pino from 'pino';
import t from 'tap';
import { Market, ONE } from '../chain/dev/market.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { optionOf } from './wire-option.js';

const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as never) });
const running = await startTestService({ logger });
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey } = running;
const market = new Market(chain);
const { operator, stranger } = market;
const rest = new RestClient(httpUrl, apiKey);
const pool = market.pool('testWETH', 1800n, true);
const option = optionOf(chain, pool);
const offer = { ...option, side: 'ask', size: 1.5, price: 0.1, deadline: 600 };
const own = operator.address.toLowerCase();
const zero = '0x0000000000000000000000000000000000000000';

interface Readable {
  readonly quoteId: string;
  readonly deadline: number;
  readonly createdAt: number;
}

const EMPTY: Readable = { quoteId: '', deadline: 0, createdAt: 0 };

interface Posted {
  readonly created: readonly Readable[];
  readonly failed: readonly { readonly reason: string; readonly quote: Record<string, unknown> }[];
  readonly exists: readonly Readable[];
}

async function post(body: unknown): Promise<[number, Posted]> {
  const answer = await rest.post('/orderbook/quotes', body);
  return [answer.status, answer.body as unknown as Posted];
}

await t.test('the operator signs and publishes, and the quotes can be filled', async (t) => {
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613', poolAddress: pool.poolAddress } });
  t.teardown(() => socket.end());
  const bid = { ...offer, side: 'bid', price: 1e-7, size: 2, taker: stranger.address };
  const [status, { created, failed, exists }] = await post([offer, bid]);
  t.equal(status, 201);
  t.strictSame([failed, exists], [[], []]);
  const [{ quoteId, deadline, createdAt, ...others } = EMPTY] = created;
  t.strictSame(others, { ...option, side: 'ask', remainingSize: 1.5, price: 0.1, provider: own, taker: zero });
  t.match(quoteId, /^0x[0-9a-f]{64}$/);
  t.ok(deadline > 500 && deadline <= 600, 'seconds that are left');
  t.ok(createdAt > 1_700_000_000);
  t.match(created[1], { side: 'bid', remainingSize: 2, price: 1e-7, taker: stranger.address.toLowerCase() });
  const keys = 'base quote expiration strike type side remainingSize price provider taker deadline quoteId createdAt';
  t.equal(Object.keys(created[0] ?? {}).join(' '), keys);
  t.match(await socket.next(), { type: 'POST_QUOTE', body: { quoteId, provider: own } });
});

await t.test('the transaction that publishes is in the text log, with the key', async (t) => {
  const before = lines.length;
  const [, { created }] = await post([offer]);
  const { quote } = running.engine.get(created[0]?.quoteId as `0x${string}`) ?? {};
  const acted = lines.slice(before).filter(({ msg }) => msg === 'operator wallet used');
  const { txHash } = quote?.origin ?? {};
  t.match(acted, [{ keyId: /^\w+/, route: 'POST /orderbook/quotes', txHash, succeeded: true }]);
  t.match(txHash, /^0x[0-9a-f]{64}$/);
});

await t.test('the same order twice, and twice in a request, is two quotes', async (t) => {
  const [first, second] = [await post([offer, offer]), await post([offer])];
  const ids = [...first[1].created, ...second[1].created].map(({ quoteId }) => quoteId);
  t.equal(new Set(ids).size, 3);
  t.strictSame([first[0], second[0]], [201, 201]);
});

await t.test('what the pool rejects is in failed, in its readable form, and created is empty', async (t) => {
  const tooMuch = { ...offer, size: 100_000_000 };
  const [status, { created, failed, exists }] = await post([tooMuch]);
  t.strictSame([status, created, exists], [200, [], []]);
  const [failure] = failed;
  t.equal(failure?.reason, 'InsufficientCollateralBalance');
  const { deadline, ...rest } = failure?.quote ?? {};
  t.strictSame(rest, { ...option, side: 'ask', remainingSize: 100_000_000, price: 0.1, provider: own, taker: zero });
  t.ok((deadline as number) > 500 && (deadline as number) <= 600);
  t.equal((await post([tooMuch, offer]))[0], 201, 'the others go on');
});

await t.test('the first quote that cannot be ends the request, and nothing is published', async (t) => {
  const before = (await rest.get(`/orders?chainId=421613&provider=${own}`)).body.validQuotes as unknown[];
  const short = { ...offer, deadline: 29 };
  const past = { ...offer, expiration: '03NOV23' };
  const noDay = { ...offer, expiration: '31FEB27' };
  const undeployed = { ...offer, strike: 2100 };
  const impossible = { ...offer, strike: 1801 };
  const deadline = 'Quote deadline is invalid (cannot be less than 30 sec)';
  const keyOf = (strike: string): unknown => ({ ...pool.poolKey, strike });
  for (const [body, refusal] of [
    [[offer, short, past], { message: deadline, quote: short }],
    [[{ ...offer, deadline: -5 }], { message: deadline, quote: { ...offer, deadline: -5 } }],
    [[past, short], { message: 'Invalid expiration date: 03NOV23 is in the past', quote: past }],
    [[noDay], { message: 'Invalid expiration date: 31FEB27', quote: noDay }],
    [[offer, undeployed, short], { message: 'Pool is not deployed', poolKey: keyOf('2100') }],
    [[impossible], { message: 'Can not get pool address', poolKey: keyOf('1801') }],
  ] as const) {
    t.strictSame(await post(body), [400, refusal]);
  }
  const after = (await rest.get(`/orders?chainId=421613&provider=${own}`)).body.validQuotes as unknown[];
  t.equal(after.length, before.length);
});

await t.test('a body that is wrong is refused by its schema', async (t) => {
  for (const [bad, message] of [
    [{ ...offer, size: -1 }, 'must be > 0'],
    [{ ...offer, size: 0 }, 'must be > 0'],
    [{ ...offer, size: 1e-19 }, 'must NOT have more than 18 decimals'],
    [{ ...offer, price: 0 }, 'must be > 0'],
    [{ ...offer, price: 1.5 }, 'must be <= 1'],
    [{ ...offer, side: 'buy' }, 'must match pattern "^bid$|^ask$"'],
    [{ ...offer, deadline: 60.5 }, 'must be integer'],
    [{ ...offer, deadline: 1e15 }, 'must be <= 3153600000'],
    [{ ...offer, taker: '0x12' }, 'must match pattern "^0x[a-fA-F0-9]{40}$"'],
    [{ ...offer, more: 1 }, 'must NOT have additional properties'],
  ] as const) {
    const [status, errors] = await post([bad]);
    t.strictSame([status, (errors as unknown as { message: string }[])[0]?.message], [400, message]);
  }
  t.equal((await post([]))[0], 400);
  t.equal((await post(Array(501).fill(offer)))[0], 400);
});

await t.test('a request of 500 quotes is read', async (t) => {
  const [status, { created }] = await post(Array(500).fill({ ...offer, size: 0.001 }));
  t.strictSame([status, created.length], [201, 500]);
  t.equal(new Set(created.map(({ quoteId }) => quoteId)).size, 500);
});

await t.test('without a wallet the answer is 501', async (t) => {
  const other = await startTestService({ chain, walletKey: null });
  t.teardown(() => other.stop());
  const client = new RestClient(other.httpUrl, other.apiKey);
  for (const [method, path, body] of [
    ['POST', '/orderbook/quotes', [offer]],
    ['PATCH', '/orderbook/quotes', [{ tradeSize: 1, quoteId: 'a'.repeat(64) }]],
    ['DELETE', '/orderbook/quotes', { quoteIds: ['a'.repeat(64)] }],
    ['POST', '/account/collateral_approval', [{ token: 'USDC', amt: 1 }]],
    ['POST', '/vaults/trade', { ...option, size: Number(ONE / ONE), direction: 'buy', premiumLimit: 1 }],
  ] as const) {
    t.equal((await client.send(method, path, body)).status, 501, `${method} ${path}`);
  }
});

await t.test('publications for the wallet are capped by route, and charge what was published', async (t) => {
  // 33,900 of gas for a quote, 46,000 for two.
  const other = await startTestService({ limits: { operatorRouteGasPerDay: 70_000 } });
  t.teardown(() => other.stop());
  const client = new RestClient(other.httpUrl, other.apiKey);
  const send = (body: unknown) => client.post('/orderbook/quotes', body, { accept: 'application/problem+json' });
  const tooMuch = { ...offer, size: 100_000_000 };
  for (let i = 0; i < 3; i++) t.equal((await send([tooMuch])).status, 200, 'nothing was published');
  t.equal((await send([offer, tooMuch])).status, 201);
  const refused = await send([offer, offer]);
  t.match(refused, {
    status: 429,
    body: {
      code: 'spend_cap_reached',
      detail: "The operator's wallet has spent what POST /orderbook/quotes may in a day",
    },
  });
  t.ok(Number(refused.headers.get('retry-after')) > 86_000);
  t.equal((await send([offer])).status, 201, 'what was refused is still there');
  t.equal((await send([offer])).status, 429);
  const traders = new Market(other.chain);
  const quote = await signQuote(traders.maker.privateKey, traders.pool('testWETH', 1800n, true));
  t.equal((await client.post('/quotes', [quote])).status, 201, 'POST /quotes has no such cap');
});
