import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient } from 'quotebook/client';
import { signRestore, signWithdrawal } from '../../src/client/sign-withdrawal.js';
import { limits as defaultLimits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { Market, ONE } from '../chain/dev/market.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { documentedPorts } from './documented-network.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

/** A provider hides a quote that is on the chain, and shows it again. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const limits = { lowerHeadMs: 100, wsHeartbeatMs: 100 };
const service = await startTestService({ chain, limits });
t.teardown(() => service.stop());
const market = new Market(chain);
const { maker, taker, stranger } = market;
const chainId = String(chain.chainId);
const client = new OrderbookClient({ url: service.httpUrl, chainId, apiKey: service.apiKey }, documentedPorts);
t.teardown(() => client.close());
const signer = privateKeyToAccount(maker.privateKey);
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

  await t.rejects(client.rest.withdrawQuotes(withdrawal), { status: 409, message: 'The nonce counts no more' });
  const restore = await signRestore(signer, chainId, await terms(offer.quoteId));
  t.match(await client.rest.restoreQuotes(restore), { restored: [offer.quoteId] });
  t.equal(await next(), `POST_QUOTE ${(3n * ONE) / 4n}`);
  t.match(await client.rest.quotes(cover), [{ quoteId: offer.quoteId, fillableSize: ((3n * ONE) / 4n).toString() }]);
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
