import pino from 'pino';
import t from 'tap';
import { erc20Abi, poolAbi } from '../../src/chain/contracts/abi.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { type QuoteTerms, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { untilAnswer } from '../until.js';
import { optionOf } from './wire-option.js';

const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as never) });
const running = await startTestService({ logger });
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey, keys } = running;
const market = new Market(chain);
const { operator, maker } = market;
const rest = new RestClient(httpUrl, apiKey);
const router = chain.contracts.erc20Router;
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const unknown = 'ab'.repeat(32);

/** Posts a quote of the maker, and gives its id. */
async function post(pool: Pool, terms: QuoteTerms = {}, signer = maker): Promise<string> {
  const quote = await signQuote(signer.privateKey, pool, { price: ONE / 10n, ...terms });
  const { status, body } = await rest.post('/quotes', [quote]);
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  const [created] = body.created as { quoteId: string }[];
  return created?.quoteId ?? '';
}

async function fill(...fills: [string, number][]): Promise<unknown> {
  const orders = fills.map(([quoteId, tradeSize]) => ({ tradeSize, quoteId }));
  const { status, body } = await rest.send('PATCH', '/orderbook/quotes', orders);
  return [status, body];
}

async function cancel(...quoteIds: string[]): Promise<unknown> {
  const { status, body } = await rest.send('DELETE', '/orderbook/quotes', { quoteIds });
  return [status, body];
}

function filled(success: string[], failed: string[] = []): unknown {
  return [200, { success, failed }];
}

const acted = () => lines.filter(({ msg }) => msg === 'operator wallet used');

await t.test('a fill pays by the contract, shows in the feed and is in the text log', async (t) => {
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613', poolAddress: call.poolAddress } });
  t.teardown(() => socket.end());
  const id = await post(call, { size: 2n * ONE });
  t.match(await socket.next(), { type: 'POST_QUOTE' });
  const before = await market.balance(market.token('testWETH'), operator.address);
  t.strictSame(await fill([id, 0.5]), filled([id]));
  t.match(await socket.next(), { type: 'FILL_QUOTE', body: { quoteId: id, fillableSize: String((3n * ONE) / 2n) } });
  t.equal(await market.longs(call, operator), ONE / 2n);
  // Premium of a tenth for half a contract, and the fee.
  const paid = before - (await market.balance(market.token('testWETH'), operator.address));
  t.ok(paid > ONE / 20n && paid < ONE / 15n);
  const [line, ...others] = acted();
  t.match(line, { route: 'PATCH /orderbook/quotes', txHash: /^0x[0-9a-f]{64}$/, succeeded: true });
  t.type(line?.keyId, 'string');
  t.strictSame(others, []);
});

await t.test('ids are taken with or without 0x and in any letter case, and answered as they were sent', async (t) => {
  const [first, second] = [await post(put), await post(put)];
  const [bare, upper] = [first.slice(2), `0x${second.slice(2).toUpperCase()}`];
  t.strictSame(await fill([bare, 0.1], [upper, 0.1]), filled([bare, upper]));
});

await t.test('each order fails alone: unknown, too large, of another taker, cancelled meanwhile', async (t) => {
  const good = await post(call);
  const foreign = await post(call, { taker: market.stranger.address });
  const small = await post(call, { size: ONE / 10n });
  t.strictSame(
    await fill([unknown, 1], [small, 0.2], [foreign, 0.1], [`xyz${unknown}`, 1], [good, 0.25]),
    filled([good], [unknown, small, foreign, `xyz${unknown}`]),
  );
  const reasons = lines.filter(({ msg }) => msg === 'quotes not traded').at(-1)?.reasons;
  t.strictSame(reasons, ['The quote is not active', 'The size is above what is fillable', 'InvalidQuoteOBTaker']);
  t.strictSame(await fill([unknown, 1]), filled([], [unknown]), 'none is found');
});

await t.test('the same id twice in a request: the second against what the first leaves', async (t) => {
  const id = await post(call);
  t.strictSame(await fill([id, 0.75], [id, 0.5], [id.slice(2), 0.25]), filled([id, id.slice(2)], [id]));
  t.strictSame(await fill([id, 0.1]), filled([], [id]), 'nothing is left');
});

await t.test('a taker that sells puts up collateral, and closes its longs first', async (t) => {
  const longs = await market.longs(put, operator);
  t.ok(longs > 0n);
  const id = await post(put, { isBuy: true, size: 3n * ONE });
  const usdc = market.token('USDC');
  const [change = 0n] = await market.changes(usdc, [operator.address], () => fill([id, 1]));
  t.equal(await market.longs(put, operator), 0n);
  t.equal(await market.shorts(put, operator), ONE - longs);
  // Collateral of 1800 USDC for what is not closed, less the premium of 180.
  t.ok(change < 0n && change > -1_800_000_000n);
});

await t.test('what cannot be paid fails alone, and 400 where nothing can be paid', async (t) => {
  const [cheap, dear] = [await post(call, { size: ONE / 2n }), await post(call, { size: 100_000n * ONE })];
  const testWeth = market.token('testWETH');
  await market.isolated(async () => {
    const balance = await market.balance(testWeth, operator.address);
    await market.transfer(operator.address, testWeth, maker.address, balance - ONE);
    t.strictSame(await fill([dear, 50_000]), [400, { message: 'Not enough testWETH collateral to fill orders' }]);
    t.strictSame(await fill([dear, 50_000], [cheap, 0.1]), filled([cheap], [dear]));
    await market.transfer(maker.address, testWeth, operator.address, balance - ONE);
  });
});

await t.test('fills pay no more of a token in a day than its cap', async (t) => {
  const capped = await startTestService({ chain, tokensPerDay: ['testWETH=0.15'] });
  t.teardown(() => capped.stop());
  const client = new RestClient(capped.httpUrl, capped.apiKey);
  // A premium of a tenth for a contract.
  const [quoteId, other] = [await post(call, { size: 3n * ONE }), await post(put)];
  const take = async (...ids: string[]) => {
    await untilAnswer(
      () => client.get(`/orders?${ids.map((id) => `quoteIds[]=${id}`).join('&')}`),
      ({ body }) => (body.validQuotes as unknown[]).length === ids.length,
    );
    const orders = ids.map((id) => ({ tradeSize: 1, quoteId: id }));
    const { status, body } = await client.send('PATCH', '/orderbook/quotes', orders);
    return [status, body];
  };
  t.strictSame(await take(quoteId), filled([quoteId]));
  t.strictSame(await take(quoteId), [429, { message: "The operator's wallet may not pay so much testWETH in a day" }]);
  t.strictSame(await take(quoteId, other), filled([other], [quoteId]), 'other tokens have no cap');
});

await t.test('the router needs an allowance, which one route sets, revokes and leaves as it is', async (t) => {
  const id = await post(call);
  const approve = (body: unknown) => rest.post('/account/collateral_approval', body);
  const allowance = (symbol: string): Promise<bigint> =>
    market.client.readContract({
      address: market.token(symbol),
      abi: erc20Abi,
      functionName: 'allowance',
      args: [operator.address, router],
    });
  const revoke = [{ token: 'testWETH', amt: 0 }];
  t.match(await approve(revoke), { status: 200, body: { success: revoke, failed: [] } });
  t.equal(await allowance('testWETH'), 0n);
  t.strictSame(await fill([id, 0.1]), [400, { message: 'Not enough testWETH allowance to fill orders' }]);
  const before = acted().length;
  t.match(await approve(revoke), { status: 200, body: { success: revoke, failed: [] } });
  t.equal(acted().length, before, 'nothing is sent for what is so already');
  const items = [
    { token: 'testWETH', amt: 1.5 },
    { token: 'USDC', amt: 0.0000001 },
    { token: 'WBTC', amt: -1 },
    { token: 'USDC', amt: 1e-6 },
    { token: 'DAI', amt: 1e70 },
    { token: 'testWETH', amt: 'max' },
  ];
  const answer = await approve(items);
  const failure = (token: unknown, error: string) => ({ message: 'approval error', token, error });
  t.strictSame(
    [answer.status, answer.body],
    [
      200,
      {
        success: [items[0], items[3], items[5]],
        failed: [
          failure(items[1], 'amt must NOT have more than 6 decimals'),
          failure(items[2], 'amt must be >= 0'),
          failure(items[4], 'amt must be < 2^256 units'),
        ],
      },
    ],
  );
  t.strictSame([await allowance('testWETH'), await allowance('USDC')], [2n ** 256n - 1n, 1n]);
  t.equal(acted().length, before + 3, 'one transaction for each that was sent');
  t.match(acted().at(-1), { keyId: /^\w+$/, route: 'POST /account/collateral_approval', succeeded: true });
  t.match(await approve([{ token: 'USDC', amt: 'max' }]), { status: 200 });
  t.strictSame(await fill([id, 0.1]), filled([id]));
});

await t.test('a cancellation takes own quotes alone out of the book, and shows in the feed', async (t) => {
  const [first, second] = [await post(call, {}, operator), await post(call, { price: ONE / 5n }, operator)];
  const third = await post(put, {}, operator);
  const foreign = await post(call);
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613', poolAddress: put.poolAddress } });
  t.teardown(() => socket.end());
  const before = acted().length;
  const bare = third.slice(2).toUpperCase();
  t.strictSame(await cancel(unknown, first, foreign, bare, second, `zz${first}`), [
    200,
    { success: [first, bare, second], failed: [foreign], omitted: [unknown, `zz${first}`] },
  ]);
  t.equal(acted().length, before + 2, 'one transaction a pool');
  t.match(acted().at(-1), { route: 'DELETE /orderbook/quotes', succeeded: true });
  t.match(await socket.next(), { type: 'DELETE_QUOTE', body: { quoteId: third, fillableSize: '0' } });
  const left = await rest.get(`/orders?chainId=421613&provider=${operator.address}`);
  t.strictSame(left.body, { validQuotes: [], invalidQuotes: [] });
  t.strictSame(await cancel(first), [200, { success: [], failed: [], omitted: [first] }]);
  t.strictSame(await fill([foreign, 0.1]), filled([foreign]), 'the quote of another maker lives on');
});

await t.test('own quotes that cannot be filled now are cancelled, too', async (t) => {
  // A bid: an ask would sell the longs that the fills above have bought, and need no collateral.
  const id = await post(call, { isBuy: true }, operator);
  await rest.post('/account/collateral_approval', [{ token: 'testWETH', amt: 0 }]);
  await untilAnswer(
    () => rest.get(`/orders?quoteIds=${id}`),
    ({ body }) => (body.invalidQuotes as unknown[]).length === 1,
  );
  t.strictSame(await cancel(id), [200, { success: [id], failed: [], omitted: [] }]);
  await rest.post('/account/collateral_approval', [{ token: 'testWETH', amt: 'max' }]);
  await untilAnswer(
    () => rest.get(`/orders?quoteIds=${id}`),
    ({ body }) => (body.invalidQuotes as unknown[]).length === 0,
  );
  t.strictSame((await rest.get(`/orders?quoteIds=${id}`)).body, { validQuotes: [], invalidQuotes: [] });
});

await t.test('a body that is wrong is refused, and changes nothing', async (t) => {
  const id = await post(call);
  const first = async (method: 'PATCH' | 'DELETE' | 'POST', path: string, body: unknown): Promise<unknown> => {
    const { status, body: errors } = await rest.send(method, path, body);
    return [status, (errors as unknown as { message: string }[])[0]?.message];
  };
  const path = '/orderbook/quotes';
  const noId = [400, 'must match pattern "[a-fA-F0-9]{64}$"'];
  for (const [body, message] of [
    [[], 'must NOT have fewer than 1 items'],
    [Array(26).fill({ tradeSize: 1, quoteId: id }), 'must NOT have more than 25 items'],
    [[{ tradeSize: 0, quoteId: id }], 'must be > 0'],
    [[{ tradeSize: -1, quoteId: id }], 'must be > 0'],
    [[{ tradeSize: 1e-19, quoteId: id }], 'must NOT have more than 18 decimals'],
    [[{ tradeSize: '1', quoteId: id }], 'must be number'],
    [[{ tradeSize: 1, quoteId: id, more: 1 }], 'must NOT have additional properties'],
    [{ tradeSize: 1, quoteId: id }, 'must be array'],
  ] as const) {
    t.strictSame(await first('PATCH', path, body), [400, message], JSON.stringify(body));
  }
  t.strictSame(await first('PATCH', path, [{ tradeSize: 1, quoteId: '0x12' }]), noId);
  t.strictSame(await first('DELETE', path, { quoteIds: ['0x12'] }), noId);
  t.strictSame(await first('DELETE', path, { quoteIds: [] }), [400, 'must NOT have fewer than 1 items']);
  t.strictSame(await first('DELETE', path, [id]), [400, 'must be object']);
  t.strictSame(await first('PATCH', `${path}?dryRun=true`, [{ tradeSize: 1, quoteId: id }]), [
    400,
    'must NOT have additional properties',
  ]);
  const approval = '/account/collateral_approval';
  const option = optionOf(chain, call);
  const inexact = (body: unknown) => JSON.stringify(body).replace('0.25', '0.250000000000000001');
  for (const [method, route, body] of [
    ['PATCH', path, [{ tradeSize: 0.25, quoteId: id }]],
    ['POST', path, [{ ...option, side: 'ask', size: 1, price: 0.25, deadline: 60 }]],
    ['POST', approval, [{ token: 'testWETH', amt: 0.25 }]],
    ['POST', '/vaults/trade', { ...option, size: 1, direction: 'buy', premiumLimit: 0.25 }],
    ['POST', '/pool/annihilate', [{ ...option, strike: 0.25 }]],
  ] as const) {
    t.strictSame(
      await first(method, route, inexact(body)),
      [400, 'must NOT have numbers with more digits than a double holds: 0.250000000000000001 would be 0.25'],
      `${method} ${route}`,
    );
  }
  t.strictSame(await first('POST', approval, [{ token: 'DOGE', amt: 1 }]), [
    400,
    `must match pattern "${chain.profile.tokens.map(({ symbol }) => `^${symbol}$`).join('|')}"`,
  ]);
  t.equal((await rest.post(approval, [{ token: 'USDC', amt: 'all' }])).status, 400);
  t.equal((await rest.post(approval, Array(9).fill({ token: 'USDC', amt: 1 }))).status, 400);
  t.equal(
    await market.client.readContract({
      address: call.poolAddress,
      abi: poolAbi,
      functionName: 'getQuoteOBFilledAmount',
      args: [maker.address, id as Hex],
    }),
    0n,
  );
});

await t.test('a key without the scope may do none of it', async (t) => {
  const plain = new RestClient(httpUrl, (await keys.create('paid', 'no scope')).key);
  const message = "This key may not act with the operator's wallet: it takes one with the scope operator";
  for (const [method, path] of [
    ['POST', '/orderbook/quotes'],
    ['PATCH', '/orderbook/quotes'],
    ['DELETE', '/orderbook/quotes'],
    ['POST', '/account/collateral_approval'],
    ['POST', '/vaults/trade'],
  ] as const) {
    const refused = await plain.send(method, path, []);
    t.strictSame([refused.status, refused.body], [403, { message }], `${method} ${path}`);
    t.equal((await fetch(httpUrl + path, { method, body: '[]' })).status, 401);
  }
});

// The last: every quote before it is past after it.
await t.test('a fill over its cap has a code and a time, after which it is filled', async (t) => {
  const dayMs = 24 * 60 * 60_000;
  const { base, strike } = call.poolKey;
  const calls = chain.pools.filter(({ poolKey: key }) => key.base === base && key.strike === strike && key.isCallPool);
  const last = calls.sort((a, b) => b.poolKey.maturity - a.poolKey.maturity)[0] ?? call;
  const capped = await startTestService({ chain, tokensPerDay: ['testWETH=0.15'] });
  t.teardown(() => capped.stop());
  const client = new RestClient(capped.httpUrl, capped.apiKey);
  const quoteId = await post(last, { size: 2n * ONE, deadline: last.poolKey.maturity });
  const order = [{ tradeSize: 1, quoteId }];
  const take = () => client.send('PATCH', '/orderbook/quotes', order, { accept: 'application/problem+json' });
  await untilAnswer(take, ({ body }) => (body.success as unknown[] | undefined)?.length === 1);
  const taken = await market.longs(last, operator);
  const refused = await take();
  t.match(refused, {
    status: 429,
    body: {
      code: 'spend_cap_reached',
      retryable: true,
      detail: "The operator's wallet may not pay so much testWETH in a day",
    },
  });
  const waitMs = Number(refused.headers.get('retry-after')) * 1000;
  t.ok(waitMs > dayMs - 60_000 && waitMs <= dayMs, `${waitMs} ms`);
  t.equal(await market.longs(last, operator), taken, 'nothing was filled');
  const { timestamp } = await market.client.getBlock();
  await market.moveTimeTo(Number(timestamp) + dayMs / 1000);
  const next = await untilAnswer(take, ({ status }) => status !== 429);
  t.strictSame([next.status, next.body], filled([quoteId]));
  t.equal(await market.longs(last, operator), taken + ONE);
});
