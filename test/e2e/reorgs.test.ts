import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { DevActions } from '../chain/dev-actions.js';
import { Market, ONE } from '../chain/dev/market.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { until } from '../until.js';

const REORG_DEPTH = 6;

// Two chains, so that each can reorg alone.
const [settlement, stream] = await Promise.all([startLocalChain(), startLocalChain()]);
t.teardown(() => Promise.all([settlement.stop(), stream.stop()]));
const metrics = new Metrics();
const running = await startTestService({
  chain: settlement,
  profile: { ...settlement.profile, stream: stream.profile.stream },
  walletKey: null,
  limits: { reorgDepth: REORG_DEPTH, lowerHeadMs: 100 },
  metrics,
});
t.teardown(() => running.stop());
const market = new Market(settlement);
const publisher = new DevActions(stream);
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const rest = new RestClient(running.httpUrl, running.apiKey);

async function subscriber(t: Test): Promise<SocketClient> {
  const socket = await SocketClient.open(running.wsUrl);
  t.teardown(() => socket.end());
  await socket.auth(running.apiKey);
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body: { chainId: '421613' } });
  return socket;
}

/** Signed, published, and told. */
async function quoted(socket: SocketClient): Promise<SignedOffer> {
  const offer = await market.sign(call);
  await publisher.publish(stranger.address, [offer]);
  await is(socket, 'POST_QUOTE', offer, ONE);
  return offer;
}

/** The next message is this one. */
async function is(socket: SocketClient, type: string, { quoteId }: SignedOffer, fillable: bigint): Promise<void> {
  const { type: told, body } = (await socket.next()) as {
    type: string;
    body: { quoteId: string; fillableSize: string };
  };
  const [said, expected] = [
    [told, body.quoteId, body.fillableSize],
    [type, quoteId, fillable.toString()],
  ];
  if (said.join() !== expected.join()) throw new Error(`${expected.join(' ')} was to come, not ${said.join(' ')}`);
}

async function inTheBook(): Promise<[id: string, fillableSize: string][]> {
  const { poolAddress } = call;
  const query = `poolAddress=${poolAddress}&side=ask&chainId=421613&size=${1000n * ONE}`;
  const quotes = (await rest.get(`/quotes?${query}`)).body as unknown as { quoteId: string; fillableSize: string }[];
  return quotes.map(({ quoteId, fillableSize }) => [quoteId, fillableSize]);
}

await t.test('what the settlement chain takes back is compensated to subscribers', async (t) => {
  const socket = await subscriber(t);
  const part = await quoted(socket);
  await market.fill(taker.address, part, ONE / 4n);
  await is(socket, 'FILL_QUOTE', part, (3n * ONE) / 4n);
  await market.reorg(1);
  await is(socket, 'DELETE_QUOTE', part, ONE);
  await is(socket, 'POST_QUOTE', part, ONE);

  await market.fill(taker.address, part, ONE);
  await is(socket, 'FILL_QUOTE', part, 0n);
  await is(socket, 'DELETE_QUOTE', part, 0n);
  await market.reorg(1);
  await is(socket, 'POST_QUOTE', part, ONE);

  await market.cancel(maker.address, call.poolAddress, [part.quoteId]);
  await is(socket, 'DELETE_QUOTE', part, 0n);
  await market.reorg(1);
  await is(socket, 'POST_QUOTE', part, ONE);

  await market.approve(maker.address, market.token('testWETH'), settlement.contracts.erc20Router, 0n);
  await is(socket, 'DELETE_QUOTE', part, ONE);
  await market.reorg(1);
  await is(socket, 'POST_QUOTE', part, ONE);

  t.strictSame(await inTheBook(), [[part.quoteId, ONE.toString()]]);
  await market.cancel(maker.address, call.poolAddress, [part.quoteId]);
  await is(socket, 'DELETE_QUOTE', part, 0n);
  t.strictSame(socket.unread, []);
});

await t.test(
  'a deleted quote shows what is left of it: nothing after a cancel, all of it after an undone fill',
  async (t) => {
    const socket = await subscriber(t);
    const quote = await quoted(socket);
    await market.fill(taker.address, quote, ONE / 4n);
    await is(socket, 'FILL_QUOTE', quote, (3n * ONE) / 4n);
    await market.fill(taker.address, quote, ONE / 4n);
    await is(socket, 'FILL_QUOTE', quote, ONE / 2n);
    await market.reorg(1);
    await is(socket, 'DELETE_QUOTE', quote, (3n * ONE) / 4n);
    await is(socket, 'POST_QUOTE', quote, (3n * ONE) / 4n);
    await market.cancel(maker.address, call.poolAddress, [quote.quoteId]);
    await is(socket, 'DELETE_QUOTE', quote, 0n);
    t.strictSame(await inTheBook(), []);
    t.strictSame(socket.unread, []);
  },
);

await t.test('a publication that the stream chain takes back is taken back, and may come again', async (t) => {
  const socket = await subscriber(t);
  const first = await quoted(socket);
  const second = await quoted(socket);
  await publisher.reorg(2);
  await is(socket, 'DELETE_QUOTE', first, ONE);
  await is(socket, 'DELETE_QUOTE', second, ONE);
  await publisher.publish(stranger.address, [second]);
  await is(socket, 'POST_QUOTE', second, ONE);
  t.strictSame(await inTheBook(), [[second.quoteId, ONE.toString()]]);
  t.strictSame(socket.unread, []);
});

await t.test('hostile events are counted, and change nothing', async (t) => {
  const socket = await subscriber(t);
  const good = await quoted(socket);
  const offer = await market.sign(call);
  await market.cancel(stranger.address, call.poolAddress, [good.quoteId]);
  await publisher.publish(stranger.address, [{ ...offer, provider: stranger.address }]);
  const sample = (text: string, name: string) => text.includes(`${name} 1\n`);
  const counted = (text: string) =>
    sample(text, 'quotebook_ignored_events_total{why="OTHER_PROVIDER"}') &&
    sample(text, 'quotebook_refused_events_total{why="BAD_SIGNATURE"}');
  await until(async () => counted(await metrics.text()));
  t.ok((await inTheBook()).some(([quoteId]) => quoteId === good.quoteId));
  t.strictSame(socket.unread, []);
});

await t.test('a reorg deeper than is followed stops the readers, and the service says so', async (t) => {
  const socket = await subscriber(t);
  t.equal((await rest.get('/ready')).status, 200);
  for (let n = 0; n < REORG_DEPTH + 2; n++) await quoted(socket);
  const before = await inTheBook();
  await publisher.reorg(REORG_DEPTH + 1);
  let ready = await rest.get('/ready');
  while (ready.status === 200) ready = await rest.get('/ready');
  t.equal(ready.status, 503);
  t.match(
    (ready.body.reasons as string[]).join(),
    /stream: None of the blocks \d+\.\.\d+ that were read is on the chain/,
  );
  t.match(await metrics.text(), /quotebook_ready 0\n/);
  t.match(await metrics.text(), /quotebook_chain_stale\{chain="stream"\} 1\n/);
  t.strictSame(await inTheBook(), before, 'what was read is still to be seen');
  const answer = await rest.get(`/orders?chainId=421613`);
  t.equal(answer.status, 200);
  t.match(answer.headers.get('x-stale'), /stream/, 'and marked as stale');
  t.strictSame(socket.unread, [], 'the feed publishes nothing while the chain is unknown');
});
