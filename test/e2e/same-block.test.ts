import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { Metrics } from '../../src/metrics/metrics.js';
import type { TickerJson } from '../../src/wire/feed-messages.js';
import { Market, ONE } from '../chain/dev/market.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { until } from '../until.js';

/** Quotes that are traded in the very block that publishes them, and on two chains before they are published. */
const [one, other] = await Promise.all([startLocalChain(), startLocalChain()]);
t.teardown(() => Promise.all([one.stop(), other.stop()]));
const limits = { lowerHeadMs: 100 };
const service = await startTestService({ chain: one, walletKey: null, limits });
t.teardown(() => service.stop());
const market = new Market(one);
const { maker, taker, stranger } = market;
const rest = new RestClient(service.httpUrl, service.apiKey);

async function subscriber(t: Test, { wsUrl, apiKey } = service): Promise<SocketClient> {
  const socket = await SocketClient.open(wsUrl);
  t.teardown(() => socket.end());
  await socket.auth(apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613' } });
  return socket;
}

interface Pushed {
  readonly type: string;
  readonly size?: string;
  readonly body: { readonly quoteId: string; readonly fillableSize: string };
}

/** The next messages, all of the offer: type, fillable size and filled size. */
async function next(socket: SocketClient, { quoteId }: SignedOffer, count: number): Promise<string[]> {
  const said: string[] = [];
  while (said.length < count) {
    const { type, size, body } = (await socket.next()) as unknown as Pushed;
    if (body.quoteId !== quoteId) throw new Error(`${type} is of another quote`);
    said.push([type, body.fillableSize, ...(size === undefined ? [] : [size])].join(' '));
  }
  return said;
}

/** All of it is mined in one block. */
async function inOneBlock(...actions: (() => Promise<unknown>)[]): Promise<void> {
  const { client } = market;
  await client.setAutomine(false);
  try {
    const sent: Promise<unknown>[] = [];
    for (const [n, action] of actions.entries()) {
      sent.push(action());
      await until(async () => (await client.getTxpoolStatus()).pending > n);
    }
    await client.mine({ blocks: 1 });
    await Promise.all(sent);
  } finally {
    await client.setAutomine(true);
  }
}

async function filledOf(poolAddress: string): Promise<string | undefined> {
  const { tickers } = (await rest.get('/tickers?chainId=421613')).body;
  return (tickers as TickerJson[]).find((ticker) => ticker.poolAddress === poolAddress)?.filledSize24h;
}

await t.test('the first quote of a pool, filled in its own block, is posted, filled and deleted', async (t) => {
  const call = market.pool('testWETH', 1800n, true);
  const socket = await subscriber(t);
  const offer = await market.sign(call);
  await inOneBlock(
    () => market.publish(stranger.address, [offer]),
    () => market.fill(taker.address, offer, ONE),
  );
  t.strictSame(await next(socket, offer, 3), [`POST_QUOTE ${ONE}`, `FILL_QUOTE 0 ${ONE}`, 'DELETE_QUOTE 0']);
  t.equal(await filledOf(call.poolAddress), ONE.toString());
  t.strictSame(socket.unread, []);
});

await t.test('one that is partly filled there stays with the rest, and a reorg takes the trade back', async (t) => {
  const call = market.pool('testWETH', 1900n, true);
  const socket = await subscriber(t);
  const offer = await market.sign(call);
  const [part, left] = [ONE / 4n, (3n * ONE) / 4n];
  await inOneBlock(
    () => market.publish(stranger.address, [offer]),
    () => market.fill(taker.address, offer, part),
  );
  t.strictSame(await next(socket, offer, 2), [`POST_QUOTE ${ONE}`, `FILL_QUOTE ${left} ${part}`]);
  t.equal(await filledOf(call.poolAddress), part.toString());
  await market.reorg(1);
  const undone = await next(socket, offer, 3);
  t.strictSame(undone, [`DELETE_QUOTE ${ONE}`, `POST_QUOTE ${ONE}`, `DELETE_QUOTE ${ONE}`]);
  t.not(await filledOf(call.poolAddress), part.toString());
  t.strictSame(socket.unread, []);
});

await t.test('one that is cancelled there is posted and deleted', async (t) => {
  const call = market.pool('testWETH', 1800n, true);
  const socket = await subscriber(t);
  const offer = await market.sign(call);
  await inOneBlock(
    () => market.publish(stranger.address, [offer]),
    () => market.cancel(maker.address, call.poolAddress, [offer.quoteId]),
  );
  t.strictSame(await next(socket, offer, 2), [`POST_QUOTE ${ONE}`, 'DELETE_QUOTE 0']);
  t.strictSame(socket.unread, []);
});

await t.test('what was filled before the service began to read is not pushed as a new trade', async (t) => {
  const later = await startTestService({ chain: one, walletKey: null, limits });
  t.teardown(() => later.stop());
  const call = market.pool('testWETH', 1800n, true);
  const socket = await subscriber(t, later);
  const offer = await market.sign(call);
  await market.publish(stranger.address, [offer]);
  t.strictSame(await next(socket, offer, 1), [`POST_QUOTE ${ONE}`]);
});

await t.test('a fill on the settlement chain is pushed when the stream has the quote', async (t) => {
  const profile = { ...one.profile, stream: other.profile.stream };
  const metrics = new Metrics();
  const both = await startTestService({ chain: one, profile, walletKey: null, limits, metrics });
  t.teardown(() => both.stop());
  const call = market.pool('testWETH', 1800n, true);
  const socket = await subscriber(t, both);
  const offer = await market.sign(call);
  const ignored = async (): Promise<string | undefined> =>
    /ignored_events_total\{why="OTHER_CONTRACT"\} \d+/.exec(await metrics.text())?.[0];
  const before = await ignored();
  await market.fill(taker.address, offer, ONE);
  await until(async () => (await ignored()) !== before);
  const publisher = new Market(other);
  await publisher.publish(stranger.address, [offer]);
  t.strictSame(await next(socket, offer, 3), [`POST_QUOTE ${ONE}`, `FILL_QUOTE 0 ${ONE}`, 'DELETE_QUOTE 0']);
  await publisher.reorg(1);
  await publisher.publish(stranger.address, [offer]);
  const marker = await market.sign(call);
  await publisher.publish(stranger.address, [marker]);
  t.strictSame(await next(socket, marker, 1), [`POST_QUOTE ${ONE}`], 'the trade is not pushed a second time');
});
