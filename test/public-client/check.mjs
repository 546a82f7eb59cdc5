// The public SDK of the protocol (npm `@premia/v3-sdk`), as its users have it, against the built service: whoever has a
// client for the service that this one replaces changes its addresses and nothing else. Its packages are in a directory
// of their own, since nothing but this check wants them:
//   npm ci --prefix test/public-client && node test/public-client/check.mjs [gateway]
// With `gateway` the service is a gateway of a whole cluster.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';

const { Premia } = createRequire(import.meta.url)('@premia/v3-sdk');
const { JsonRpcProvider, ZeroAddress } = createRequire(import.meta.url)('ethers');

const PATIENCE_MS = 60_000;
const ONE = 10n ** 18n;
const HOUR = 3600n;

/** Resolves when it is so; what is waited for comes within milliseconds. */
async function until(isSo, what) {
  for (const startedAt = Date.now(); !isSo(); await new Promise((resolve) => setTimeout(resolve, 10))) {
    if (Date.now() - startedAt > PATIENCE_MS) throw new Error(`${what} did not come`);
  }
}

const dir = mkdtempSync(path.join(tmpdir(), 'quotebook-public-client-'));
const readyFile = path.join(dir, 'ready.json');
const flags = ['--port', '0', '--data-dir', dir, '--ready-file', readyFile];
const program =
  process.argv[2] === 'gateway'
    ? ['scripts/run-cluster.mjs']
    : ['dist/src/cli/quotebook.js', 'serve', '--profile', 'local'];
const service = spawn(process.execPath, [...program, ...flags], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
const ended = new Promise((resolve) => service.on('exit', resolve));
t.teardown(async () => {
  service.kill('SIGINT');
  await ended;
  rmSync(dir, { recursive: true, force: true });
});
await until(() => existsSync(readyFile) || service.exitCode !== null, 'the service');
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
const { httpUrl, wsUrl, rpcUrl, apiKey, chainId, accounts, contracts, pools } = { ...ready, ...ready.gateways?.[0] };
const [, maker, taker] = accounts;
const { poolAddress, poolKey } = pools[0];
/** What the SDK would ask the protocol's indexer about the pool, which is another service. */
const pool = {
  address: poolAddress,
  isCall: poolKey.isCallPool,
  strike: poolKey.strike,
  collateralAsset: { decimals: 18 },
};

/** The SDK as one account uses it, told of the local chain's addresses. */
function sdkOf(account, key = apiKey) {
  const sdk = Premia.initializeSync({
    chainId,
    provider: rpcUrl,
    orderbookProvider: rpcUrl,
    privateKey: account.privateKey,
    orderbookPrivateKey: account.privateKey,
    apiKey: key,
    apiBaseUri: httpUrl,
    apiWsUri: wsUrl,
  });
  // It would put calls together by a contract at an address that the local chain has nothing at.
  sdk.multicallProvider = sdk.provider = new JsonRpcProvider(rpcUrl);
  sdk.contracts.setPoolFactoryAddress(contracts.poolFactory);
  sdk.contracts.setOrderbookAddress(contracts.orderbookStream);
  sdk.pools.getPoolMinimal = () => Promise.resolve(pool);
  return sdk;
}

const make = sdkOf(maker);
const take = sdkOf(taker);
t.teardown(() => [make, take].forEach((sdk) => sdk.orderbook.disconnect()));

/** Each quote has a price of its own. */
function offer(price, to = ZeroAddress) {
  const deadline = BigInt(Math.floor(Date.now() / 1000)) + HOUR;
  return { poolKey, provider: maker.address, taker: to, price, size: ONE, isBuy: false, deadline };
}

const idsOf = (quotes) => quotes.map(({ quoteId }) => quoteId);
const chain = String(chainId);

/** What the taker's socket has been sent. */
const heard = [];
/** What the maker's socket has been sent of takers' requests. */
const asked = [];
let open;
let own;

t.test('it subscribes without waiting for the answer to its key', async (t) => {
  const filter = { type: 'FILTER', channel: 'QUOTES', body: { chainId: chain, taker: taker.address } };
  await take.orderbook.subscribe(filter, (message) => heard.push(message));
  await until(() => heard.length > 1, 'the subscription');
  const keys = [ZeroAddress, taker.address.toLowerCase()].map((whose) => `quotes:${chain}:*:*:${whose}`);
  t.match(heard, [
    { type: 'INFO', message: 'Session authorized. Subscriptions enabled.' },
    { type: 'INFO', message: `Subscribed to ${keys} channel.` },
  ]);
});

t.test('it publishes what it signs, and both reckon the same id', async (t) => {
  [open] = await make.orders.publishUnsignedQuoteWithApiKey(poolAddress, offer(ONE / 10n));
  [own] = await make.orders.publishUnsignedQuotesWithApiKey(poolAddress, [offer(ONE / 20n, taker.address)]);
  for (const quote of [open, own]) t.equal(quote.quoteId, make.orders.calculateQuoteHash(quote, poolAddress));
  await until(() => heard.length > 3, 'the quotes');
  t.match(heard.slice(2), [
    { type: 'POST_QUOTE', body: open },
    { type: 'POST_QUOTE', body: own },
  ]);
});

t.test('a quote that its maker puts on the chain is in the book, too', async (t) => {
  const before = heard.length;
  await make.orders.publishUnsignedQuote(poolAddress, offer(ONE / 5n));
  await until(() => heard.length > before, 'the quote');
  t.match(heard.at(-1), { type: 'POST_QUOTE', body: { poolAddress, price: String(ONE / 5n) } });
});

t.test('its reads give what it looks for', async (t) => {
  const { orderbook } = take;
  const both = await orderbook.getQuotes(poolAddress, String(2n * ONE), 'ask', undefined, taker.address);
  t.strictSame(idsOf(both), [own.quoteId, open.quoteId]);
  t.strictSame(idsOf(await orderbook.getQuotes(poolAddress, '1', 'ask', maker.address)), [open.quoteId]);
  t.strictSame(idsOf(await orderbook.getRfqQuotes(poolAddress, 'ask', taker.address)), [own.quoteId]);
  const { validQuotes, invalidQuotes } = await orderbook.getOrders(undefined, String(ONE), 'ask', maker.address);
  t.equal(validQuotes.length, 2);
  t.strictSame(invalidQuotes, []);
  // It sends `?&side=ask&&chainId=421613` for this.
  const { base, quote, isCallPool: isCall, maturity } = poolKey;
  const wanted = { groupBy: 'maturity', side: 'ask', isCall, baseToken: base, quoteTokens: [quote] };
  t.strictSame(await orderbook.getAvailableLiquidity(wanted), [{ maturity, totalContracts: 2n * ONE }]);
});

t.test('the transaction that it makes of the best quote fills it', async (t) => {
  const best = await take.orders.quote(
    poolAddress,
    ONE,
    true,
    undefined,
    undefined,
    taker.address,
    take.provider,
    pool,
  );
  t.equal(best.price, ONE / 20n);
  const before = heard.length;
  await (await take.signer.sendTransaction({ to: best.to, data: best.data, gasLimit: 3_000_000 })).wait();
  await until(() => heard.length > before + 1, 'the fill');
  t.match(heard.slice(before), [
    { type: 'FILL_QUOTE', body: { quoteId: own.quoteId, fillableSize: '0' }, size: String(ONE) },
    { type: 'DELETE_QUOTE', body: { quoteId: own.quoteId } },
  ]);
});

t.test('a maker hears what takers ask for, also who does not say for whom', async (t) => {
  await make.orderbook.subscribe({ type: 'FILTER', channel: 'RFQ', body: { chainId: chain } }, (m) => asked.push(m));
  await until(() => asked.length > 1, 'the subscription');
  const bodies = [taker.address, ZeroAddress].map((whom) => ({
    poolKey,
    side: 'ask',
    chainId: chain,
    size: String(ONE),
    taker: whom,
  }));
  for (const body of bodies) await take.orderbook.publishRFQ(body);
  await until(() => asked.length > 3, 'the requests');
  t.strictSame(
    asked.slice(2),
    bodies.map((body) => ({ type: 'RFQ', body })),
  );
});

/** Without the pool's key the SDK reads it from the chain, and sends its maturity as text. */
const streams = [
  { how: 'a pool key', given: { poolKey }, first: ONE / 10n, better: ONE / 25n },
  { how: 'no pool key', given: {}, first: ONE / 25n, better: ONE / 30n },
];

for (const { how, given, first, better } of streams) {
  t.test(`its stream with ${how} asks makers, begins with the best quote and goes on to a better one`, async (t) => {
    const before = asked.length;
    const prices = [];
    const wanted = { poolAddress, size: ONE, isBuy: true, pool, provider: take.provider, forceSendRFQ: true, ...given };
    await take.orders.streamQuotes(wanted, (best) => prices.push(best?.price));
    await until(() => asked.length > before, 'the request');
    t.match(asked.slice(before), [{ type: 'RFQ', body: { poolKey, side: 'bid', taker: ZeroAddress } }]);
    await make.orders.publishUnsignedQuoteWithApiKey(poolAddress, offer(better));
    await until(() => prices.length > 1, 'the better quote');
    t.strictSame(prices, [first, better]);
    take.orders.cancelQuoteStream();
  });
}

t.test('it tells its user what was refused, and why', async (t) => {
  const stranger = sdkOf(taker, 'no-such-key').orderbook;
  await t.rejects(stranger.publishQuotes([open]), { status: 401, data: { message: 'NOT_FOUND' } });
  const bad = make.orderbook.publishQuotes([{ ...open, price: 'x' }]);
  await t.rejects(bad, { status: 400, data: [{ instancePath: '/0/price', message: 'must match pattern "^[0-9]+$"' }] });
  const { created, failed, exists } = await make.orderbook.publishQuotes([open]);
  t.strictSame([created.length, failed.length, idsOf(exists)], [0, 0, [open.quoteId]]);
});
