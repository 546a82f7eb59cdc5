import pino from 'pino';
import t, { type Test } from 'tap';
import type { ChainProfile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { ChainRole } from '../../src/engine/command.js';
import type { Hex } from '../../src/engine/quote.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { DevActions } from '../chain/dev-actions.js';
import { RpcProxy, type RpcRequest, type Trick } from '../chain/rpc-proxy.js';
import { signOffer } from '../chain/sign-quote.js';
import { ONE, signQuote } from './maker.js';
import { type RestAnswer, RestClient } from './rest-client.js';
import { startTestService, type TestServiceOptions } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { optionOf } from './wire-option.js';
import { until, untilAnswer } from '../until.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const dev = new DevActions(chain);
const [pool] = chain.pools;
const [, maker, stranger] = chain.accounts;
if (!pool || !maker || !stranger) throw new Error('The local chain lacks pools or accounts');

/** Silence is noticed soon, and a request that hangs is given up soon. */
const IMPATIENT = { chainSilenceMs: 800, rpcTimeoutMs: 300, rpcAttempts: 1, chainMaxBackoffMs: 100 };

/** The service with an endpoint of its own for each chain, which tests may play tricks with. */
async function startBehindProxies(t: Test, options: TestServiceOptions = {}) {
  const proxies = { settlement: await RpcProxy.open(chain.rpcUrl), stream: await RpcProxy.open(chain.rpcUrl) };
  const through = (role: ChainRole): ChainProfile => ({
    ...chain.profile[role],
    rpcUrls: [proxies[role].url],
    wsUrl: null,
  });
  const profile = { ...chain.profile, settlement: through('settlement'), stream: through('stream') };
  const running = await startTestService({ chain, profile, ...options });
  t.teardown(async () => {
    for (const proxy of Object.values(proxies)) proxy.trick = () => 'PASS';
    await running.stop();
    for (const proxy of Object.values(proxies)) proxy.close();
  });
  return { ...running, proxies, rest: new RestClient(running.httpUrl, running.apiKey) };
}

/**
 * Posts a quote until it is not too early for it: the impatient are stale for a moment now and then where the machine
 * is busy.
 */
function posting(rest: RestClient, quote: unknown): Promise<RestAnswer> {
  return untilAnswer(
    () => rest.post('/quotes', [quote]),
    ({ status }) => status !== 503,
  );
}

const BOOK = `/orders?chainId=${chain.chainId}&poolAddress=${pool.poolAddress}`;
const saltsIn = ({ body }: RestAnswer): number[] =>
  (body.validQuotes as { salt: number }[]).map(({ salt }) => salt).sort((a, b) => a - b);

const outages: readonly [string, readonly ChainRole[], Trick][] = [
  ['both chains hang', ['settlement', 'stream'], 'HANG'],
  ['the settlement chain breaks every connection', ['settlement'], 'CUT'],
  ['the gateway of the stream chain is broken', ['stream'], { status: 502, body: '<html>Bad gateway</html>' }],
];

for (const [what, roles, trick] of outages) {
  await t.test(
    `while ${what}: not ready and no publications, but reads and feeds, marked stale; then all is caught up`,
    async (t) => {
      const { rest, proxies, wsUrl, apiKey } = await startBehindProxies(t, { limits: IMPATIENT });
      const ready = () => rest.get('/ready');
      const socket = await SocketClient.open(wsUrl);
      t.teardown(() => socket.end());
      await socket.auth(apiKey);
      const filter = { chainId: `${chain.chainId}`, poolAddress: pool.poolAddress };
      await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: filter });
      const early = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
      const { status, headers, body } = await posting(rest, early);
      t.equal(status, 201);
      t.equal(headers.get('x-stale'), null);
      const [{ quoteId }] = body.created as [{ quoteId: Hex }];
      t.match(await socket.next(), { type: 'POST_QUOTE', body: { salt: early.salt } });

      for (const role of roles) proxies[role].trick = () => trick;
      await untilAnswer(ready, (answer) => answer.status === 503 && says(answer, roles, 'no answer for'));
      const read = await rest.get(BOOK);
      t.equal(read.status, 200);
      t.ok(saltsIn(read).includes(early.salt), 'reads go on');
      for (const role of roles) t.match(read.headers.get('x-stale'), `${role}: no answer for`);
      const refused = await rest.post('/quotes', [await signQuote(maker.privateKey, pool)]);
      t.equal(refused.status, 503);
      t.ok(refused.headers.get('retry-after'));
      t.match(refused.body.message, /no answer for/);

      const rfq = {
        poolAddress: pool.poolAddress,
        side: 'ask',
        chainId: `${chain.chainId}`,
        size: '1',
        taker: stranger.address,
      };
      await socket.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId: `${chain.chainId}` } });
      const answers = [await socket.ask({ type: 'RFQ', body: rfq }), await socket.next()];
      t.strictSame(answers.map(({ type }) => type).sort(), ['INFO', 'RFQ'], 'feeds go on');

      // What happens meanwhile: a stranger publishes, and the maker cancels.
      const offer = { pool, price: ONE / 20n, size: ONE / 100n, isBuy: false, deadline: (await dev.now()) + 3600 };
      const late = await signOffer(maker, chain.chainId, offer);
      await dev.publish(stranger.address, [late]);
      await dev.cancel(maker.address, pool.poolAddress, [quoteId]);

      for (const role of roles) proxies[role].trick = () => 'PASS';
      await untilAnswer(ready, (answer) => answer.status === 200);
      const healed = await untilAnswer(
        () => rest.get(BOOK),
        (answer) =>
          saltsIn(answer).includes(late.salt) &&
          !saltsIn(answer).includes(early.salt) &&
          !answer.headers.has('x-stale'),
      );
      t.equal(healed.status, 200);
      const told = [await socket.next(), await socket.next()].map(({ type, body }) => [
        type,
        (body as { salt: number }).salt,
      ]);
      t.strictSame(new Set(told.map(String)), new Set([`POST_QUOTE,${late.salt}`, `DELETE_QUOTE,${early.salt}`]));
      const next = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
      t.equal((await posting(rest, next)).status, 201);
      t.ok(socket.unread.length <= 1, 'and nothing twice');
    },
  );
}

await t.test('an outage is a few lines of the log, however often anything failed in it', async (t) => {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const metrics = new Metrics();
  const limits = { ...IMPATIENT, troubleCalmMs: 5_000 };
  const { rest, proxies } = await startBehindProxies(t, { limits, logger, metrics });
  const ready = () => rest.get('/ready');
  lines.length = 0;
  for (const proxy of Object.values(proxies)) proxy.trick = () => 'CUT';
  await untilAnswer(ready, ({ status }) => status === 503);
  for (let i = 0; i < 20; i++) t.equal((await ready()).status, 503);
  const failures = /^quotebook_read_failures_total (\d+)$/m;
  await until(async () => Number(failures.exec(await metrics.text())?.[1]) >= 10);
  const warnings = lines.map((line) => JSON.parse(line) as { msg: string });
  const texts = warnings.map(({ msg }) => msg).sort();
  t.strictSame(texts, ['chain endpoint failed', 'chain endpoint failed', 'chain read failed', 'request failed']);
  t.notMatch(lines.join(), '"stack"');

  lines.length = 0;
  for (const proxy of Object.values(proxies)) proxy.trick = () => 'PASS';
  const isOver = (): boolean =>
    ['chain endpoint recovered', 'chain read recovered', 'route recovered'].every((text) =>
      lines.some((line) => line.includes(text)),
    );
  await untilAnswer(ready, ({ status }) => status === 200 && isOver());
});

const refusing: readonly ChainRole[] = ['stream', 'settlement'];

for (const refuses of refusing) {
  await t.test(
    `while the node of the ${refuses} chain has heads and no logs: stale as in silence; then all is caught up`,
    async (t) => {
      const { rest, proxies } = await startBehindProxies(t, { limits: IMPATIENT });
      const ready = () => rest.get('/ready');
      const early = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
      const [{ quoteId }] = (await posting(rest, early)).body.created as [{ quoteId: Hex }];
      const isLogQuery = ({ method }: RpcRequest): boolean => method === 'eth_getLogs';
      proxies[refuses].trick = (asked) =>
        isLogQuery(asked) ? { error: { code: -32000, message: 'header not found' } } : 'PASS';
      await dev.cancel(maker.address, pool.poolAddress, [quoteId]);
      // A block that cannot contain events, by its bloom filter, needs no logs: this one has a quote for the stream.
      const offer = { pool, price: ONE / 20n, size: ONE / 100n, isBuy: false, deadline: (await dev.now()) + 3600 };
      await dev.publish(stranger.address, [await signOffer(maker, chain.chainId, offer)]);

      await untilAnswer(
        ready,
        (answer) => answer.status === 503 && says(answer, [refuses], 'reading has stood still for'),
      );
      const read = await rest.get(BOOK);
      t.equal(read.status, 200);
      t.match(read.headers.get('x-stale'), `${refuses}: reading has stood still for`);
      const blocks = await dev.client.getBlockNumber();
      const refused = await rest.post('/quotes', [await signQuote(maker.privateKey, pool)]);
      t.equal(refused.status, 503);
      t.ok(refused.headers.get('retry-after'));
      t.match(refused.body.message, /reading has stood still for/);
      t.equal(await dev.client.getBlockNumber(), blocks, 'nothing was paid for');

      proxies[refuses].trick = () => 'PASS';
      await untilAnswer(ready, (answer) => answer.status === 200);
      await untilAnswer(
        () => rest.get(BOOK),
        (answer) => !saltsIn(answer).includes(early.salt) && !answer.headers.has('x-stale'),
      );
      const next = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
      t.equal((await posting(rest, next)).status, 201);
    },
  );
}

await t.test('a node that is far behind is stale, and reading goes on once it has caught up', async (t) => {
  const limits = { ...IMPATIENT, lowerHeadMs: 50, reorgDepth: 4 };
  const { rest, proxies, engine } = await startBehindProxies(t, { limits });
  const ready = () => rest.get('/ready');
  const old = await dev.client.request({ method: 'eth_getBlockByNumber', params: ['latest', false] });
  await dev.client.mine({ blocks: 20 });
  const top = Number(await dev.client.getBlockNumber());
  // A quote enters with the state of a settlement block, and names that block.
  await untilAnswer(
    async () => rest.post('/quotes', [await signQuote(maker.privateKey, pool, { size: ONE / 100n })]),
    () => (engine.positions().settlement?.blockNumber ?? 0) >= top,
  );
  proxies.settlement.trick = ({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { rewrite: () => old } : 'PASS';
  const isBehind = (answer: RestAnswer) => says(answer, ['settlement'], 'reading has stood still for');
  await untilAnswer(ready, (answer) => answer.status === 503 && isBehind(answer));
  proxies.settlement.trick = () => 'PASS';
  await untilAnswer(ready, ({ status }) => status === 200);
  const next = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
  t.equal((await posting(rest, next)).status, 201);
});

await t.test('a chain that makes no blocks is stale where the profile sets an age, and only there', async (t) => {
  const { settlement } = chain.profile;
  const aged = { ...chain.profile, settlement: { ...settlement, maxHeadAgeSeconds: 1 } };
  const strict = await startTestService({ chain, profile: aged });
  t.teardown(() => strict.stop());
  const patient = await startTestService({ chain });
  t.teardown(() => patient.stop());
  const [ofStrict, ofPatient] = [strict, patient].map(({ httpUrl, apiKey }) => new RestClient(httpUrl, apiKey));
  if (!ofStrict || !ofPatient) throw new Error('There are two');
  const old = await untilAnswer(
    () => ofStrict.get('/ready'),
    ({ status }) => status === 503,
  );
  t.match((old.body.reasons as string[])[0], /^settlement: the newest block is \d+ s old$/);
  t.match((await ofStrict.get(BOOK)).headers.get('x-stale'), /s old/);
  t.equal((await ofStrict.post('/quotes', [await signQuote(maker.privateKey, pool)])).status, 503);
  const refused = await ofStrict.post('/pools', [optionOf(chain, pool)]);
  t.strictSame([refused.status, refused.headers.get('retry-after')], [503, '1']);
  t.match(refused.body.message, /^settlement: the newest block is \d+ s old$/, 'no pools either');
  t.equal((await ofPatient.get('/ready')).status, 200);
  t.equal((await ofPatient.get(BOOK)).headers.get('x-stale'), null);
  await dev.client.mine({ blocks: 1 });
  await untilAnswer(
    () => ofStrict.get('/ready'),
    ({ status }) => status === 200,
  );
});

/** So of these chains, and nothing of others. */
function says({ body }: RestAnswer, roles: readonly ChainRole[], what: string): boolean {
  const reasons = (body.reasons as string[]).filter((reason) => !reason.includes(': the last reading failed: '));
  return (
    reasons.length === roles.length &&
    roles.every((role) => reasons.some((reason) => reason.startsWith(`${role}: ${what}`)))
  );
}

/** Nobody quotes in it before: its address is not remembered. */
const unquoted = chain.pools.at(-1);

for (const [name, hasMulticall, why] of [
  ['poolFactory', false, 'The answer of'],
  ['multicall3', true, 'There is no Multicall3 at'],
] as const) {
  await t.test(`where ${name} answers no more, /ready names it as long as reading fails for it`, async (t) => {
    const { contracts } = chain.profile;
    const contract = contracts[name];
    if (contract === null || unquoted === undefined) throw new Error('The local chain has all contracts');
    const proxy = await RpcProxy.open(chain.rpcUrl);
    const role = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
    const multicall3 = hasMulticall ? contracts.multicall3 : null;
    const profile = { ...chain.profile, settlement: role, stream: role, contracts: { ...contracts, multicall3 } };
    const running = await startTestService({ chain, profile, limits: IMPATIENT });
    t.teardown(async () => {
      proxy.trick = () => 'PASS';
      await running.stop();
      proxy.close();
    });
    const rest = new RestClient(running.httpUrl, running.apiKey);
    const toContract = ({ method, params: [call] }: RpcRequest): boolean =>
      method === 'eth_call' && (call as { to: string }).to.toLowerCase() === contract.address.toLowerCase();
    proxy.trick = (request) => (toContract(request) ? { rewrite: () => '0x' } : 'PASS');
    await dev.publish(stranger.address, [
      await signOffer(maker, chain.chainId, {
        pool: unquoted,
        price: ONE / 2n,
        size: ONE,
        isBuy: false,
        deadline: unquoted.poolKey.maturity,
      }),
    ]);
    const reason = new RegExp(`^settlement: the last reading failed: ${why} ${name} ${contract.address}`, 'i');
    const { body } = await untilAnswer(
      () => rest.get('/ready'),
      ({ status, body }) => status === 503 && (body.reasons as string[]).some((text) => reason.test(text)),
    );
    t.match(body.reasons, [/^\w+: reading has stood still for/]);
    proxy.trick = () => 'PASS';
    await untilAnswer(
      () => rest.get('/ready'),
      ({ status }) => status === 200,
    );
    t.pass('ready again');
  });
}
