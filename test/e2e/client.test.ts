import {
  type FeedEncoding,
  type FollowedBook,
  OrderbookClient,
  type QuoteEvent,
  type Side,
  ZERO_ADDRESS,
} from 'quotebook/client';
import t, { type Test } from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { KeyStore } from '../../src/auth/key-store.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { ClientPorts } from '../../src/client/ports.js';
import { limits as defaultLimits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { DevActions } from '../chain/dev-actions.js';
import { newEngine } from '../engine/samples.js';
import { levelsHash, quotesHash } from '../feed/model-reader.js';
import { freePort } from '../free-port.js';
import { documentedPorts, DocumentedWebSocket } from './documented-network.js';
import { startTestService, type TestService } from './running-service.js';
import { until } from '../until.js';

const ONE = 10n ** 18n;
/** Heartbeats and timeouts short enough to be waited for. */
const limits = { wsHeartbeatMs: 100 };
const timeouts = { reconnect: { minMs: 10, maxMs: 200 } };

let poolsTaken = 0;
const service = await startTestService({ limits });
t.teardown(() => service.stop());

/** A client of a service, with its maker and a pool that no other test uses. */
function connect(t: Test, service: TestService, encoding: FeedEncoding, ports: Partial<ClientPorts> = {}) {
  const { httpUrl: url, apiKey, chain } = service;
  const client = new OrderbookClient(
    { url, apiKey, chainId: '421613', encoding, timeouts },
    { ...documentedPorts, ...ports },
  );
  t.teardown(() => client.close());
  const [, maker, taker] = chain.accounts;
  if (maker === undefined || taker === undefined) throw new Error('a chain has accounts');
  const ownPool = chain.pools[poolsTaken++];
  if (ownPool === undefined) throw new Error('a chain has pools');
  const { poolAddress, poolKey } = ownPool;
  const pool = { poolAddress, poolKey: { ...poolKey, strike: poolKey.strike.toString() } };
  return { client, pool, ownPool, maker: privateKeyToAccount(maker.privateKey), taker: taker.address };
}

/** What the server's own book hashes to. */
function serverHash({ engine }: TestService, poolAddress: Hex): Hex {
  const side = (of: Side) =>
    engine
      .levels({ poolAddress, side: of, taker: null }, Infinity)
      .map(({ price, size, count }) => ({ price: String(price), size: String(size), count }));
  return levelsHash(side('bid'), side('ask'));
}

for (const encoding of ['json', 'msgpack'] as const) {
  t.test(`over ${encoding}: quotes are signed, posted, seen, filled, and the books agree`, async (t) => {
    const { client, pool, ownPool, maker, taker } = connect(t, service, encoding);
    const book = client.followBook({ poolAddress: pool.poolAddress });
    const quotes = client.followQuotes({ poolAddress: pool.poolAddress });
    const events: QuoteEvent[] = [];
    quotes.onEvent((event) => events.push(event));
    const tickers = client.followTickers();
    await Promise.all([book.whenLive(), quotes.whenLive(), tickers.whenLive()]);

    const sign = (side: Side, price: bigint) => client.signQuote(maker, pool, { side, price, size: ONE });
    const [bid, ask] = [await sign('bid', ONE / 50n), await sign('ask', ONE / 20n)];
    const { created, failed } = await client.rest.postQuotes([bid.posted, ask.posted]);
    t.strictSame([created.map(({ quoteId }) => quoteId), failed], [[bid.quoteId, ask.quoteId], []]);
    await until(() => events.length === 2 && book.book.asks.length === 1);
    t.match(events, [
      { type: 'POST_QUOTE', cause: { chain: 'stream' }, body: { quoteId: bid.quoteId } },
      { type: 'POST_QUOTE', cause: { chain: 'stream' }, body: { quoteId: ask.quoteId } },
    ]);
    t.match(await client.rest.quotes({ poolAddress: pool.poolAddress, side: 'ask', size: '1' }), [
      { quoteId: ask.quoteId },
    ]);

    const offer = { pool: ownPool, price: ONE / 20n, size: ONE, isBuy: false };
    const { provider, deadline, salt, signature } = ask.posted;
    const signed = {
      ...offer,
      quoteId: ask.quoteId,
      provider,
      taker: ZERO_ADDRESS,
      deadline,
      salt,
      signature,
    } as const;
    await new DevActions(service.chain).fill(taker, signed, ONE / 4n);
    await until(() => events.length === 3);
    t.match(events[2], { type: 'FILL_QUOTE', size: String(ONE / 4n), cause: { chain: 'settlement' } });
    await until(() => book.book.hash === serverHash(service, pool.poolAddress));
    t.strictSame(book.book.asks, [{ price: ONE / 20n, size: (ONE * 3n) / 4n, count: 1 }]);
    t.strictSame(book.book.bids, [{ price: ONE / 50n, size: ONE, count: 1 }]);
    await until(() => tickers.of(pool.poolAddress)?.filledSize24h === String(ONE / 4n));
    t.match(tickers.of(pool.poolAddress), {
      bid: { price: String(ONE / 50n) },
      ask: { size: String((ONE * 3n) / 4n) },
    });
    t.ok((await client.rest.tickers()).tickers.some(({ poolAddress }) => poolAddress === pool.poolAddress));
  });
}

t.test('a taker asks, the maker hears it and answers to him alone', async (t) => {
  const { client, pool, maker, taker } = connect(t, service, 'json');
  const rfqs = client.followRfqs();
  await rfqs.whenLive();
  const heard = new Promise((resolve) => rfqs.onRfq(({ body }) => resolve(body)));
  await client.requestQuotes({ poolAddress: pool.poolAddress, side: 'ask', size: ONE, taker });
  t.match(await heard, { poolAddress: pool.poolAddress, taker, size: String(ONE) });
  const { posted } = await client.signQuote(maker, pool, { side: 'ask', price: ONE / 25n, size: ONE, taker });
  await client.rest.postQuotes([posted]);
  t.match(await client.rest.rfqQuotes({ poolAddress: pool.poolAddress, side: 'ask', taker }), [
    { price: String(ONE / 25n) },
  ]);
  t.strictSame(await client.rest.quotes({ poolAddress: pool.poolAddress, side: 'ask', size: '1' }), []);
});

t.test('after a restart of the service the client reconnects, with the server’s book', async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const engine = newEngine(defaultLimits.reorgDepth);
  const files = new MemoryKeyFiles();
  const keys = await KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize: 10 });
  t.teardown(() => keys.close());
  // A port that the system chose is not given out again for a minute; one that was named is.
  const port = await freePort();
  const before = await startTestService({ chain, engine, keys, port, limits });
  const { client, pool, maker } = connect(t, before, 'json');
  const book = client.followBook({ poolAddress: pool.poolAddress });
  const quotes = client.followQuotes({ poolAddress: pool.poolAddress });
  const post = async (price: bigint, url = client.rest) => {
    const { posted } = await client.signQuote(maker, pool, { side: 'ask', price, size: ONE });
    await url.postQuotes([posted]);
  };
  await Promise.all([book.whenLive(), quotes.whenLive()]);
  await post(ONE / 20n);
  await until(() => book.book.asks.length === 1);
  await before.stop();
  await until(() => client.connection === 'WAITING');
  const after = await startTestService({ chain, engine, keys, port, limits });
  t.teardown(() => after.stop());
  await post(ONE / 25n);
  await until(() => book.state === 'LIVE' && book.book.hash === serverHash(after, pool.poolAddress));
  t.equal(book.book.asks.length, 2);
  await until(() => quotes.state === 'LIVE' && quotes.book.size === 2);
});

t.test('whatever frames are lost, the books heal and equal the server’s', async (t) => {
  let frames = 0;
  let lost = 0;
  let isLossy = true;
  /** Loses every seventh frame that is not an answer. */
  class LossySocket extends DocumentedWebSocket {
    override emit(name: string, ...words: unknown[]): boolean {
      const [data] = words;
      if (name === 'message' && isLossy && Buffer.isBuffer(data) && !data.toString().startsWith('{"type":"INFO"')) {
        frames += 1;
        if (frames % 7 === 0) {
          lost += 1;
          return true;
        }
      }
      return super.emit(name, ...words);
    }
  }
  const ports = { WebSocket: LossySocket as unknown as ClientPorts['WebSocket'] };
  const { client, pool, maker } = connect(t, service, 'json', ports);
  const book = client.followBook({ poolAddress: pool.poolAddress });
  const quotes = client.followQuotes({ poolAddress: pool.poolAddress });
  let healed = 0;
  for (const followed of [book, quotes]) followed.onResync(() => (healed += 1));
  for (let round = 1n; round <= 8n; round++) {
    const signed = [0n, 1n, 2n].map((n) =>
      client.signQuote(maker, pool, { side: 'ask', price: ONE / 20n + round * 10n + n, size: ONE }),
    );
    await client.rest.postQuotes((await Promise.all(signed)).map(({ posted }) => posted));
  }
  isLossy = false;
  const isHealed = ({ book: levels, state }: FollowedBook) =>
    state === 'LIVE' && levels.hash === serverHash(service, pool.poolAddress);
  await until(() => isHealed(book) && quotes.state === 'LIVE' && quotes.book.size === 24);
  t.ok(lost > 0, 'frames were lost');
  t.ok(healed > 0, 'something was healed');
  const { validQuotes } = await client.rest.orders({ poolAddress: pool.poolAddress });
  t.equal(quotesHash(quotes.book.all()), quotesHash(validQuotes));
  const known = validQuotes.map(({ quoteId }) => quoteId);
  const unknown = Array.from(
    { length: 1000 - known.length },
    (_, i) => `0x${i.toString(16).padStart(64, '0')}` as const,
  );
  const named = await client.rest.orders({ quoteIds: [...unknown, ...known] });
  t.strictSame(named.validQuotes, validQuotes, 'and 1,000 ids in one call find them');
});
