import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t, { type Test } from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';
import {
  signFillLimit,
  signKeyAuthorization,
  signKeyRevocation,
  signRestore,
  signWithdrawal,
} from '../../src/client/sign-withdrawal.js';
import { limits as defaultLimits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { documentedPorts } from './documented-network.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { until } from '../until.js';

/** A provider hides a quote that is on the chain, and shows it again. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const limits = { lowerHeadMs: 100, wsHeartbeatMs: 100, timerMinSeconds: 1, timerGraceMs: 1000 };
const service = await startTestService({ chain, limits });
t.teardown(() => service.stop());
const market = new Market(chain);
const { maker, taker, stranger } = market;
const chainId = String(chain.chainId);
const client = new OrderbookClient({ url: service.httpUrl, chainId, apiKey: service.apiKey }, documentedPorts);
t.teardown(() => client.close());
const signer = privateKeyToAccount(maker.privateKey);
const provider = maker.address;
const pool = market.pool('testWETH', 1800n, true);
let nonce = 0n;

function wirePoolKey({ strike, ...key }: typeof pool.poolKey) {
  return { ...key, strike: strike.toString() };
}

async function terms(...quoteIds: Hex[]) {
  nonce += 1n;
  return { quoteIds, nonce, deadline: (await market.now()) + 600 };
}

interface Pushed {
  readonly type: string;
  readonly size?: string;
  readonly body: { readonly quoteId: string; readonly fillableSize: string };
}

const socket = await SocketClient.open(service.wsUrl);
t.teardown(() => socket.end());
await socket.auth(service.apiKey);
await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId } });
const next = async (): Promise<string> => {
  const { type, size, body } = (await socket.next()) as unknown as Pushed;
  return [type, body.fillableSize, ...(size === undefined ? [] : [size])].join(' ');
};

await t.test('a withdrawn quote is in no view until its provider restores it, and a fill is published', async (t) => {
  const offer = await market.sign(pool);
  await market.publish(stranger.address, [offer]);
  t.equal(await next(), `POST_QUOTE ${ONE}`);

  const withdrawal = await signWithdrawal(signer, chainId, await terms(offer.quoteId));
  const withdrawn = await client.rest.withdrawQuotes(withdrawal);
  t.match(withdrawn, {
    withdrawn: [offer.quoteId],
    unchanged: [],
    unknown: [],
    notice: /can still be filled on chain/,
  });
  t.equal(await next(), `DELETE_QUOTE ${ONE}`);
  const cover = { poolAddress: pool.poolAddress, side: 'ask', size: '1' } as const;
  t.strictSame(await client.rest.quotes(cover), []);
  t.match(await client.rest.orders({ quoteIds: [offer.quoteId] }), { validQuotes: [], invalidQuotes: [] });

  const { pool: at, quoteId, salt, deadline, signature, ...words } = offer;
  const posted = { ...words, salt, deadline, signature, chainId, poolKey: wirePoolKey(at.poolKey) };
  const sent = { ...posted, price: words.price.toString(), size: words.size.toString() };
  t.match(await client.rest.postQuotes([sent]), { created: [], failed: [], exists: [{ quoteId }] });
  t.strictSame(await client.rest.quotes(cover), [], 'posting it again changes nothing');

  await market.fill(taker.address, offer, ONE / 4n);
  t.equal(await next(), `FILL_QUOTE 0 ${ONE / 4n}`);

  await t.rejects(client.rest.withdrawQuotes(withdrawal), { status: 409, message: 'The nonce was used before' });
  const left = ((3n * ONE) / 4n).toString();
  t.match(await client.rest.withdrawnQuotes({ provider: maker.address }), {
    next: null,
    quotes: [{ quoteId: offer.quoteId, fillableSize: left }],
  });
  const restore = await signRestore(signer, chainId, await terms(offer.quoteId));
  t.match(await client.rest.restoreQuotes(restore), { restored: [offer.quoteId] });
  t.equal(await next(), `POST_QUOTE ${(3n * ONE) / 4n}`);
  t.match(await client.rest.quotes(cover), [{ quoteId: offer.quoteId, fillableSize: left }]);
  t.strictSame(await client.rest.withdrawnQuotes({ provider: maker.address }), { next: null, quotes: [] });
});

await t.test('a signature of another account, type, chain or time changes nothing', async (t) => {
  const offer = await market.sign(pool);
  await market.publish(stranger.address, [offer]);
  t.equal(await next(), `POST_QUOTE ${ONE}`);
  const good = await terms(offer.quoteId);
  const forged = await signWithdrawal(privateKeyToAccount(taker.privateKey), chainId, good);
  const refused = (status: number) => ({ name: 'ApiError', status });
  await t.rejects(client.rest.withdrawQuotes({ ...forged, provider: maker.address }), refused(403));
  t.match(await client.rest.withdrawQuotes(forged), { withdrawn: [], unknown: [offer.quoteId] }, 'not its quote');
  await t.rejects(client.rest.withdrawQuotes(await signRestore(signer, chainId, good)), refused(403));
  const named = { chainId, provider, quoteIds: [offer.quoteId] };
  const { nonce: number, deadline, signature } = await signWithdrawal(signer, chainId, good);
  for (const partly of [
    { deadline, signature },
    { nonce: number, signature },
    { nonce: number, deadline },
  ]) {
    const message = 'nonce, deadline and signature come together';
    const wanted = { ...refused(400), message };
    await t.rejects(client.rest.withdrawQuotes({ ...named, ...partly }), wanted);
    await t.rejects(client.rest.restoreQuotes({ ...named, ...partly }), wanted);
    await t.rejects(client.rest.authorizeKey({ chainId, provider, ...partly }), wanted);
  }
  const elsewhere = await signWithdrawal(signer, '42161', good);
  await t.rejects(client.rest.withdrawQuotes({ ...elsewhere, chainId }), refused(403));
  for (const ahead of [-1, defaultLimits.signedAheadSeconds + 60]) {
    const late = await signWithdrawal(signer, chainId, { ...good, deadline: (await market.now()) + ahead });
    await t.rejects(client.rest.withdrawQuotes(late), refused(400));
  }
  t.match(await client.rest.withdrawQuotes(await signWithdrawal(signer, chainId, good)), {
    withdrawn: [offer.quoteId],
  });
  t.equal(await next(), `DELETE_QUOTE ${ONE}`);
});

await t.test('over a socket of the feed, page by page', async (t) => {
  const offers = [await market.sign(pool), await market.sign(pool), await market.sign(pool)];
  await market.publish(stranger.address, offers);
  for (const { size } of offers) t.equal(await next(), `POST_QUOTE ${size}`);
  const ids = offers.map(({ quoteId }) => quoteId).sort();
  const live = client.followQuotes({ poolAddress: pool.poolAddress });
  await live.whenLive();
  const withdrawn = await client.withdrawQuotes(await signWithdrawal(signer, chainId, await terms(...ids)));
  t.strictSame([...withdrawn.withdrawn].sort(), ids);
  for (const { size } of offers) t.equal(await next(), `DELETE_QUOTE ${size}`);

  const listed: string[] = [];
  const query = { provider: maker.address, poolAddress: pool.poolAddress, limit: '2' };
  for (let cursor: Hex | null | undefined; cursor !== null;) {
    const page = await client.rest.withdrawnQuotes({ ...query, ...(cursor !== undefined && { cursor }) });
    t.ok(page.quotes.length <= 2);
    listed.push(...page.quotes.map(({ quoteId }) => quoteId));
    cursor = page.next;
  }
  t.match(listed, [...listed].sort());
  t.strictSame(
    ids.filter((id) => !listed.includes(id)),
    [],
  );
  const elsewhere = { ...query, poolAddress: market.pool('testWETH', 1800n, false).poolAddress };
  t.strictSame(await client.rest.withdrawnQuotes(elsewhere), { next: null, quotes: [] });

  const restore = await signRestore(signer, chainId, await terms(...ids));
  t.strictSame([...(await client.restoreQuotes(restore)).restored].sort(), ids);
  for (const { size } of offers) t.equal(await next(), `POST_QUOTE ${size}`);
  await t.rejects(client.restoreQuotes(restore), { name: 'RefusedError', code: 'nonce_spent' });
});

/** A client of a key of its own, which the service knows by the time it resolves. */
async function newClient(label: string, at = service) {
  const { key } = await at.keys.create('paid', label);
  const own = new OrderbookClient({ url: at.httpUrl, chainId, apiKey: key }, documentedPorts);
  t.teardown(() => own.close());
  await until(() =>
    own.rest.authorizations().then(
      () => true,
      () => false,
    ),
  );
  return own;
}

await t.test('a session or key that has proven the provider withdraws and restores without a signature', async (t) => {
  const offer = await market.sign(pool);
  const { quoteId } = offer;
  await market.publish(stranger.address, [offer]);
  t.equal(await next(), `POST_QUOTE ${ONE}`);
  const named = { chainId, provider, quoteIds: [quoteId] };
  const own = await newClient('proven maker');
  await own.signIn({ account: signer });
  const reasons: unknown[] = [];
  const followed = own.followQuotes({ poolAddress: pool.poolAddress });
  followed.onEvent((event) => reasons.push('reason' in event ? event.reason : event.type));
  await followed.whenLive();

  t.match(await own.rest.withdrawQuotes(named), { withdrawn: [quoteId], notice: /can still be filled on chain/ });
  t.equal(await next(), `DELETE_QUOTE ${ONE}`);
  t.match(await own.rest.withdrawQuotes(named), { withdrawn: [], unchanged: [quoteId] }, 'again at will');
  t.match(await own.rest.restoreQuotes(named), { restored: [quoteId] });
  t.equal(await next(), `POST_QUOTE ${ONE}`);
  t.match(await own.withdrawQuotes(named), { withdrawn: [quoteId] }, 'over a socket');
  t.equal(await next(), `DELETE_QUOTE ${ONE}`);
  t.match(await own.restoreQuotes(named), { restored: [quoteId] });
  t.equal(await next(), `POST_QUOTE ${ONE}`);
  await until(() => reasons.length === 4);
  t.strictSame(reasons, ['REQUESTED', 'RESTORE_QUOTE', 'REQUESTED', 'RESTORE_QUOTE']);

  const byKey = await newClient('proven key');
  await byKey.signIn({ account: signer, keep: 'key' });
  t.match(await byKey.rest.withdrawQuotes(named), { withdrawn: [quoteId] });
  t.equal(await next(), `DELETE_QUOTE ${ONE}`);
  t.match(await byKey.rest.restoreQuotes(named), { restored: [quoteId] });
  t.equal(await next(), `POST_QUOTE ${ONE}`);
});

await t.test('a key that has proven another address, or none, withdraws nothing without a signature', async (t) => {
  const offer = await market.sign(pool);
  await market.publish(stranger.address, [offer]);
  t.equal(await next(), `POST_QUOTE ${ONE}`);
  const named = { chainId, provider, quoteIds: [offer.quoteId] };
  const other = await newClient('another maker');
  await other.signIn({ account: privateKeyToAccount(taker.privateKey) });
  for (const refused of [client, other]) {
    const { rest } = refused;
    const byRest = { name: 'ApiError', status: 403, message: /has not proven its address/ };
    const bySocket = { name: 'RefusedError', code: 'provider_not_authorized' };
    await t.rejects(rest.withdrawQuotes(named), byRest);
    await t.rejects(rest.restoreQuotes(named), byRest);
    await t.rejects(refused.withdrawQuotes(named), bySocket);
    await t.rejects(refused.restoreQuotes(named), bySocket);
  }
  // Nor may it name itself as the provider of another's quote.
  const own = { ...named, provider: taker.address };
  t.match(await other.rest.withdrawQuotes(own), { withdrawn: [], unknown: [offer.quoteId] });
  t.match(await client.rest.orders({ quoteIds: [offer.quoteId] }), { validQuotes: [{ quoteId: offer.quoteId }] });
});

await t.test('what a proven session withdrew is withdrawn after a restart, and restored after the next', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-withdrawals-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const offer = await market.sign(pool);
  await market.publish(stranger.address, [offer]);
  t.equal(await next(), `POST_QUOTE ${ONE}`);
  const named = { chainId, provider, quoteIds: [offer.quoteId] };
  const startAgain = async (): Promise<{ readonly own: OrderbookClient; stop(): Promise<void> }> => {
    const again = await startTestService({ chain, limits, keepsLog: true, dataDir });
    const own = await newClient('restarted', again);
    await own.signIn({ account: signer });
    return { own, stop: () => again.stop() };
  };
  const listed = async (own: OrderbookClient): Promise<boolean> =>
    (await own.rest.withdrawnQuotes({ provider })).quotes.some(({ quoteId }) => quoteId === offer.quoteId);

  const first = await startAgain();
  t.match(await first.own.rest.withdrawQuotes(named), { withdrawn: [offer.quoteId] });
  await first.stop();
  const second = await startAgain();
  t.ok(await listed(second.own));
  t.match(await second.own.withdrawQuotes(named), { unchanged: [offer.quoteId] });
  t.match(await second.own.restoreQuotes(named), { restored: [offer.quoteId] });
  await second.stop();
  const third = await startAgain();
  t.notOk(await listed(third.own));
  t.match(await third.own.rest.orders({ quoteIds: [offer.quoteId] }), { validQuotes: [{ quoteId: offer.quoteId }] });
  await third.stop();
});

async function authorised(): Promise<string> {
  const { keyId } = await client.rest.authorizations();
  nonce += 1n;
  const signed = { keyId, nonce, deadline: (await market.now()) + 86_400 };
  const { authorizations } = await client.rest.authorizeKey(await signKeyAuthorization(signer, chainId, signed));
  t.match(authorizations, [{ provider: provider.toLowerCase(), until: signed.deadline, heartbeatSeconds: 0 }]);
  return keyId;
}

async function published(count: number) {
  const offers = await Promise.all(Array.from({ length: count }, () => market.sign(pool)));
  await market.publish(stranger.address, offers);
  for (const { size } of offers) t.equal(await next(), `POST_QUOTE ${size}`);
  return offers;
}

async function allDeleted(t: Test, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) t.match(await next(), /^DELETE_QUOTE /);
}

/** Of everything of the provider that is in the book. */
async function liveIds(): Promise<Hex[]> {
  const { validQuotes } = await client.rest.orders({ provider });
  return validQuotes.map(({ quoteId }) => quoteId);
}

await t.test('a key that the provider has not signed for sets nothing', async (t) => {
  const refused = (status: number) => ({ name: 'ApiError', status });
  const { keyId } = await client.rest.authorizations();
  await t.rejects(client.rest.heartbeat(provider, 5), refused(403));
  await t.rejects(client.cancelOnDisconnect(provider, 5), { name: 'RefusedError', code: 'provider_not_authorized' });
  const deadline = (await market.now()) + 600;
  const other = await signKeyAuthorization(signer, chainId, { keyId: 'another', nonce: 1000n, deadline });
  await t.rejects(client.rest.authorizeKey(other), refused(403));
  const late = await signKeyAuthorization(signer, chainId, {
    keyId,
    nonce: 1000n,
    deadline: deadline + defaultLimits.authorizationSeconds,
  });
  await t.rejects(client.rest.authorizeKey(late), refused(400));
  await t.rejects(client.rest.authorizeKey({ chainId, provider }), refused(403), 'nothing was proven');
  t.strictSame((await client.rest.authorizations()).authorizations, []);
});

await t.test('quotes are withdrawn when heartbeats end, and restored by their provider alone', async (t) => {
  await authorised();
  const [offer] = await published(1);
  const quoteId = offer?.quoteId ?? '0x';
  const seen: object[] = [];
  const followed = client.followQuotes({ poolAddress: pool.poolAddress });
  t.teardown(() => followed.close());
  followed.onEvent((event) => seen.push(event));
  await followed.whenLive();
  t.match(await client.heartbeat(provider, 600), { provider: provider.toLowerCase(), seconds: 600 });
  t.match((await client.rest.authorizations()).authorizations, [{ heartbeatSeconds: 600 }]);
  const tooLong = await new RestClient(service.httpUrl, service.apiKey).post(
    '/heartbeat',
    { chainId, provider, timeoutSeconds: 86_400 },
    { accept: 'application/problem+json' },
  );
  t.match(tooLong, { status: 400, body: { code: 'invalid_parameter', param: 'timeoutSeconds' } });
  t.match((await client.rest.authorizations()).authorizations, [{ heartbeatSeconds: 600 }], 'it changes nothing');
  const before = await liveIds();
  await client.rest.heartbeat(provider, 1);
  await allDeleted(t, before.length);
  t.strictSame(await liveIds(), []);
  await until(async () => {
    const { authorizations } = await client.rest.authorizations();
    return authorizations[0]?.heartbeatSeconds === 0;
  });
  await until(() => seen.length === before.length);
  for (const event of seen) t.match(event, { type: 'WITHDRAW_QUOTE', reason: 'HEARTBEAT_MISSED' });
  await client.rest.restoreQuotes(await signRestore(signer, chainId, await terms(quoteId)));
  t.equal(await next(), `POST_QUOTE ${ONE}`);
});

await t.test('quotes are withdrawn when the connection ends, and not before', async (t) => {
  const own = new OrderbookClient({ url: service.httpUrl, chainId, apiKey: service.apiKey }, documentedPorts);
  t.teardown(() => own.close());
  await published(1);
  t.match(await own.cancelOnDisconnect(provider, 1), { seconds: 1 });
  const { rest } = client;
  t.match((await rest.authorizations()).authorizations, [{ disconnectSeconds: 1 }]);
  // Longer than the grace: the service renews the timer while the connection is open.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  t.ok((await liveIds()).length > 0, 'nothing is withdrawn while it is open');
  const left = await liveIds();
  own.close();
  await allDeleted(t, left.length);
  t.strictSame(await liveIds(), []);
});

await t.test('fills beyond the limit withdraw all that is quoted in the pool', async (t) => {
  const limit = { poolAddress: pool.poolAddress, contracts: 0n, fills: 1, windowSeconds: 600 };
  nonce += 1n;
  const signed = { ...limit, nonce, deadline: (await market.now()) + 600 };
  const shown = { poolAddress: pool.poolAddress.toLowerCase(), contracts: '0', fills: 1, windowSeconds: 600 };
  const set = await client.rest.setFillLimit(await signFillLimit(signer, chainId, signed));
  t.strictSame(set.fillLimits, [shown]);
  t.strictSame((await client.rest.fillLimits(provider)).fillLimits, [shown]);
  const stranger = await newClient('another maker');
  await t.rejects(stranger.rest.fillLimits(provider), { name: 'ApiError', status: 403 });
  await stranger.signIn({ account: signer });
  t.strictSame((await stranger.rest.fillLimits(provider)).fillLimits, [shown], 'it has proven the address');
  const [first, second] = await published(3);
  if (first === undefined || second === undefined) throw new Error('three were published');
  await market.fill(taker.address, first, ONE / 4n);
  t.equal(await next(), `FILL_QUOTE ${(3n * ONE) / 4n} ${ONE / 4n}`);
  await market.fill(taker.address, second, ONE / 4n);
  t.equal(await next(), `FILL_QUOTE ${(3n * ONE) / 4n} ${ONE / 4n}`);
  await allDeleted(t, 3);
  t.strictSame(await liveIds(), []);
  nonce += 1n;
  const ended = await signFillLimit(signer, chainId, { ...signed, fills: 0, nonce });
  t.strictSame((await client.rest.setFillLimit(ended)).fillLimits, [], 'also with a window');
  const off = { ...limit, contracts: '0', fills: 0, windowSeconds: 0, provider };
  t.strictSame((await client.rest.setFillLimit(off)).fillLimits, [], 'an authorised key needs no signature');
});

await t.test('a provider revokes a key by its signature', async (t) => {
  const { keyId } = await client.rest.authorizations();
  nonce += 1n;
  const signed = await signKeyRevocation(signer, chainId, { keyId, nonce, deadline: (await market.now()) + 600 });
  t.strictSame((await client.rest.revokeKey(signed)).authorizations, []);
  await t.rejects(client.rest.heartbeat(provider, 5), { name: 'ApiError', status: 403 });
});

await t.test(
  'a provider revokes a key that it does not hold, by its signature or a proof of its address',
  async (t) => {
    const keyId = await authorised();
    const other = await newClient('another key of the maker');
    const { keyId: otherId } = await other.rest.authorizations();
    const signed = async (id: string) => {
      nonce += 1n;
      return { keyId: id, nonce, deadline: (await market.now()) + 600 };
    };
    await other.rest.authorizeKey(await signKeyAuthorization(signer, chainId, await signed(otherId)));
    const refused = { name: 'ApiError', status: 403, code: 'provider_not_authorized' };
    await t.rejects(other.rest.revokeKey({ chainId, provider, keyId }), refused, 'one authorised key revokes no other');
    const revocation = await signKeyRevocation(signer, chainId, await signed(keyId));
    const forged = { name: 'ApiError', status: 403, code: 'invalid_signature' };
    await t.rejects(
      other.rest.revokeKey({ ...revocation, keyId: otherId }),
      forged,
      'it names the key that is revoked',
    );
    t.match(await other.rest.revokeKey(revocation), { keyId: otherId, authorizations: [{}] }, 'its own one stays');
    t.strictSame((await client.rest.authorizations()).authorizations, []);
    await t.rejects(client.rest.heartbeat(provider, 5), refused);

    await authorised();
    await other.signIn({ account: signer });
    await other.rest.revokeKey({ chainId, provider, keyId });
    t.strictSame((await client.rest.authorizations()).authorizations, []);
  },
);

await t.test('the authorisation of a key that is revoked leaves its place to another', async (t) => {
  const own = await startTestService({
    chain,
    limits: { ...limits, authorizationsPerProvider: 1, goneKeyLookMs: 20 },
  });
  t.teardown(() => own.stop());
  const [first, second] = [await newClient('the first key', own), await newClient('the second key', own)];
  for (const each of [first, second]) await each.signIn({ account: signer });
  const authorize = ({ rest }: typeof first) => rest.authorizeKey({ chainId, provider });
  const { keyId } = await authorize(first);
  await t.rejects(authorize(second), { name: 'ApiError', status: 429, code: 'too_many_protections' });
  await own.keys.revoke(keyId);
  await until(() =>
    authorize(second).then(
      () => true,
      () => false,
    ),
  );
});

await t.test('a proven maker withdraws all its quotes, of one pool and of every, however many', async (t) => {
  const small = await startTestService({ chain, limits: { ...limits, withdrawalsPerRequest: 2 } });
  t.teardown(() => small.stop());
  const own = await newClient('all quotes', small);
  const { poolAddress } = pool;
  const offers = [await market.sign(pool), await market.sign(pool, { taker: taker.address }), await market.sign(pool)];
  const elsewhere = await market.sign(market.pool('testWETH', 1600n, true));
  await market.publish(stranger.address, [...offers, elsewhere]);
  const shown = async (filter: { readonly poolAddress?: Hex } = {}): Promise<Hex[]> => {
    const { validQuotes, invalidQuotes } = await own.rest.orders({ ...filter, provider, taker: '*' });
    return [...validQuotes, ...invalidQuotes.map(({ quote }) => quote)].map(({ quoteId }) => quoteId).sort();
  };
  await until(async () => (await shown()).includes(elsewhere.quoteId));
  const refused = { name: 'ApiError', status: 403, code: 'provider_not_authorized' };
  await t.rejects(own.rest.withdrawAllQuotes(provider), refused, 'without a proof');
  await own.signIn({ account: signer });

  const ofPool = await shown({ poolAddress });
  t.ok(ofPool.length > 2, 'more than one request takes');
  t.strictSame((await own.rest.withdrawAllQuotes(provider, { poolAddress })).sort(), ofPool);
  t.strictSame(await shown({ poolAddress }), []);
  const others = await shown();
  t.ok(others.includes(elsewhere.quoteId));
  t.strictSame((await own.rest.withdrawAllQuotes(provider)).sort(), others);
  t.strictSame(await shown(), []);
  t.strictSame(await own.rest.withdrawAllQuotes(provider), [], 'none is left');
  await own.rest.restoreQuotes({ chainId, provider, quoteIds: [elsewhere.quoteId] });
  t.strictSame(await shown(), [elsewhere.quoteId]);

  const signed = await signWithdrawal(signer, chainId, await terms(elsewhere.quoteId));
  for (const wrong of [
    signed,
    { chainId, provider, quoteIds: [elsewhere.quoteId] },
    { chainId, provider, all: false },
  ]) {
    const body: object = { all: true, ...wrong };
    await t.rejects(own.rest.withdrawQuotes(body as typeof signed), { status: 400, code: 'invalid_parameter' });
  }
  t.strictSame(await shown(), [elsewhere.quoteId]);
});
