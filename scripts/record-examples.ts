import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { encodeFunctionData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { WebSocket } from 'ws';
import type { RecordedCall } from '../src/api-docs/examples.js';
import { apiDocuments } from '../src/app/http-wiring.js';
import { poolAbi } from '../src/chain/contracts/abi.js';
import { startLocalChain } from '../src/chain/dev/local-chain.js';
import {
  type KeyTerms,
  signKeyAuthorization,
  signKeyRevocation,
  signRestore,
  signWithdrawal,
} from '../src/client/sign-withdrawal.js';
import { limits } from '../src/config/limits.js';
import { type Hex, ZERO_ADDRESS } from '../src/engine/quote.js';
import { Market, ONE } from '../test/chain/dev/market.js';
import type { SignedOffer } from '../test/chain/sign-quote.js';
import { startTestService } from '../test/e2e/running-service.js';
import { signQuote } from '../test/e2e/maker.js';
import { optionOf, queryOf } from '../test/e2e/wire-option.js';
import { until, untilAnswer } from '../test/until.js';
import { recordErrors } from './record-errors.js';

/**
 * Runs the service on a local chain, calls every operation, provokes every message, and writes what was sent and
 * received to src/api-docs/recorded.ts: the first call of each operation, and of each message the first one that is not
 * nearly empty. Lists are cut to two items. Then it makes each call wrong, and writes the errors to
 * src/api-docs/recorded-errors.ts. Run it again when a shape changes: `npm run examples`.
 */
const MOST_ITEMS = 2;
/** A shorter message is replaced by a longer one that comes later. */
const BARE_CHARS = 300;
const KEY = 'YOUR-API-KEY';

type Json = Readonly<Record<string, unknown>>;
type Channel = 'plain' | 'v2' | 'readable';

const chain = await startLocalChain();
const running = await startTestService({
  chain,
  keepsLog: true,
  page: { givesKey: false },
  selfService: 'yes',
  // The calls without a key come from one address: as many as are made wrong must not be too many.
  limits: { lowerHeadMs: 100, wsHeartbeatMs: 300, balanceCacheMs: 0, unknownKeysPerMinute: 1_000 },
});
const { httpUrl, wsUrl, apiKey } = running;
const chainId = String(chain.chainId);
const documents = apiDocuments(limits, {
  chainId,
  symbols: Object.keys(chain.tokens),
  vaultBases: ['testWETH', 'WETH', 'WBTC'],
});
const asyncApi = JSON.parse(documents.asyncApi) as {
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
};
const ajv = new Ajv2020({ strict: false }).addSchema(asyncApi, 'asyncapi.json');

const operations = new Map<string, string>();
const messages = new Map<string, string>();

function cut(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(cut);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item)]));
}

const written = (line: Json): string => JSON.stringify(line).replaceAll(/qb_[A-Za-z0-9_-]{48}/g, KEY);

/** Calls, and notes the call if it is the first of its operation (`GET /book/{pool}`) with a status below 300. */
async function call(operation: string, path: string, body?: unknown): Promise<Json> {
  const [method = ''] = operation.split(' ');
  const response = await fetch(httpUrl + path, {
    method,
    headers: { 'x-apikey': apiKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  const answer: unknown = isJson ? JSON.parse(text) : null;
  if (response.status >= 300) throw new Error(`${operation} ${path}: ${response.status} ${text}`);
  if (!operations.has(operation)) {
    const { status } = response;
    const sent = body === undefined ? {} : { body };
    operations.set(
      operation,
      written({ operation, target: path, ...sent, status, ...(isJson && { answer: cut(answer) }) }),
    );
  }
  return answer as Json;
}

/** A socket whose messages are noted, each under the names that its schema has in the document. */
class Recorder {
  readonly #received: Json[] = [];

  private constructor(
    private readonly channel: Channel,
    private readonly socket: WebSocket,
  ) {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Json;
      this.#received.push(message);
      this.#note('FromServer', message);
    });
  }

  static async open(channel: Channel, subprotocol?: string): Promise<Recorder> {
    const socket = new WebSocket(wsUrl, subprotocol ?? []);
    const recorder = new Recorder(channel, socket);
    await new Promise((resolve) => socket.once('open', resolve));
    await recorder.ask({ type: 'AUTH', apiKey, body: null });
    return recorder;
  }

  send(message: Json): void {
    this.#note('FromClient', message);
    this.socket.send(JSON.stringify(message));
  }

  /** Sends, and resolves to the first of these that comes. */
  async ask(message: Json, ...types: string[]): Promise<Json> {
    const from = this.#received.length;
    this.send(message);
    return this.next(from, types.length === 0 ? ['INFO'] : types);
  }

  async next(from: number, types: readonly string[]): Promise<Json> {
    const found = (): Json | undefined => this.#received.slice(from).find(({ type }) => types.includes(type as string));
    await until(() => found() !== undefined);
    return found() ?? {};
  }

  has(type: string): Promise<unknown> {
    return this.next(0, [type]).catch(() => {
      throw new Error(`${this.channel}: no ${type}`);
    });
  }

  close(): void {
    this.socket.terminate();
  }

  #note(from: 'FromClient' | 'FromServer', message: Json): void {
    for (const { $ref } of asyncApi.operations[this.channel + from]?.messages ?? []) {
      const name = $ref.split('/').at(-1) ?? '';
      const place = `${this.channel} ${name}`;
      const isValid = ajv.getSchema(`asyncapi.json#/channels/${this.channel}/messages/${name}/payload`);
      if (isValid?.(message) !== true) continue;
      const line = written({ channel: this.channel, name, message: cut(message) });
      const noted = messages.get(place) ?? '';
      if (noted.length < Math.min(line.length, BARE_CHARS)) messages.set(place, line);
    }
  }
}

const market = new Market(chain);
const { maker, taker, operator, stranger } = market;
const signer = privateKeyToAccount(maker.privateKey);
const pool = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const { poolAddress } = pool;
const option = optionOf(chain, pool);
const size = ONE.toString();
const terms = queryOf(option, { size: '1', direction: 'buy' });
const wireKey = { ...pool.poolKey, strike: pool.poolKey.strike.toString() };
let price = ONE / 20n;
let nonce = 1_000n;

const nextPrice = (): bigint => (price += ONE / 1000n);
const quote = (more: Parameters<typeof signQuote>[2] = {}) =>
  signQuote(maker.privateKey, pool, { price: nextPrice(), ...more });
const withdrawalTerms = async (quoteId: Hex) => ({
  quoteIds: [quoteId],
  nonce: nonce++,
  deadline: (await market.now()) + 600,
});
const known = (quoteId: string, states: readonly string[]) =>
  until(() => states.includes(running.engine.get(quoteId as Hex)?.state ?? 'none'));
const publish = async (offer: SignedOffer): Promise<SignedOffer> => {
  await market.publish(stranger.address, [offer]);
  await known(offer.quoteId, ['live']);
  return offer;
};
const signed = (more: object = {}) => market.sign(pool, { price: nextPrice(), ...more });

// The service itself.
await call('GET /health', '/health');
await untilAnswer(
  () => call('GET /ready', '/ready'),
  ({ ready }) => ready === true,
);
for (const path of ['/openapi.json', '/asyncapi.json']) {
  const { openapi, asyncapi, info } = (await (await fetch(httpUrl + path)).json()) as Json;
  const { title, version } = info as Json;
  const named = { info: { title, version } };
  const answer = openapi === undefined ? { asyncapi, ...named } : { openapi, ...named };
  operations.set(`GET ${path}`, written({ operation: `GET ${path}`, target: path, status: 200, answer }));
}
for (const path of ['/docs', '/docs/sockets', '/llms.txt']) await call(`GET ${path}`, path);
await call('GET /', '/');
await call('GET /page.json', '/page.json');

// A sign-in.
const takerAccount = privateKeyToAccount(taker.privateKey);
const { nonce: signInNonce } = (await call('POST /auth/nonce', '/auth/nonce', {})) as { readonly nonce: string };
const signInWith = async (nonce: string) => {
  const message = createSiweMessage({
    address: takerAccount.address,
    domain: new URL(httpUrl).host,
    uri: httpUrl,
    version: '1',
    chainId: chain.chainId,
    nonce,
  });
  return { message, signature: await takerAccount.signMessage({ message }) };
};
await call('POST /auth/verify', '/auth/verify', await signInWith(signInNonce));
await call('POST /auth/signout', '/auth/signout', {});
const ofNetwork = (await call('POST /auth/keys/nonce', '/auth/keys/nonce', {})) as { readonly nonce: string };
await call('POST /auth/keys', '/auth/keys', await signInWith(ofNetwork.nonce));

// Sockets, before anything happens.
const plain = await Recorder.open('plain');
const readable = await Recorder.open('readable', 'quotebook.readable');
const v2 = await Recorder.open('v2', 'quotebook.v2.json');
for (const socket of [plain, readable]) {
  await socket.ask({ type: 'FILTER', channel: 'ORDERBOOK', body: { chainId, poolAddress, depth: 10 } });
  await socket.ask({ type: 'UNSUBSCRIBE', channel: 'RFQ' });
  await socket.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId } });
}
await v2.ask({ type: 'FILTER', channel: 'ORDERBOOK', body: { chainId, poolAddress, depth: 10 }, id: 'book' });
await v2.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId }, id: 'requests' });
await v2.ask({ type: 'UNSUBSCRIBE', channel: 'RFQ', id: 'stop' });
await v2.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId }, id: 'requests' });

// Quotes, published over HTTP.
const first = await quote();
const { created } = (await call('POST /quotes', '/quotes', [first])) as { created: { quoteId: Hex }[] };
const quoteId = created[0]?.quoteId ?? '0x';
for (const socket of [plain, readable]) {
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId, poolAddress } });
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId, poolAddress } });
}
const following = { type: 'FILTER', channel: 'QUOTES', body: { chainId, poolAddress, snapshot: true }, id: 'quotes' };
const { epoch } = (await v2.ask(following)).body as { readonly epoch: string };
await v2.ask({ type: 'FILTER', channel: 'TRADES', body: { chainId, poolAddress }, id: 'trades' });
await v2.ask({ type: 'FILTER', channel: 'TICKER', body: { chainId, poolAddress }, id: 'tickers' });
await v2.ask({ type: 'FILTER', channel: 'COVER', body: { chainId, poolAddress, side: 'ask', size }, id: 'cover' });
const secret = await signed({ taker: taker.address });
await publish(secret);

// Reads of the book.
const query = `poolAddress=${poolAddress}&chainId=${chainId}`;
await call('GET /quotes', `/quotes?${query}&size=${size}&side=ask`);
await call('GET /quotes/cover', `/quotes/cover?${query}&size=${size}&side=ask&taker=${taker.address}`);
await call('GET /quotes/{quoteId}/history', `/quotes/${quoteId}/history`);
const { seq } = (await call('GET /book/{pool}', `/book/${poolAddress}?chainId=${chainId}`)) as { seq: number };
await call('GET /book/{pool}/proof', `/book/${poolAddress}/proof?chainId=${chainId}&seq=${seq}`);
await call('GET /rfq_quotes', `/rfq_quotes?${query}&side=ask&taker=${taker.address}`);
await call('GET /orders', `/orders?${query}`);
await call('POST /orders/query', '/orders/query', { quoteIds: [quoteId] });
await call('GET /tickers', `/tickers?chainId=${chainId}`);
await call(
  'GET /events',
  `/events?chainId=${chainId}&channel=QUOTES&poolAddress=${poolAddress}&epoch=${epoch}&fromSeq=1`,
);

// Withdrawals.
await call('DELETE /quotes', '/quotes', await signWithdrawal(signer, chainId, await withdrawalTerms(quoteId)));
await call('GET /quotes/withdrawn', `/quotes/withdrawn?chainId=${chainId}&provider=${maker.address}`);
await call(
  'POST /quotes/restore',
  '/quotes/restore',
  await signRestore(signer, chainId, await withdrawalTerms(quoteId)),
);
const hiding = await signWithdrawal(signer, chainId, await withdrawalTerms(quoteId));
await v2.ask({ type: 'WITHDRAW_QUOTES', body: hiding, id: 'hide' }, 'QUOTES_WITHDRAWN');
const showing = await signRestore(signer, chainId, await withdrawalTerms(quoteId));
await v2.ask({ type: 'RESTORE_QUOTES', body: showing, id: 'show' }, 'QUOTES_RESTORED');

// Withdrawals without a request.
const { keyId } = (await call('GET /authorizations', '/authorizations')) as { keyId: string };
const ofKey = async (ahead: number): Promise<KeyTerms> => {
  const { nonce, deadline } = await withdrawalTerms(quoteId);
  return { keyId, nonce, deadline: deadline + ahead };
};
await call('POST /authorizations', '/authorizations', await signKeyAuthorization(signer, chainId, await ofKey(86_400)));
const timer = { chainId, provider: maker.address };
await call('POST /heartbeat', '/heartbeat', { ...timer, timeoutSeconds: 600 });
await v2.ask({ type: 'PROVIDER_HEARTBEAT', body: { ...timer, timeoutSeconds: 600 }, id: 'alive' }, 'TIMER_SET');
await v2.ask({ type: 'CANCEL_ON_DISCONNECT', body: { ...timer, graceSeconds: 600 }, id: 'open' }, 'TIMER_SET');
const bounds = { ...timer, poolAddress, contracts: size, fills: 100, windowSeconds: 60 };
await call('POST /fill_limits', '/fill_limits', bounds);
await call('GET /fill_limits', `/fill_limits?chainId=${chainId}&provider=${maker.address}`);
await v2.ask({ type: 'SET_FILL_LIMIT', body: { ...bounds, contracts: '0', fills: 0 }, id: 'limit' }, 'FILL_LIMIT_SET');
await call('DELETE /authorizations', '/authorizations', await signKeyRevocation(signer, chainId, await ofKey(0)));

// Quotes, published and cancelled over a socket.
const overSocket = await quote();
await v2.ask({ type: 'POST_QUOTES', dryRun: true, body: [overSocket], id: 'check' }, 'QUOTES_CHECKED');
await v2.ask({ type: 'POST_QUOTES', body: [overSocket], id: 'post' }, 'QUOTES_POSTED');
const offered = { ...option, side: 'ask', size: 1, price: 0.08, deadline: 3600 };
const operatorQuotes = async (): Promise<readonly { quoteId: Hex }[]> =>
  ((await call('POST /orderbook/quotes', '/orderbook/quotes', [offered])) as { created: { quoteId: Hex }[] }).created;
const [own] = await operatorQuotes();
await v2.ask({ type: 'CANCEL_QUOTES', body: { quoteIds: [own?.quoteId] }, id: 'cancel' }, 'QUOTES_CANCELLED');
const [other] = await operatorQuotes();
await call('DELETE /orderbook/quotes', '/orderbook/quotes', { quoteIds: [other?.quoteId] });
await v2.ask({ type: 'NONSENSE', id: 'wrong' }, 'ERROR');

// Requests for quotes.
const leg = { poolAddress, side: 'ask', size };
const asking = { chainId, taker: taker.address, legs: [leg], clientId: 'spread-7' };
const { rfqs } = (await call('POST /rfqs', '/rfqs', asking)) as { rfqs: { rfqId: string }[] };
const rfqId = rfqs[0]?.rfqId ?? '';
await publish(await signed({ taker: taker.address }));
await v2.has('RFQ_UPDATE');
await v2.has('RFQ_STATUS');
await call('GET /rfqs', `/rfqs?chainId=${chainId}`);
await call('GET /rfqs/{rfqId}/cover', `/rfqs/${rfqId}/cover`);
await call('GET /rfqs/{rfqId}/competition', `/rfqs/${rfqId}/competition?provider=${maker.address}`);
await call('DELETE /rfqs/{rfqId}', `/rfqs/${rfqId}`);
const wanted = { side: 'ask', chainId, size, taker: taker.address };
for (const socket of [plain, readable, v2]) {
  const id = socket === v2 ? { id: 'ask' } : {};
  await socket.ask({ type: 'RFQ', body: { poolKey: wireKey, ...wanted }, ...id });
  await socket.ask({ type: 'RFQ', body: { poolAddress, ...wanted }, ...id });
}
for (const socket of [plain, readable, v2]) await socket.has('RFQ');

// What the chain does to quotes.
const { router } = (await call('GET /page.json', '/page.json')) as { router: Hex };
const filled = await publish(await signed());
await market.fill(taker.address, filled, ONE / 4n);
await v2.has('FILL_QUOTE');
await market.reorg(1);
await v2.has('UNDO_QUOTE');
for (const type of ['TRADE', 'UNDO_TRADES']) await v2.has(type);
await market.fill(taker.address, filled, ONE);
await v2.has('REMOVE_QUOTE');
const cancelled = await publish(await signed());
await market.cancel(maker.address, poolAddress, [cancelled.quoteId]);
await v2.has('CANCEL_QUOTE');
await market.approve(maker.address, pool.poolKey.base, router, 0n);
await v2.has('INVALIDATE_QUOTE');
await market.approve(maker.address, pool.poolKey.base, router);
await v2.has('REVALIDATE_QUOTE');
for (const socket of [plain, readable]) for (const type of ['FILL_QUOTE', 'DELETE_QUOTE']) await socket.has(type);
await call('GET /trades', `/trades?chainId=${chainId}`);
await call('GET /candles', `/candles?${query}&interval=1h`);

// Pools, oracles and accounts.
await call('GET /pools', '/pools?base=testWETH');
await call('POST /pools', '/pools', [{ ...option, strike: 2100 }]);
await call('GET /vaults/quote', `/vaults/quote?${queryOf(optionOf(chain, put), { size: '1', direction: 'buy' })}`);
await call('GET /instruments', '/instruments');
await call('GET /pools/strikes', '/pools/strikes?market=testWETH');
await call('GET /pools/maturities', '/pools/maturities');
await call('GET /oracles/spot', '/oracles/spot?markets[]=testWETH');
await call('GET /oracles/iv', `/oracles/iv?market=testWETH&expiration=${option.expiration}`);
await call('GET /rfq/message', `/rfq/message?${terms}`);
await call('GET /rfq/request', `/rfq/request?${terms}`);

// What the operator trades.
const readableTerms = queryOf(option, { size: '1', side: 'ask' });
await call('GET /orderbook/quotes', `/orderbook/quotes?${readableTerms}`);
await call('GET /orderbook/orders', `/orderbook/orders?poolAddress=${poolAddress}`);
await call('GET /account/orders', `/account/orders?walletAddr=${maker.address}`);
await call('POST /account/collateral_approval', '/account/collateral_approval', [{ token: 'testWETH', amt: 'max' }]);
await call('PATCH /orderbook/quotes', '/orderbook/quotes', [{ quoteId, tradeSize: 0.5 }]);
const vault = chain.profile.vaults.find(({ name }) => name === 'pSV-testWETH/USDC-P')?.address ?? '0x';
await market.approve(operator.address, market.token('USDC'), vault);
const bought = { ...optionOf(chain, put), size: 1, direction: 'buy', premiumLimit: 1000 };
await call('POST /vaults/trade', '/vaults/trade', bought);
await call('GET /account/collateral_balances', `/account/collateral_balances?walletAddr=${maker.address}`);
await call('GET /account/native_balance', `/account/native_balance?walletAddr=${maker.address}`);
await call('GET /account/option_balance', `/account/option_balance?chainId=${chainId}&wallet=${taker.address}`);
await call('GET /account/option_balances', `/account/option_balances?walletAddr=${taker.address}`);
const writing = [operator.address, operator.address, ONE, ZERO_ADDRESS] as const;
const write = encodeFunctionData({ abi: poolAbi, functionName: 'writeFrom', args: writing });
await market.send(operator.address, poolAddress, write);
await call('POST /pool/annihilate', '/pool/annihilate', [option]);

// A reader that comes back with another log's number, and the ends of quotes.
await v2.ask(
  {
    type: 'FILTER',
    channel: 'QUOTES',
    body: { chainId, poolAddress, epoch: '0123456789abcdef', fromSeq: 1 },
    id: 'resume',
  },
  'RESYNC',
);
await publish(await signed({ deadline: (await market.now()) + 120 }));
await market.moveTimeTo((await market.now()) + 200);
await v2.has('EXPIRE_QUOTE');
await market.fill(operator.address, await publish(await signed({ price: ONE / 2n })), ONE);
await market.setSettlementPrice(pool.poolKey, 2000n * ONE);
await market.moveTimeTo(pool.poolKey.maturity);
const done = ({ success }: Json): boolean => (success as unknown[]).length > 0;
const close = (path: string) =>
  untilAnswer(async () => {
    operations.delete(`POST ${path}`);
    return call(`POST ${path}`, path, [option]);
  }, done);
await close('/pool/exercise');
await market.setSettlementPrice(put.poolKey, 2000n * ONE).catch(() => undefined);
operations.delete('POST /pool/settle');
await call('POST /pool/settle', '/pool/settle', [optionOf(chain, put)]);
await v2.has('HEARTBEAT');

// The ways in which each of these calls can be wrong.
const { key: plainKey } = await running.keys.create('paid', 'without a scope');
const { paths } = JSON.parse(documents.openApi) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Json }>>>>;
};
const errors = await recordErrors({
  httpUrl,
  apiKey,
  plainKey,
  cut,
  calls: [...operations.values()].sort().map((line) => JSON.parse(line) as RecordedCall),
  isDocumented(operation, status) {
    const [method = '', path = ''] = operation.split(' ');
    return paths[path]?.[method.toLowerCase()]?.responses[String(status)] !== undefined;
  },
});

for (const socket of [plain, readable, v2]) socket.close();
await running.stop();
await chain.stop();

/** Writes a module with one line of JSON for each value. */
function writeLines(name: string, file: string, about: string, lines: readonly string[]): void {
  const bad = lines.filter((line) => /`|\$\{|\\u/.test(line));
  if (bad.length > 0) throw new Error(`cannot stand in a template: ${bad[0]}`);
  const text = `/** Recorded by scripts/record-examples.ts: ${about} a line, as JSON. */\nexport const ${name} = String.raw\`\n${lines.join('\n')}\n\`;\n`;
  writeFileSync(fileURLToPath(new URL(`../../src/api-docs/${file}`, import.meta.url)), text);
}

const lines = [...[...operations.values()].sort(), ...[...messages.values()].sort()];
writeLines('RECORDED', 'recorded.ts', 'one call or one message', lines);
const errorLines = errors.map((error) => written({ ...error })).sort();
writeLines('RECORDED_ERRORS', 'recorded-errors.ts', 'one error and the operations that gave it', errorLines);
console.log(`${operations.size} operations, ${messages.size} messages and ${errors.length} errors`);
