import t from 'tap';
import { createSiweMessage } from 'viem/siwe';
import { privateKeyToAccount } from 'viem/accounts';
import { apiDocuments } from '../../src/app/http-wiring.js';
import { signWithdrawal } from '../../src/client/sign-withdrawal.js';
import { limits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import type { VerifyResult } from '../../src/wire/auth.js';
import type { OrdersResponse } from '../../src/wire/orderbook.js';
import { OrderbookClient } from '../../src/client/node.js';
import type { SocketConstructor } from '../../src/client/ports.js';
import { Market, ONE } from '../chain/dev/market.js';
import { until } from '../until.js';
import { documentedPorts, DocumentedWebSocket } from './documented-network.js';
import { signQuote, type WireQuote } from './maker.js';
import { RestClient, untilKnown } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { optionOf } from './wire-option.js';

/**
 * Every route and every message of the documents has an entry here: how a client asks for what is private to a taker, or
 * why it cannot. A route or a message without one fails the test.
 */
const running = await startTestService({
  privacy: 'proven',
  keepsLog: true,
  // Each block that is read has a record, and can be asked for.
  limits: { keyWatchMs: 20, wsConnectionsPerAddress: 1_000, positionEveryBlocks: 1 },
});
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, keys } = running;
const market = new Market(chain);
const chainId = String(chain.chainId);
const pool = market.pool('testWETH', 1800n, true);
const option = optionOf(chain, pool);
const taker = privateKeyToAccount(market.taker.privateKey);
const takerAddress = taker.address.toLowerCase();
const makerAddress = market.maker.address.toLowerCase();
const { address: operatorAddress } = market.operator;

/** Their digits occur in nothing else; the readable form has a decimal point behind the first. */
const QUOTE_SIZE = 1_234_567_890_123_456_789n;
const QUOTE_PRICE = 77_123_456_789_012_345n;
const RFQ_SIZE = 3_141_592_653_589_793_238n;
const digitsOf = (amount: bigint): string => String(amount).slice(1, 10);

/** Resolves once the process that serves knows the key. */
async function known(key: string): Promise<RestClient> {
  const rest = new RestClient(httpUrl, key);
  await untilKnown(() => rest.post('/auth/nonce', {}));
  return rest;
}

const [strangerKey, allKey, page] = [
  await keys.create('paid', 'stranger'),
  await keys.create('paid', 'maker', ['takers:all']),
  await keys.create('paid', 'page'),
];
const stranger = await known(strangerKey.key);
const all = await known(allKey.key);
/** It has the scope operator, and has proven the operator's address alone. */
const desk = await known(running.apiKey);
const ofPage = await known(page.key);

async function signIn(rest: RestClient, keep: 'session' | 'key', account = taker): Promise<VerifyResult> {
  const { nonce } = (await rest.post('/auth/nonce', {})).body as { readonly nonce: string };
  const message = createSiweMessage({
    address: account.address,
    domain: new URL(httpUrl).host,
    uri: httpUrl,
    version: '1',
    chainId: chain.chainId,
    nonce,
  });
  const answer = await rest.post('/auth/verify', { message, signature: await account.signMessage({ message }), keep });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body as unknown as VerifyResult;
}

const { token } = await signIn(ofPage, 'session');
if (token === null) throw new Error('a session has a token');
const ofTaker = new RestClient(httpUrl, token);

async function post(offer: { readonly taker?: string; readonly price: bigint; readonly size: bigint }) {
  const quote = await signQuote(market.maker.privateKey, pool, { ...offer, isBuy: false });
  const { status, body } = await all.post('/quotes', [quote]);
  if (status !== 201) throw new Error(JSON.stringify(body));
  const [created] = body.created as readonly (WireQuote & { readonly quoteId: Hex })[];
  if (created === undefined) throw new Error('it was not created');
  return created;
}

/** Better than the public one, so that it would be the best of any ticker or cover. */
const hidden = await post({ taker: taker.address, price: QUOTE_PRICE, size: QUOTE_SIZE });
await post({ price: ONE / 10n, size: ONE });
/** So that a list of the taker's quotes has two pages. */
await post({ taker: taker.address, price: QUOTE_PRICE, size: QUOTE_SIZE });
const withdrawn = await post({ taker: taker.address, price: QUOTE_PRICE, size: QUOTE_SIZE });
const withdrawal = await signWithdrawal(privateKeyToAccount(market.maker.privateKey), chainId, {
  quoteIds: [withdrawn.quoteId],
  nonce: 1n,
  deadline: (await market.now()) + 600,
});
if ((await all.send('DELETE', '/quotes', withdrawal)).status !== 200) throw new Error('it was not withdrawn');
const secrets = [hidden.signature.r, digitsOf(QUOTE_SIZE), digitsOf(QUOTE_PRICE), digitsOf(RFQ_SIZE)];
const shows = (text: string): boolean => secrets.some((secret) => text.includes(secret));

async function askForQuotes(size = RFQ_SIZE): Promise<void> {
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(allKey.key);
  const poolKey = { ...pool.poolKey, strike: String(pool.poolKey.strike) };
  const body = { poolKey, side: 'ask', chainId, size: String(size), taker: taker.address };
  const answer = await socket.ask({ type: 'RFQ', body });
  if (answer.type !== 'INFO') throw new Error(JSON.stringify(answer));
  socket.end();
}
await askForQuotes();

const request = {
  chainId,
  taker: taker.address,
  legs: [{ poolAddress: pool.poolAddress, side: 'ask', size: String(RFQ_SIZE) }],
};
/** Of the session of the taker, so that it belongs to a key whose other users have not proven the taker. */
const opened = await ofTaker.post('/rfqs', request);
if (opened.status !== 201) throw new Error(JSON.stringify(opened.body));
const [{ rfqId }] = opened.body.rfqs as readonly [{ readonly rfqId: string }];
/** Its taker is the zero address for everyone else. */
const anonymous = { ...request, anonymous: true };
const nobody = `0x${'0'.repeat(40)}`;
if ((await ofTaker.post('/rfqs', { ...anonymous, clientId: 'anonymous' })).status !== 201) {
  throw new Error('it was not opened');
}

/** A package of two legs, of the same session. */
const straddleLegs = [...request.legs, { poolAddress: pool.poolAddress, side: 'bid', size: String(RFQ_SIZE) }];
const straddle = await ofTaker.post('/rfqs', {
  ...request,
  clientId: 'straddle',
  legs: straddleLegs,
});
if (straddle.status !== 201) throw new Error(JSON.stringify(straddle.body));
const [{ packageId, rfqId: legId }] = straddle.body.rfqs as readonly [
  { readonly packageId: string; readonly rfqId: string },
];

const { seq, tsMs } = (await all.get(`/book/${pool.poolAddress}?chainId=${chainId}`)).body as {
  readonly seq: number;
  readonly tsMs: number;
};
const block = Number(await market.client.getBlockNumber());
/** The settlement chain is read to it some time after the event of the stream. */
await until(async () => (await all.get(`/tickers?chainId=${chainId}&asOfBlock=${block}`)).status === 200);
/** Points of the past at which all of it was there. */
const pasts = [`asOfSeq=${seq}`, `asOfBlock=${block}`, `asOfTime=${tsMs}`] as const;

/** Of a page with one row, as the taker sees it. */
async function cursorOf(path: string): Promise<string> {
  const { status, body } = await ofTaker.get(`${path}&limit=1`);
  const cursor = body.next ?? body.nextCursor;
  if (typeof cursor !== 'string') throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return encodeURIComponent(cursor);
}

const documents = apiDocuments(limits, {
  chainId,
  symbols: chain.profile.tokens.map(({ symbol }) => symbol),
  vaultBases: ['testWETH', 'WETH', 'WBTC'],
});

type Viewer = 'taker' | 'all';
interface Probe {
  /** With the values of the parameters in the path; absent: it has none. */
  readonly path?: string;
  readonly query?: string;
  readonly body?: unknown;
  /** Viewers that see something of the taker; the others see nothing of it. */
  readonly shownTo: readonly Viewer[];
}
/** Probes, or why there is nothing of a taker in any answer. */
type Entry = readonly Probe[] | string;

const BOTH = ['taker', 'all'] as const;
const inPool = `chainId=${chainId}&poolAddress=${pool.poolAddress}`;
const ofPrivate = `taker=${taker.address}`;
const size = `size=${ONE / 2n}`;
const asked = new URLSearchParams(
  Object.entries(option).map(([name, value]): [string, string] => [name, String(value)]),
);
const NO_QUOTES = 'it tells of options, wallets and oracles, and of no quote';
const OWN_WORDS = "it names what the request names, and acts with the operator's wallet";
const SIGNED = "it names the ids of the provider's own quotes";
const NO_KEY = 'it is the same for everyone';

const validUntil = (await market.now()) + 600;
const ordersCursor = await cursorOf(`/orders?${inPool}&${ofPrivate}`);
const rfqsCursor = await cursorOf(`/rfqs?chainId=${chainId}`);
const instruments = (await all.get('/instruments')).body as unknown as readonly {
  readonly instrument: string;
  readonly poolAddress: string;
}[];
const instrument = instruments.find(({ poolAddress }) => poolAddress === pool.poolAddress)?.instrument ?? '';

const routes: Readonly<Record<string, Entry>> = {
  'GET /quotes': [
    { query: `${inPool}&side=ask&${size}&${ofPrivate}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}&${ofPrivate}&fields=instrument`, shownTo: BOTH },
    ...pasts.flatMap((past) => [
      { query: `${inPool}&side=ask&${size}&${ofPrivate}&${past}`, shownTo: BOTH },
      { query: `${inPool}&side=ask&${size}&${past}`, shownTo: [] },
    ]),
    { query: `${inPool}&side=ask&${size}&${ofPrivate}&provider=${makerAddress}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}`, shownTo: [] },
  ],
  'GET /quotes/cover': [
    { query: `chainId=${chainId}&instrument=${instrument}&side=ask&${size}&${ofPrivate}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}&${ofPrivate}&provider=${makerAddress}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}&${ofPrivate}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}`, shownTo: [] },
  ],
  'GET /quotes/{quoteId}/history': [
    { path: `/quotes/${hidden.quoteId}/history`, shownTo: BOTH },
    { path: `/quotes/${hidden.quoteId}/history`, query: 'afterSeq=0&limit=1', shownTo: BOTH },
    { path: `/quotes/${withdrawn.quoteId}/history`, shownTo: BOTH },
  ],
  'POST /quotes': 'it repeats what is posted',
  'GET /rfq_quotes': [
    { query: `${inPool}&side=ask&${ofPrivate}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${ofPrivate}&fields=instrument`, shownTo: BOTH },
  ],
  'GET /orders': [
    { query: `${inPool}&${ofPrivate}`, shownTo: BOTH },
    { query: `quoteIds=${hidden.quoteId}`, shownTo: BOTH },
    { query: `quoteIds=${hidden.quoteId}&${ofPrivate}`, shownTo: BOTH },
    { query: `chainId=${chainId}&provider=${makerAddress}`, shownTo: [] },
    { query: `${inPool}&taker=*`, shownTo: ['all'] },
    { query: `${inPool}&taker=*&provider=${makerAddress}`, shownTo: ['all'] },
    ...pasts.flatMap((past): readonly Probe[] => [
      { query: `${inPool}&taker=*&provider=${makerAddress}&${past}`, shownTo: ['all'] },
      { query: `${inPool}&${ofPrivate}&${past}`, shownTo: BOTH },
      { query: `quoteIds=${hidden.quoteId}&${past}`, shownTo: BOTH },
    ]),
    { query: `${inPool}&${ofPrivate}&limit=1&fields=instrument`, shownTo: BOTH },
    { query: `${inPool}&${ofPrivate}&limit=10&cursor=${ordersCursor}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}&${ofPrivate}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&${size}`, shownTo: [] },
  ],
  'POST /orders/query': [
    { body: { quoteIds: [hidden.quoteId] }, shownTo: BOTH },
    { body: { chainId, taker: taker.address }, shownTo: BOTH },
    { body: { chainId, taker: taker.address, limit: 1, fields: 'instrument' }, shownTo: BOTH },
    {
      body: { chainId, taker: taker.address, limit: 10, cursor: decodeURIComponent(ordersCursor) },
      shownTo: BOTH,
    },
    {
      body: {
        ...{ chainId, poolAddress: pool.poolAddress, provider: makerAddress, side: 'ask', size: String(ONE / 2n) },
        taker: taker.address,
      },
      shownTo: BOTH,
    },
    { body: { chainId, poolAddress: pool.poolAddress, provider: makerAddress }, shownTo: [] },
    { body: { chainId, provider: makerAddress, taker: '*' }, shownTo: ['all'] },
  ],
  'GET /trades': 'fills are facts of the chain, and this taker has none',
  'GET /candles': 'fills are facts of the chain, and this taker has none',
  'GET /tickers': [
    { query: `chainId=${chainId}`, shownTo: [] },
    { query: `chainId=${chainId}&fields=valuation`, shownTo: [] },
    ...pasts.map((past) => ({ query: `chainId=${chainId}&${past}`, shownTo: [] })),
  ],
  'GET /events': [
    { query: `channel=QUOTES&fromSeq=0&${ofPrivate}`, shownTo: BOTH },
    { query: 'channel=QUOTES&fromSeq=0&taker=*', shownTo: ['all'] },
    { query: 'channel=QUOTES&fromSeq=0', shownTo: [] },
    { query: `channel=QUOTES&fromSeq=0&epoch=${'0'.repeat(16)}&${ofPrivate}`, shownTo: BOTH },
    { query: `channel=RFQ&fromSeq=0&${ofPrivate}`, shownTo: BOTH },
    { query: 'channel=RFQ&fromSeq=0', shownTo: ['all'] },
    { query: 'channel=RFQ&fromSeq=0&taker=*', shownTo: ['all'] },
    { query: `channel=RFQ&fromSeq=0&taker=${nobody}`, shownTo: ['all'] },
    { query: `channel=QUOTES&fromSeq=0&taker=${nobody}`, shownTo: [] },
    { query: `channel=ORDERBOOK&fromSeq=0&${inPool}&${ofPrivate}`, shownTo: BOTH },
    { query: `channel=ORDERBOOK&fromSeq=0&${inPool}`, shownTo: [] },
    { query: `channel=ORDERBOOK&fromSeq=0&${inPool}&depth=5`, shownTo: [] },
    { query: `channel=QUOTES&fromSeq=0&${inPool}&${ofPrivate}&side=ask&provider=${makerAddress}`, shownTo: BOTH },
    { query: `channel=QUOTES&fromSeq=0&${inPool}&side=ask&provider=${makerAddress}`, shownTo: [] },
    { query: `channel=RFQ&fromSeq=0&${inPool}&${ofPrivate}&side=ask&${size}`, shownTo: BOTH },
    { query: 'channel=TRADES&fromSeq=0', shownTo: [] },
    { query: `channel=TRADES&fromSeq=0&instrument=${instrument}`, shownTo: [] },
  ],
  'GET /quotes/withdrawn': [
    { query: `chainId=${chainId}&provider=${makerAddress}`, shownTo: BOTH },
    { query: `${inPool}&provider=${makerAddress}&limit=1`, shownTo: BOTH },
    { query: `${inPool}&provider=${makerAddress}&cursor=0x${'0'.repeat(64)}`, shownTo: BOTH },
  ],
  'DELETE /quotes': SIGNED,
  'POST /quotes/restore': SIGNED,
  'POST /authorizations': NO_QUOTES,
  'DELETE /authorizations': NO_QUOTES,
  'GET /authorizations': NO_QUOTES,
  'POST /heartbeat': NO_QUOTES,
  'POST /fill_limits': NO_QUOTES,
  'GET /fill_limits': NO_QUOTES,
  'GET /book/{pool}': ['depth=5', ...pasts].map((more) => ({
    path: `/book/${pool.poolAddress}`,
    query: `chainId=${chainId}&${more}`,
    shownTo: [],
  })),
  'GET /book/{pool}/proof': [
    { path: `/book/${pool.poolAddress}/proof`, query: `chainId=${chainId}&seq=${seq}`, shownTo: [] },
  ],
  'POST /rfqs': [
    // Another client id makes it another request. Those of the viewer `all` are its own.
    { body: { ...request, clientId: 'another' }, shownTo: BOTH },
    {
      body: { ...request, clientId: 'terms', anonymous: true, makers: [makerAddress], minQuotes: 1, validUntil },
      shownTo: BOTH,
    },
  ],
  'GET /rfqs': [
    { query: `chainId=${chainId}`, shownTo: BOTH },
    { query: `chainId=${chainId}&${ofPrivate}`, shownTo: BOTH },
    { query: `${inPool}&side=ask&status=open&limit=100`, shownTo: BOTH },
    { query: `chainId=${chainId}&packageId=${packageId}`, shownTo: ['taker'] },
    { query: `chainId=${chainId}&clientId=straddle`, shownTo: ['taker'] },
    { query: `chainId=${chainId}&cursor=${rfqsCursor}`, shownTo: BOTH },
  ],
  'GET /rfqs/{rfqId}/cover': [rfqId, legId, packageId].map((id) => ({ path: `/rfqs/${id}/cover`, shownTo: ['taker'] })),
  'GET /rfqs/{rfqId}/competition': [rfqId, legId, packageId].map((id) => ({
    path: `/rfqs/${id}/competition`,
    query: `provider=${makerAddress}`,
    shownTo: [],
  })),
  'DELETE /rfqs/{rfqId}': [rfqId, packageId].map((id) => ({ path: `/rfqs/${id}`, shownTo: ['taker'] })),
  'POST /auth/nonce': NO_QUOTES,
  'POST /auth/verify': NO_QUOTES,
  'POST /auth/signout': NO_QUOTES,
  'POST /auth/keys/nonce': NO_QUOTES,
  'POST /auth/keys': NO_QUOTES,
  'GET /pools': NO_QUOTES,
  'POST /pools': NO_QUOTES,
  'GET /instruments': NO_QUOTES,
  'GET /vaults/quote': NO_QUOTES,
  'POST /vaults/trade': NO_QUOTES,
  'POST /pool/settle': NO_QUOTES,
  'POST /pool/exercise': NO_QUOTES,
  'POST /pool/annihilate': NO_QUOTES,
  'GET /pools/strikes': NO_QUOTES,
  'GET /pools/maturities': NO_QUOTES,
  'GET /oracles/spot': NO_QUOTES,
  'GET /oracles/iv': NO_QUOTES,
  'GET /account/collateral_balances': NO_QUOTES,
  'GET /account/native_balance': NO_QUOTES,
  'GET /account/option_balance': NO_QUOTES,
  'GET /account/option_balances': NO_QUOTES,
  'POST /account/collateral_approval': NO_QUOTES,
  'GET /rfq/message': "it writes a message of the operator's",
  'GET /rfq/request': "it writes a message of the operator's",
  'POST /orderbook/quotes': OWN_WORDS,
  'GET /orderbook/quotes': [
    { query: `${asked.toString()}&side=ask&size=0.5&${ofPrivate}`, shownTo: BOTH },
    { query: `${asked.toString()}&side=ask&size=0.5`, shownTo: [] },
    { query: `${asked.toString()}&side=ask&size=0.5&provider=${makerAddress}&${ofPrivate}`, shownTo: BOTH },
  ],
  'PATCH /orderbook/quotes': [{ body: [{ quoteId: hidden.quoteId, tradeSize: 0.1 }], shownTo: [] }],
  'DELETE /orderbook/quotes': [{ body: { quoteIds: [hidden.quoteId] }, shownTo: [] }],
  'GET /orderbook/orders': [
    { query: `poolAddress=${pool.poolAddress}`, shownTo: [] },
    { query: `provider=${makerAddress}`, shownTo: [] },
    { query: `provider=${makerAddress}&type=invalid`, shownTo: [] },
    { query: `poolAddress=${pool.poolAddress}&side=ask&size=0.5`, shownTo: [] },
  ],
  'GET /account/orders': [
    { query: '', shownTo: [] },
    { query: `walletAddr=${market.maker.address}`, shownTo: ['all'] },
    { query: `walletAddr=${operatorAddress}`, shownTo: [] },
  ],
  'GET /health': NO_KEY,
  'GET /ready': NO_KEY,
  'GET /openapi.json': NO_KEY,
  'GET /asyncapi.json': NO_KEY,
  'GET /docs': NO_KEY,
  'GET /docs/sockets': NO_KEY,
  'GET /llms.txt': NO_KEY,
  'GET /': NO_KEY,
  'GET /page.json': NO_KEY,
};

/** What the routes with probes take: one of these has to be thought of when a route takes more. */
const inputs: Readonly<Record<string, string>> = {
  'GET /quotes': 'asOfBlock asOfSeq asOfTime chainId fields poolAddress provider side size taker',
  'GET /quotes/cover': 'chainId instrument poolAddress provider side size taker',
  'GET /quotes/{quoteId}/history': 'afterSeq limit quoteId',
  'GET /rfq_quotes': 'chainId fields poolAddress side taker',
  'GET /orders': 'asOfBlock asOfSeq asOfTime chainId cursor fields limit poolAddress provider quoteIds side size taker',
  'POST /orders/query': 'chainId cursor fields limit poolAddress provider quoteIds side size taker',
  'GET /quotes/withdrawn': 'chainId cursor limit poolAddress provider',
  'GET /tickers': 'asOfBlock asOfSeq asOfTime chainId fields',
  'GET /events': 'chainId channel depth epoch fromSeq instrument poolAddress provider side size taker',
  'GET /book/{pool}': 'asOfBlock asOfSeq asOfTime chainId depth pool',
  'GET /book/{pool}/proof': 'chainId pool seq',
  'POST /rfqs': 'anonymous chainId clientId legs makers minQuotes taker validUntil',
  'GET /rfqs': 'chainId clientId cursor limit packageId poolAddress side status taker',
  'GET /rfqs/{rfqId}/cover': 'rfqId',
  'GET /rfqs/{rfqId}/competition': 'provider rfqId',
  'DELETE /rfqs/{rfqId}': 'rfqId',
  'GET /orderbook/quotes': 'base expiration provider quote side size strike taker type',
  'PATCH /orderbook/quotes': 'quoteId tradeSize',
  'DELETE /orderbook/quotes': 'quoteIds',
  'GET /orderbook/orders': 'poolAddress provider side size type',
  'GET /account/orders': 'walletAddr',
};

interface JsonSchema {
  readonly properties?: object;
  readonly items?: JsonSchema;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}
const { paths } = JSON.parse(documents.openApi) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const documented = new Map<string, Operation>(
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  ),
);

/** Names of the parameters and of the body's fields. */
function inputsOf({ parameters = [], requestBody }: Operation): string {
  const { properties, items } = requestBody?.content['application/json']?.schema ?? {};
  const fields = Object.keys(properties ?? items?.properties ?? {});
  const named = parameters.filter(({ in: place }) => place !== 'header').map(({ name }) => name);
  return [...new Set([...named, ...fields])].sort().join(' ');
}

/** Inputs that the probes of a route name, in path, query or body. */
function probedInputs(route: string, probes: readonly Probe[]): Set<string> {
  const named = probes.flatMap(({ query = '', body }) => {
    const rows: unknown[] = Array.isArray(body) ? body : [body];
    const fields = rows.flatMap((row) => (typeof row === 'object' && row !== null ? Object.keys(row) : []));
    return [...new URLSearchParams(query).keys(), ...fields];
  });
  return new Set([...named, ...[...route.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)]);
}

await t.test('every input of a route is in a probe of it', async (t) => {
  const missing = Object.entries(routes).flatMap(([route, entry]) => {
    if (typeof entry === 'string') return [];
    const probed = probedInputs(route, entry);
    const left = inputsOf(documented.get(route) ?? {})
      .split(' ')
      .filter((name) => !probed.has(name));
    return left.length === 0 ? [] : [`${route}: ${left.join(' ')}`];
  });
  t.strictSame(missing, []);
});

await t.test('every route has an entry, every input is known, and nothing else is left', async (t) => {
  t.strictSame(Object.keys(routes).sort(), [...documented.keys()].sort());
  const probed = Object.keys(routes).filter((route) => typeof routes[route] !== 'string');
  t.strictSame(
    inputs,
    Object.fromEntries(probed.map((route) => [route, inputsOf(documented.get(route) ?? {})])),
    'where a route takes more, write a probe of it',
  );
});

for (const [route, entry] of Object.entries(routes)) {
  if (typeof entry === 'string') continue;
  const [method = '', template = ''] = route.split(' ');
  await t.test(`${route} shows a taker to those alone that may see it`, async (t) => {
    for (const { path = template, query = '', body, shownTo } of entry) {
      const target = query === '' ? path : `${path}?${query}`;
      const ask = (rest: RestClient) =>
        method === 'GET' ? rest.get(target) : rest.send(method as 'POST' | 'PATCH' | 'DELETE', target, body);
      for (const [viewer, rest] of Object.entries({ taker: ofTaker, all, stranger, desk, ofPage })) {
        const { status, body: answer } = await ask(rest);
        const isShown = shownTo.some((each) => each === viewer);
        t.equal(shows(JSON.stringify(answer)), isShown, `${viewer}: ${target} ${JSON.stringify(body ?? '')} ${status}`);
      }
    }
  });
}

await t.test('the history of a private quote is as one of an id that never was', async (t) => {
  const unknown = `0x${'ab'.repeat(32)}`;
  const historyOf = async (id: string) => {
    const { status, body } = await stranger.get(`/quotes/${id}/history`);
    const { quoteId, ...rest } = body;
    t.equal(quoteId, id);
    return { status, rest };
  };
  const [before, ofHidden] = [await historyOf(unknown), await historyOf(hidden.quoteId)];
  t.match(ofHidden, { status: 200, rest: { events: [], next: null } });
  t.strictSame(Object.keys(ofHidden.rest), Object.keys(before.rest));
});

await t.test(
  'the competition for a request is as one of an id that never was, unless the maker answers it',
  async (t) => {
    const own = await ofTaker.post('/rfqs', { ...request, clientId: 'competition' });
    const [{ rfqId: id }] = own.body.rfqs as readonly [{ readonly rfqId: string }];
    const standing = async (rest: RestClient, of: string, provider: string) =>
      (await rest.get(`/rfqs/${of}/competition?provider=${provider}`)).body;
    const unknown = (of: string) => ({ message: `There is no request ${of} for this key` });
    for (const of of [id, rfqId, 'f'.repeat(32)]) {
      // It has proven the address that it names, and that is no taker's.
      t.strictSame(await standing(desk, of, operatorAddress), unknown(of));
    }
    const [ofMaker, seesAll] = await Promise.all(
      [[], ['takers:all' as const]].map(async (scopes) => known((await keys.create('paid', 'maker', scopes)).key)),
    );
    if (ofMaker === undefined || seesAll === undefined) throw new Error('two keys were created');
    t.match(await standing(seesAll, id, makerAddress), { message: /has not proven the address of the provider/ });
    for (const rest of [ofMaker, seesAll]) await signIn(rest, 'key', privateKeyToAccount(market.maker.privateKey));
    t.match(await standing(seesAll, id, makerAddress), { rfqId: id, status: 'open', rank: null });
    t.strictSame(await standing(ofMaker, id, makerAddress), unknown(id));
    await post({ taker: takerAddress, price: QUOTE_PRICE, size: QUOTE_SIZE });
    // The oldest one for that taker, of either sender.
    const [answered] = (
      await Promise.all([ofTaker, all].map((rest) => rest.get(`/rfqs?chainId=${chainId}&status=quoted`)))
    ).flatMap(({ body }) => body.rfqs as readonly { readonly rfqId: string }[]);
    if (answered === undefined) throw new Error('the quote answers a request');
    t.match(await standing(ofMaker, answered.rfqId, makerAddress), { status: 'quoted', rank: 1 });
  },
);

interface SocketProbe {
  /** The body of the message, beside `chainId`. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Viewers that see something of the taker once there is something new. */
  readonly shownTo: readonly Viewer[];
}
type SocketEntry = readonly SocketProbe[] | string;

const NO_CHANNEL = 'it follows nothing';
const narrow = { poolAddress: pool.poolAddress, side: 'ask', size: String(ONE / 2n), provider: makerAddress };
const quotes: readonly SocketProbe[] = [
  { body: { ...narrow, taker: taker.address }, shownTo: BOTH },
  { body: narrow, shownTo: [] },
  { body: { taker: taker.address }, shownTo: BOTH },
  { body: { taker: '*' }, shownTo: ['all'] },
  { body: { poolAddress: pool.poolAddress, side: 'ask' }, shownTo: [] },
];
const rfqs: readonly SocketProbe[] = [
  { body: { taker: taker.address }, shownTo: BOTH },
  { body: {}, shownTo: ['all'] },
  { body: { taker: nobody }, shownTo: ['all'] },
  { body: { ...narrow, taker: taker.address }, shownTo: BOTH },
  { body: narrow, shownTo: ['all'] },
];
const levels: readonly SocketProbe[] = [
  { body: { poolAddress: pool.poolAddress, taker: taker.address, depth: 5 }, shownTo: BOTH },
  { body: { poolAddress: pool.poolAddress, depth: 5 }, shownTo: [] },
  { body: { poolAddress: pool.poolAddress, taker: taker.address }, shownTo: BOTH },
  { body: { poolAddress: pool.poolAddress }, shownTo: [] },
];
const cover = { poolAddress: pool.poolAddress, side: 'ask', size: String(ONE / 2n) };
const resumed = { epoch: '0'.repeat(16), fromSeq: 0 };
const plain: Readonly<Record<string, SocketEntry>> = {
  auth: NO_CHANNEL,
  'filter QUOTES': quotes,
  'filter RFQ': rfqs,
  'filterOrderbook ORDERBOOK': levels,
  'unsubscribe QUOTES': NO_CHANNEL,
  'unsubscribe RFQ': NO_CHANNEL,
  rfq: NO_CHANNEL,
  rfqByAddress: NO_CHANNEL,
};
const leaving = (channels: readonly string[], name: string): Record<string, SocketEntry> =>
  Object.fromEntries(channels.map((channel) => [`${name} ${channel}`, NO_CHANNEL]));
const channels = ['QUOTES', 'RFQ', 'ORDERBOOK', 'TICKER', 'COVER', 'TRADES'];
const messages: Readonly<Record<string, Readonly<Record<string, SocketEntry>>>> = {
  plain: { ...plain, ...leaving(channels, 'unsubscribeOrderbook') },
  readable: { ...plain, ...leaving(channels, 'unsubscribeOrderbook') },
  v2: {
    ...plain,
    'filter QUOTES': [
      ...quotes,
      { body: { taker: taker.address, snapshot: true }, shownTo: BOTH },
      { body: { taker: taker.address, ...resumed }, shownTo: BOTH },
      { body: { taker: '*', ...resumed }, shownTo: ['all'] },
      { body: { snapshot: true }, shownTo: [] },
    ],
    'filter RFQ': [
      ...rfqs,
      { body: { snapshot: true }, shownTo: ['all'] },
      { body: { taker: nobody, ...resumed }, shownTo: ['all'] },
      { body: { taker: taker.address, ...resumed }, shownTo: BOTH },
    ],
    'filterOrderbook ORDERBOOK': [
      ...levels,
      { body: { poolAddress: pool.poolAddress, taker: taker.address, ...resumed }, shownTo: BOTH },
    ],
    'filterTicker TICKER': [
      { body: {}, shownTo: [] },
      { body: { poolAddress: pool.poolAddress }, shownTo: [] },
    ],
    'filterCover COVER': [
      { body: { ...cover, taker: taker.address }, shownTo: BOTH },
      { body: { ...cover, taker: taker.address, provider: makerAddress }, shownTo: BOTH },
      { body: { instrument, side: 'ask', size: cover.size, taker: taker.address }, shownTo: BOTH },
      { body: { instrument, side: 'ask', size: cover.size }, shownTo: [] },
      { body: cover, shownTo: [] },
    ],
    'filterTrades TRADES': [
      { body: {}, shownTo: [] },
      { body: resumed, shownTo: [] },
      { body: { poolAddress: pool.poolAddress, provider: makerAddress }, shownTo: [] },
      { body: { instrument }, shownTo: [] },
    ],
    ...leaving(channels, 'unsubscribe'),
    postQuotes: 'it repeats what is posted',
    cancelQuotes: OWN_WORDS,
    withdrawQuotes: SIGNED,
    restoreQuotes: SIGNED,
    providerHeartbeat: NO_QUOTES,
    cancelOnDisconnect: NO_QUOTES,
    setFillLimit: NO_QUOTES,
  },
};

interface AsyncDocument {
  readonly channels: Readonly<
    Record<string, { readonly messages: Readonly<Record<string, { readonly payload: MessageSchema }>> }>
  >;
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
}
interface MessageSchema {
  readonly properties?: {
    readonly channel?: { readonly const?: string; readonly enum?: readonly string[] };
    readonly body?: JsonSchema & { readonly anyOf?: readonly JsonSchema[] };
  };
}
const asyncApi = JSON.parse(documents.asyncApi) as AsyncDocument;

/** Messages that a client of that protocol may send, once for each channel that it may name. */
function clientMessages(protocol: string): string[] {
  const { messages: refs = [] } = asyncApi.operations[`${protocol}FromClient`] ?? {};
  return refs.flatMap(({ $ref }) => {
    const name = $ref.split('/').at(-1) ?? '';
    const named = asyncApi.channels[protocol]?.messages[name]?.payload.properties?.channel;
    const values = named?.enum ?? (named?.const === undefined ? [] : [named.const]);
    return values.length === 0 ? [name] : values.map((channel) => `${name} ${channel}`);
  });
}

await t.test('every message of every protocol has an entry, and no other is left', async (t) => {
  t.strictSame(Object.keys(messages).sort(), Object.keys(asyncApi.channels).sort());
  for (const [protocol, entries] of Object.entries(messages)) {
    t.strictSame(Object.keys(entries).sort(), clientMessages(protocol).sort(), protocol);
  }
});

await t.test('every field of a filter is in a probe of it', async (t) => {
  const missing = Object.entries(messages).flatMap(([protocol, entries]) =>
    Object.entries(entries).flatMap(([name, entry]) => {
      if (typeof entry === 'string') return [];
      const [message = ''] = name.split(' ');
      const { properties, anyOf = [] } = asyncApi.channels[protocol]?.messages[message]?.payload.properties?.body ?? {};
      const fields = [properties, ...anyOf.map((each) => each.properties)].flatMap((each) => Object.keys(each ?? {}));
      if (fields.length === 0) return [`${protocol} ${name}: has no fields`];
      const probed = new Set(['chainId', ...entry.flatMap(({ body }) => Object.keys(body))]);
      const left = fields.filter((field) => !probed.has(field));
      return left.length === 0 ? [] : [`${protocol} ${name}: ${left.join(' ')}`];
    }),
  );
  t.strictSame(missing, []);
});

const SUBPROTOCOLS = {
  v2: 'quotebook.v2.json',
  'v2.msgpack': 'quotebook.v2.msgpack',
  readable: 'quotebook.readable',
} as const;

async function follow(protocol: string, key: string, channel: string, body: object): Promise<SocketClient> {
  const socket = await SocketClient.open(wsUrl, SUBPROTOCOLS[protocol as keyof typeof SUBPROTOCOLS]);
  await socket.auth(key);
  socket.send({ type: 'FILTER', channel, body: { chainId, ...body } });
  return socket;
}

/** Everything that the socket was sent before it answers this. */
async function received(socket: SocketClient): Promise<string> {
  socket.send({ type: 'NOTHING' });
  for (let text = ''; ;) {
    const message = await socket.next();
    if (message.type === 'ERROR' && String(message.message).startsWith('Unknown message type')) return text;
    // The progress of a key's own requests comes unasked: a test below is of that.
    if (message.type !== 'RFQ_STATUS') text += JSON.stringify(message);
  }
}

for (const [protocol, entries] of Object.entries({ ...messages, 'v2.msgpack': messages.v2 ?? {} })) {
  await t.test(`channels of ${protocol} show a taker to those alone that may see it`, async (t) => {
    const followed: { readonly what: string; readonly socket: SocketClient; readonly isShown: boolean }[] = [];
    for (const [name, entry] of Object.entries(entries)) {
      if (typeof entry === 'string') continue;
      const [, channel = ''] = name.split(' ');
      for (const { body, shownTo } of entry) {
        for (const [viewer, key] of Object.entries({
          taker: token,
          all: allKey.key,
          stranger: strangerKey.key,
          desk: running.apiKey,
          ofPage: page.key,
        })) {
          const what = `${viewer}: ${name} ${JSON.stringify(body)}`;
          const isShown = shownTo.some((each) => each === viewer);
          followed.push({ what, socket: await follow(protocol, key, channel, body), isShown });
        }
      }
    }
    await post({ taker: takerAddress, price: QUOTE_PRICE, size: QUOTE_SIZE });
    await askForQuotes();
    for (const [clientId, sent] of [
      [`while-${protocol}`, { ...request, legs: straddleLegs }],
      [`anonymous-${protocol}`, anonymous],
    ] as const) {
      t.equal((await ofTaker.post('/rfqs', { ...sent, clientId })).status, 201);
    }
    // What is shown is waited for: what is not would have been sent in the same tick.
    for (const { socket, what } of followed.filter(({ isShown }) => isShown)) {
      for (let text = ''; !shows(text);) text = JSON.stringify(await socket.next());
      t.pass(what);
    }
    for (const { socket, what } of followed.filter(({ isShown }) => !isShown)) {
      t.notOk(shows(await received(socket)), what);
    }
    for (const { socket } of followed) socket.end();
  });
}

await t.test("what becomes of a session's request goes to the sockets of its key that may see its taker", async (t) => {
  const [own, others] = await Promise.all(
    [token, page.key].map(async (key) => {
      const socket = await SocketClient.open(wsUrl, SUBPROTOCOLS.v2);
      await socket.auth(key);
      return socket;
    }),
  );
  if (own === undefined || others === undefined) throw new Error('two sockets were opened');
  const { status } = await ofTaker.post('/rfqs', { ...request, clientId: 'watched' });
  t.equal(status, 201);
  for (let type: unknown; type !== 'RFQ_STATUS';) ({ type } = await own.next());
  others.send({ type: 'NOTHING' });
  t.match(await others.next(), { type: 'ERROR' }, 'nothing else came before the answer');
  for (const socket of [own, others]) socket.end();
});

await t.test('a socket asks in the name of a taker that it has not proven, and sees no answers', async (t) => {
  const socket = await SocketClient.open(wsUrl, SUBPROTOCOLS.v2);
  await socket.auth(strangerKey.key);
  const body = { poolAddress: pool.poolAddress, side: 'ask', chainId, size: String(ONE), taker: taker.address };
  t.match(await socket.ask({ type: 'RFQ', body }), { type: 'INFO' });
  socket.send({ type: 'NOTHING' });
  t.match(await socket.next(), { type: 'ERROR' }, 'no status came before the answer');
  t.match((await stranger.get(`/rfqs?chainId=${chainId}`)).body, { rfqs: [] });
  socket.end();
});

await t.test('a key that proves the address sees it from then on, and no other key does', async (t) => {
  const query = `/rfq_quotes?${inPool}&side=ask&${ofPrivate}`;
  t.equal((await ofPage.get(query)).status, 403);
  t.strictSame(await signIn(ofPage, 'key'), { address: takerAddress, token: null, expiresAt: null });
  const { status, body } = await ofPage.get(query);
  t.equal(status, 200);
  t.ok(shows(JSON.stringify(body)));
  t.equal((await stranger.get(query)).status, 403);
});

await t.test("an account's orders have its private quotes for the keys that have proven its address", async (t) => {
  const own = await signQuote(market.operator.privateKey, pool, { taker: takerAddress, price: ONE / 3n });
  t.equal((await desk.post('/quotes', [own])).status, 201);
  const ofMaker = await known((await keys.create('paid', 'account')).key);
  const idsOf = async (rest: RestClient, wallet = '') => {
    const { body } = await rest.get(`/account/orders${wallet === '' ? '' : `?walletAddr=${wallet}`}`);
    return (body as unknown as readonly { readonly quoteId: string; readonly taker: string }[])
      .filter(({ taker }) => taker !== nobody)
      .map(({ quoteId }) => quoteId);
  };
  for (const wallet of ['', operatorAddress]) {
    t.equal((await idsOf(desk, wallet)).length, 1, 'the operator sees what it quoted to a taker');
    t.strictSame(await idsOf(stranger, wallet), []);
  }
  t.strictSame(await idsOf(ofMaker, makerAddress), [], 'it has not signed in yet');
  await signIn(ofMaker, 'key', privateKeyToAccount(market.maker.privateKey));
  t.ok((await idsOf(ofMaker, makerAddress)).includes(hidden.quoteId));
  t.strictSame(await idsOf(ofMaker, operatorAddress), []);
  t.strictSame(await idsOf(desk, makerAddress), []);
});

await t.test('a maker that has proven its address lists all its quotes, as of the past, too', async (t) => {
  const { key } = await keys.create('paid', 'own quotes');
  const ofMaker = await known(key);
  const own = `/orders?chainId=${chainId}&provider=${makerAddress}&taker=*`;
  const paths = [own, ...pasts.map((past) => `${own}&${past}`)];
  const byId = `/orders?quoteIds=${hidden.quoteId}`;
  const byIds = [byId, ...pasts.map((past) => `${byId}&${past}`)];
  const idsOf = async (path: string): Promise<string[]> =>
    ((await ofMaker.get(path)).body as unknown as OrdersResponse).validQuotes.map(({ quoteId }) => quoteId);
  const history = async () => (await ofMaker.get(`/quotes/${hidden.quoteId}/history`)).body.events;
  for (const path of byIds) t.strictSame(await idsOf(path), [], path);
  t.strictSame(await history(), []);
  for (const path of paths) t.match(await ofMaker.get(path), { status: 403, body: { message: /takers:all/ } }, path);
  await signIn(ofMaker, 'key', privateKeyToAccount(market.maker.privateKey));
  for (const path of [...paths, ...byIds]) t.ok((await idsOf(path)).includes(hidden.quoteId), path);
  t.match(await history(), [{ type: 'POSTED' }]);
  const ofOther = `/orders?chainId=${chainId}&provider=${operatorAddress}&taker=*`;
  t.match(await ofMaker.get(ofOther), { status: 403 });
});

await t.test('a client that signs in follows private quotes, also after a lost connection', async (t) => {
  const { key } = await keys.create('paid', 'client');
  await known(key);
  const sockets: { close(): void }[] = [];
  class WatchedWebSocket extends DocumentedWebSocket {
    constructor(...given: ConstructorParameters<typeof DocumentedWebSocket>) {
      super(...given);
      sockets.push(this);
    }
  }
  const ports = { ...documentedPorts, WebSocket: WatchedWebSocket as unknown as SocketConstructor };
  const timeouts = { reconnect: { minMs: 10, maxMs: 100 } };
  const client = new OrderbookClient({ url: httpUrl, apiKey: key, chainId, timeouts }, ports);
  t.teardown(() => client.close());
  const own = { poolAddress: pool.poolAddress, side: 'ask', taker: taker.address } as const;
  await t.rejects(client.rest.rfqQuotes(own), /has not proven/);
  await t.rejects(client.signIn({ account: taker, domain: 'evil.example' }), /domain evil.example/);
  const openBefore = client.followTickers();
  await openBefore.whenLive();
  await client.signIn({ address: taker.address, signMessage: (message) => taker.signMessage({ message }) });
  t.match(client.session, { address: takerAddress, token: /^qbs_/ });
  const quotes = client.followQuotes({ taker: taker.address });
  await quotes.whenLive();
  t.equal(sockets.length, 1, 'the open connection continues with the session');
  t.ok(quotes.book.get(hidden.quoteId));
  sockets[0]?.close();
  await until(() => quotes.state === 'WAITING');
  await quotes.whenLive();
  t.ok(quotes.book.get(hidden.quoteId));
  t.equal(sockets.length, 2);
  t.ok((await client.rest.rfqQuotes(own)).length > 0);
  await client.signIn({ account: taker, keep: 'key' });
  t.match(client.session, { token: /^qbs_/ }, 'the session goes on beside it');
});

await t.test('a session that signs out ends with its sockets, and its key stays', async (t) => {
  const { key } = await keys.create('paid', 'leaver');
  const ofKey = await known(key);
  const [first, second] = [await signIn(ofKey, 'session'), await signIn(ofKey, 'session')];
  if (first.token === null || second.token === null) throw new Error('a session has a token');
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(first.token);
  const ofFirst = new RestClient(httpUrl, first.token);
  t.match(await ofKey.post('/auth/signout', {}), { status: 200, body: { signedOut: false } });
  t.match(await ofFirst.post('/auth/signout', {}), { status: 200, body: { signedOut: true } });
  t.equal(await socket.closed(), 1008);
  t.match(await ofFirst.post('/auth/signout', {}), { status: 401 });
  const query = `/rfq_quotes?${inPool}&side=ask&${ofPrivate}`;
  t.equal((await new RestClient(httpUrl, second.token).get(query)).status, 200, 'the other session goes on');
  t.match(await ofKey.get(query), { status: 403 });
});
