import t from 'tap';
import { encodeFunctionData } from 'viem';
import { erc20Abi, vaultAbi } from '../../src/chain/contracts/abi.js';
import type { Pool } from '../../src/engine/quote.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { formatExpiration } from '../../src/wire/expiration.js';
import { Market, ONE } from '../chain/dev/market.js';
import { type RpcRequest, RpcProxy, type Trick } from '../chain/rpc-proxy.js';
import { untilAnswer } from '../until.js';
import { signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { optionOf } from './wire-option.js';

/** What the routes that act with the operator's wallet answer while the settlement chain or its node fails them. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const proxy = await RpcProxy.open(chain.rpcUrl);
t.teardown(() => proxy.close());
const profile = { ...chain.profile, settlement: { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null } };
const SILENCE_MS = 4_000;
const running = await startTestService({
  chain,
  profile,
  limits: {
    chainSilenceMs: SILENCE_MS,
    rpcTimeoutMs: 300,
    rpcAttempts: 1,
    chainMaxBackoffMs: 100,
    txPatienceMs: 500,
  },
});
t.teardown(async () => {
  proxy.trick = pass;
  await running.stop();
});
const market = new Market(chain);
const { operator, maker, client } = market;
const rest = new RestClient(running.httpUrl, running.apiKey);
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const pass = (): Trick => 'PASS';
const vault = chain.profile.vaults.find(({ name }) => name === 'pSV-testWETH/USDC-P');
if (vault === undefined) throw new Error('The local chain has no vault for puts');
const usdc = market.token('USDC');
const router = chain.contracts.erc20Router;
await market.approve(operator.address, usdc, vault.address);

async function post(pool: Pool, signer: typeof maker, terms: object = {}): Promise<string> {
  const quote = await signQuote(signer.privateKey, pool, { price: ONE / 10n, ...terms });
  const { body } = await untilAnswer(
    () => rest.post('/quotes', [quote]),
    ({ status }) => status === 201,
  );
  const [created] = body.created as { quoteId: string }[];
  return created?.quoteId ?? '';
}

const theirs = await post(call, maker);
const own = await post(call, operator, { isBuy: true });
const option = optionOf(chain, put);
const monthAgo = { ...option, expiration: formatExpiration(Math.floor(Date.now() / 1000) - 30 * 86_400) };
const trade = { ...option, size: 1, direction: 'buy', premiumLimit: 1000 };
const terms = { ...optionOf(chain, call), side: 'ask', size: 1, price: 0.1, deadline: 600 };

type Method = 'POST' | 'PATCH' | 'DELETE';
const trading: readonly (readonly [Method, string, object])[] = [
  ['POST', '/orderbook/quotes', [terms]],
  ['PATCH', '/orderbook/quotes', [{ tradeSize: 0.1, quoteId: theirs }]],
  ['DELETE', '/orderbook/quotes', { quoteIds: [own] }],
  ['POST', '/account/collateral_approval', [{ token: 'USDC', amt: 5 }]],
  ['POST', '/vaults/trade', trade],
];
const positions: typeof trading = [
  ['POST', '/pool/exercise', [monthAgo]],
  ['POST', '/pool/annihilate', [option]],
];

const sent = (): Promise<number> => client.getTransactionCount({ address: operator.address, blockTag: 'pending' });

await t.test('while the chain cannot be reached, each route answers 503 and sends nothing', async (t) => {
  const before = await sent();
  proxy.trick = () => 'CUT';
  for (const [method, path, body] of [...trading, ...positions]) {
    const answer = await rest.send(method, path, body);
    t.strictSame([answer.status, answer.body], [503, { message: 'The chain does not answer' }], `${method} ${path}`);
    t.equal(answer.headers.get('retry-after'), '1');
  }
  t.equal(await sent(), before);
});

await t.test('once it is stale, the routes that trade say so without asking it', async (t) => {
  await untilAnswer(
    () => rest.get('/ready'),
    ({ status }) => status === 503,
  );
  for (const [method, path, body] of trading) {
    const answer = await rest.send(method, path, body);
    t.match([answer.status, answer.body.message], [503, /^settlement: no answer for/], `${method} ${path}`);
    t.equal(answer.headers.get('retry-after'), '1');
  }
  proxy.trick = pass;
  await untilAnswer(
    () => rest.get('/ready'),
    ({ status }) => status === 200,
  );
});

await t.test('a transaction that is not mined in time is 504 with what may still be mined', async (t) => {
  const approved = await rest.post('/account/collateral_approval', [{ token: 'testWETH', amt: 'max' }]);
  t.match(approved.body, { failed: [] });
  await client.setAutomine(false);
  const message = 'Transaction not confirmed yet';
  const filled = await rest.send('PATCH', '/orderbook/quotes', [{ tradeSize: 0.1, quoteId: theirs }]);
  t.strictSame([filled.status, filled.body], [504, { message, pending: [theirs], success: [], failed: [] }]);
  const cancelled = await rest.send('DELETE', '/orderbook/quotes', { quoteIds: [own] });
  const none = { success: [], failed: [], omitted: [] };
  t.strictSame([cancelled.status, cancelled.body], [504, { message, pending: [own], ...none }]);
  const traded = await rest.post('/vaults/trade', trade);
  t.strictSame([traded.status, traded.body], [504, { message }]);
  const waited = await rest.post('/vaults/trade', trade);
  const nothingSent = 'Earlier transactions are not confirmed yet: nothing was sent';
  t.strictSame([waited.status, waited.body], [503, { message: nothingSent }]);
  t.equal(waited.headers.get('retry-after'), '1');
  const item = { token: 'USDC', amt: 7 };
  const late = await rest.post('/account/collateral_approval', [item]);
  const error = 'Earlier transactions are not confirmed yet';
  t.strictSame(late.body, { success: [], failed: [{ message: 'approval error', token: item, error }] });
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  await untilAnswer(
    () => rest.get(`/orders?quoteIds=${own}`),
    ({ body }) => (body.validQuotes as unknown[]).length === 0,
  );
  t.equal(await market.longs(put, operator), ONE, 'the trade that was late was done once');
});

await t.test('an approval that repeats one that fails, fails with it', async (t) => {
  const error = { code: 3, message: 'execution reverted', data: '0xdeadbeef' };
  const items = [8, 8, 9].map((amt) => ({ token: 'USDC', amt }));
  const eight = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [router, 8_000_000n] });
  proxy.trick = ({ method, params }) =>
    method === 'eth_estimateGas' && JSON.stringify(params).includes(eight.slice(2)) ? { error } : 'PASS';
  const { body } = await rest.post('/account/collateral_approval', items);
  proxy.trick = pass;
  t.match(body, { success: [items[2]], failed: [{ token: items[0] }, { token: items[1] }] });
  t.equal((body.failed as unknown[]).length, 2);
});

const isTrade = ({ method, params }: RpcRequest): boolean => {
  const selector = encodeFunctionData({
    abi: vaultAbi,
    functionName: 'trade',
    args: [{ ...put.poolKey, maturity: BigInt(put.poolKey.maturity) }, 0n, true, 0n, operator.address],
  }).slice(0, 10);
  return method === 'eth_estimateGas' && JSON.stringify(params).includes(selector);
};

await t.test('a trade that the vault reverts without a name of its own is 500', async (t) => {
  const before = await sent();
  const error = { code: 3, message: 'execution reverted', data: '0xdeadbeef' };
  proxy.trick = (request) => (isTrade(request) ? { error } : 'PASS');
  const answer = await untilAnswer(
    () => rest.post('/vaults/trade', trade),
    ({ status }) => status !== 503,
  );
  proxy.trick = pass;
  t.strictSame([answer.status, answer.body], [500, { message: 'Failed to trade with vault' }]);
  t.equal(await sent(), before);
});

await t.test('where a token does not tell its balance, fills are 400 and name it', async (t) => {
  const quoteId = await post(put, maker);
  const code = await client.getCode({ address: usdc });
  const balanceOf = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [operator.address] });
  t.equal((await client.call({ to: usdc, data: balanceOf })).data?.length, 66);
  // PUSH1 0, PUSH1 0, REVERT: whatever it is asked.
  await client.setCode({ address: usdc, bytecode: '0x60006000fd' });
  const answer = await rest.send('PATCH', '/orderbook/quotes', [{ tradeSize: 0.1, quoteId }]);
  await client.setCode({ address: usdc, bytecode: code ?? '0x' });
  t.match(
    [answer.status, answer.body],
    [400, { message: 'failed to get tokens balances', rejectedTokenBalances: [{ token: 'USDC', reason: String }] }],
  );
  const again = await rest.send('PATCH', '/orderbook/quotes', [{ tradeSize: 0.1, quoteId: own }]);
  t.strictSame([again.status, again.body], [200, { success: [], failed: [own] }], 'and the route goes on');
});

await t.test('without a wallet positions are 501, too', async (t) => {
  const other = await startTestService({ chain, walletKey: null });
  t.teardown(() => other.stop());
  const walletless = new RestClient(other.httpUrl, other.apiKey);
  for (const [method, path, body] of positions) {
    t.equal((await walletless.send(method, path, body)).status, 501, `${method} ${path}`);
  }
});
