import t from 'tap';
import { hashTypedData } from 'viem';
import { orderbookStreamAbi, poolAbi } from '../../src/chain/contracts/abi.js';
import type { Hex } from '../../src/engine/quote.js';
import type { Heartbeat } from '../../src/wire/feed-messages.js';
import type { OrderbookQuote, OrdersResponse } from '../../src/wire/orderbook.js';
import { QUOTE_TYPES } from '../auth/quote-types.js';
import { DevActions } from '../chain/dev-actions.js';
import { signOffer } from '../chain/sign-quote.js';
import { levelsHash, quotesHash } from '../feed/model-reader.js';
import { FeedClient } from './feed-client.js';
import { ONE, ZERO } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

const running = await startTestService({ limits: { wsHeartbeatMs: 50 } });
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey } = running;
const rest = new RestClient(httpUrl, apiKey);
const dev = new DevActions(chain);
const [pool, otherPool] = chain.pools;
const [, maker, takerAccount] = chain.accounts;
if (!pool || !otherPool || !maker || !takerAccount) throw new Error('The local chain lacks pools or accounts');
const { poolAddress } = pool;
const taker = takerAccount.address.toLowerCase() as Hex;

function texts(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : typeof value === 'number' ? String(value) : value;
}

/** Public and private quotes on both sides of two pools, one of them filled in part. */
const deadline = (await dev.now()) + 3600;
const offer = (about: { price: bigint; isBuy?: boolean; taker?: Hex; at?: typeof pool }) =>
  signOffer(maker, chain.chainId, {
    pool: about.at ?? pool,
    price: about.price,
    size: ONE / 100n,
    isBuy: about.isBuy ?? false,
    deadline,
    ...(about.taker && { taker: about.taker }),
  });
const filled = await offer({ price: ONE / 10n });
const offers = [
  filled,
  await offer({ price: ONE / 10n }),
  await offer({ price: ONE / 9n }),
  await offer({ price: ONE / 20n, isBuy: true }),
  await offer({ price: ONE / 11n, taker }),
  await offer({ price: ONE / 12n, at: otherPool }),
];

const follower = await FeedClient.open(wsUrl, apiKey);
t.teardown(() => follower.break());
follower.follow('QUOTES', {});
await dev.publish(maker.address, offers);
await dev.fill(taker, filled, ONE / 400n);
await follower.until(() => follower.messages.some(({ type }) => type === 'FILL_QUOTE'));

/** The book as GET /orders shows it. */
async function orders(query: string): Promise<readonly OrderbookQuote[]> {
  const { body } = await rest.get(`/orders?chainId=421613&${query}`);
  return (body as unknown as OrdersResponse).validQuotes;
}

function levelsOf(quotes: readonly OrderbookQuote[], isBuy: boolean) {
  const levels = new Map<string, { price: string; size: string; count: number }>();
  for (const { price, fillableSize } of quotes.filter((quote) => quote.isBuy === isBuy)) {
    const { size, count } = levels.get(price) ?? { size: '0', count: 0 };
    levels.set(price, { price, size: (BigInt(size) + BigInt(fillableSize)).toString(), count: count + 1 });
  }
  return levels.values();
}

/** Hashes that a new connection gets: with its snapshot, and in the next heartbeat. */
async function told(channel: 'QUOTES' | 'ORDERBOOK', body: object) {
  const client = await FeedClient.open(wsUrl, apiKey, 'quotebook.v2.msgpack');
  client.follow(channel, body);
  await client.until(() => client.reader.canResume);
  const since = client.messages.length;
  const beats = () =>
    client.messages.slice(since).filter((message): message is Heartbeat => message.type === 'HEARTBEAT');
  await client.until(() => beats().some(({ books }) => books.length > 0));
  client.break();
  const books = beats().at(-1)?.books ?? [];
  const inSnapshot = client.messages.flatMap((message) => {
    if (message.type === 'QUOTES_SNAPSHOT') return [{ key: message.key, hash: message.hash }];
    if (message.type === 'ORDERBOOK_SNAPSHOT') return [{ key: message.key, hash: message.levelsHash }];
    return [];
  });
  return { books, inSnapshot };
}

await t.test('the book hash is that of the quotes which GET /orders shows', async (t) => {
  const seen = await orders(`poolAddress=${poolAddress}&taker=${taker}`);
  const [publicOnes, ownOnes] = [ZERO, taker].map((whose) => seen.filter((quote) => quote.taker === whose));
  t.strictSame([publicOnes?.length, ownOnes?.length], [4, 1]);
  const computed = [
    { key: `quotes:421613:${poolAddress}:*:${ZERO}`, hash: quotesHash(publicOnes ?? []) },
    { key: `quotes:421613:${poolAddress}:*:${taker}`, hash: quotesHash(ownOnes ?? []) },
  ];
  const { books, inSnapshot } = await told('QUOTES', { poolAddress, taker });
  t.strictSame(inSnapshot, computed, 'in the snapshot');
  t.strictSame(books, computed, 'in the heartbeat');
  const sum = computed.reduce((total, { hash }) => total + BigInt(hash), 0n) % 2n ** 256n;
  t.equal(BigInt(quotesHash(seen)), sum, 'the sums of both add up to that of all');
});

await t.test('the levels hash is that of the quotes of GET /orders, put together by price', async (t) => {
  for (const [whose, query] of [
    [{}, ''],
    [{ taker }, `&taker=${taker}`],
  ] as const) {
    const seen = await orders(`poolAddress=${poolAddress}${query}`);
    const hash = levelsHash(levelsOf(seen, true), levelsOf(seen, false));
    const { books, inSnapshot } = await told('ORDERBOOK', { poolAddress, ...whose });
    t.match(inSnapshot, [{ hash }]);
    t.match(books, [{ hash }]);
  }
});

await t.test('the hash of all public quotes is computed from the chain alone', async (t) => {
  const logs = await dev.client.getContractEvents({
    address: chain.contracts.orderbookStream,
    abi: orderbookStreamAbi,
    eventName: 'PublishQuote',
    fromBlock: 0n,
    strict: true,
  });
  const quotes = await Promise.all(
    logs
      .filter(({ args }) => args.taker === ZERO)
      .map(async ({ args: { poolKey, provider, taker: forWhom, price, size, isBuy, deadline: until, salt } }) => {
        const at = chain.pools.find(
          ({ poolKey: key }) => JSON.stringify(key, texts) === JSON.stringify(poolKey, texts),
        );
        if (at === undefined) throw new Error('a quote for no pool');
        const quoteId = hashTypedData({
          domain: { name: 'Premia', version: '1', chainId: chain.chainId, verifyingContract: at.poolAddress },
          primaryType: 'FillQuoteOB',
          types: QUOTE_TYPES,
          message: { provider, taker: forWhom, price, size, isBuy, deadline: until, salt },
        });
        const filledAmount = await dev.client.readContract({
          address: at.poolAddress,
          abi: poolAbi,
          functionName: 'getQuoteOBFilledAmount',
          args: [provider, quoteId],
        });
        return { quoteId, fillableSize: (size - filledAmount).toString() };
      }),
  );
  t.equal(quotes.length, 5);
  const { inSnapshot } = await told('QUOTES', {});
  t.strictSame(inSnapshot, [{ key: `quotes:421613:*:*:${ZERO}`, hash: quotesHash(quotes) }]);
});
