import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { tierQuotas } from '../../src/config/limits.js';
import type { RfqJson } from '../../src/wire/rfq.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient, untilKnown } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

/** Requests for quotes from their publication to their end, over HTTP, plain sockets and numbered ones. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const running = await startTestService({ chain, walletKey: null, keepsLog: true, limits: { lowerHeadMs: 100 } });
t.teardown(() => running.stop());
const market = new Market(chain);
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const rest = new RestClient(running.httpUrl, running.apiKey);
const chainId = '421613';

async function following(protocol?: 'quotebook.v2.json'): Promise<SocketClient> {
  const socket = await SocketClient.open(running.wsUrl, protocol);
  await socket.auth(running.apiKey);
  await socket.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId } });
  return socket;
}

/** The next message of that type; others that come before it are dropped. */
async function nextOf(socket: SocketClient, type: string): Promise<Record<string, unknown>> {
  for (;;) {
    const message = await socket.next();
    if (message.type === type) return message;
  }
}

const rfqsOf = (body: unknown): readonly RfqJson[] => (body as { rfqs: RfqJson[] }).rfqs;
const leg = (poolAddress: string, side: 'ask' | 'bid' = 'ask') => ({ poolAddress, side, size: ONE.toString() });
const asking = { chainId, taker: taker.address, legs: [leg(call.poolAddress)] };

await t.test(
  'a request is published, quoted, partly filled and filled; its makers see no more than before',
  async (t) => {
    const plain = await following();
    const numbered = await following('quotebook.v2.json');
    const { status, body } = await rest.post('/rfqs', { ...asking, clientId: 'one', minQuotes: 2 });
    t.equal(status, 201);
    const [{ rfqId } = { rfqId: '' }] = rfqsOf(body);
    const sent = { ...leg(call.poolAddress), chainId, taker: taker.address };
    t.strictSame(await plain.next(), { type: 'RFQ', body: sent });
    t.match(await nextOf(numbered, 'RFQ'), { body: sent, terms: { rfqId, anonymous: false } });
    t.match(await nextOf(numbered, 'RFQ_STATUS'), { body: { rfqId, clientId: 'one', status: 'open', best: null } });

    const again = await rest.post('/rfqs', { ...asking, clientId: 'one', minQuotes: 2 });
    t.strictSame([again.status, rfqsOf(again.body).map((each) => each.rfqId)], [200, [rfqId]]);
    const other = await rest.post('/rfqs', { ...asking, clientId: 'one', legs: [leg(put.poolAddress)] });
    t.equal(other.status, 409);

    const [dear, cheap] = await Promise.all([
      market.sign(call, { taker: taker.address, price: ONE / 5n }),
      market.sign(call, { taker: taker.address, price: ONE / 10n }),
    ]);
    await market.publish(stranger.address, [dear]);
    t.match(await nextOf(numbered, 'RFQ_UPDATE'), { body: { rfqId, status: 'quoted', quotes: 1 } });
    t.match(await nextOf(numbered, 'RFQ_STATUS'), { body: { rfqId, quotes: 1, best: null } }, 'two are wanted');
    await market.publish(stranger.address, [cheap]);
    t.match(await nextOf(numbered, 'RFQ_STATUS'), { body: { quotes: 2, best: { quoteId: cheap.quoteId } } });
    const { body: standing } = await rest.get(`/rfqs/${rfqId}/competition?provider=${maker.address}`);
    t.strictSame(standing, { rfqId, status: 'quoted', quotes: 2, rank: 1 });

    await market.fill(taker.address, cheap, ONE / 4n);
    const quarter = (ONE / 4n).toString();
    t.match(await nextOf(numbered, 'RFQ_STATUS'), { body: { status: 'partly_filled', filledSize: quarter } });
    await market.fill(taker.address, cheap, (ONE * 3n) / 4n);
    t.match(await nextOf(numbered, 'RFQ_STATUS'), { body: { status: 'filled', filledSize: `${ONE}`, quotes: 1 } });
    const { body: page } = await rest.get(`/rfqs?chainId=${chainId}&status=filled`);
    t.match(rfqsOf(page), [{ rfqId, clientId: 'one', status: 'filled' }]);
    t.strictSame(plain.unread, [], 'plain makers receive no updates');
    plain.end();
    numbered.end();
  },
);

await t.test('what became of requests is replayed as it came', async (t) => {
  const socket = await SocketClient.open(running.wsUrl, 'quotebook.v2.json');
  await socket.auth(running.apiKey);
  const { body } = await socket.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId, taker: taker.address } });
  const { seq, epoch } = body as { seq: number; epoch: string };
  const first = await rest.post('/rfqs', asking);
  const [{ rfqId } = { rfqId: '' }] = rfqsOf(first.body);
  await rest.send('DELETE', `/rfqs/${rfqId}`, '');
  const live = [await nextOf(socket, 'RFQ'), await nextOf(socket, 'RFQ_UPDATE')];
  t.match(live[1], { prevSeq: live[0]?.seq, body: { rfqId, status: 'cancelled' } });
  const past = await rest.get(
    `/events?chainId=${chainId}&channel=RFQ&taker=${taker.address}&epoch=${epoch}&fromSeq=${seq}`,
  );
  t.strictSame(past.body.messages, live);
  socket.end();
});

await t.test('a request of a plain socket is followed, and another key or id cancels nothing', async (t) => {
  const plain = await following();
  plain.send({ type: 'RFQ', body: { ...leg(put.poolAddress), chainId, taker: taker.address } });
  t.match(await nextOf(plain, 'INFO'), { message: /^Published RFQ/ });
  const { body } = await rest.get(`/rfqs?chainId=${chainId}&status=open&poolAddress=${put.poolAddress}`);
  const [own] = rfqsOf(body);
  t.match(own, { status: 'open', clientId: null, legs: 1 });
  t.equal((await rest.send('DELETE', `/rfqs/${'0'.repeat(32)}`, '')).status, 404);
  const cancelled = await rest.send('DELETE', `/rfqs/${own?.rfqId}`, '');
  t.match(rfqsOf(cancelled.body), [{ rfqId: own?.rfqId, status: 'cancelled' }]);
  plain.end();
});

await t.test('the legs of a package are requests under one id, and are cancelled together', async (t) => {
  const legs = [leg(call.poolAddress), leg(put.poolAddress, 'bid')];
  const { status, body } = await rest.post('/rfqs', { ...asking, legs });
  t.equal(status, 201);
  const [first, second] = rfqsOf(body);
  t.ok(first?.packageId !== null && first?.packageId === second?.packageId);
  t.strictSame([first?.leg, second?.leg, second?.legs, second?.side], [0, 1, 2, 'bid']);
  const { body: page } = await rest.get(`/rfqs?chainId=${chainId}&packageId=${first?.packageId}&limit=1`);
  t.strictSame([rfqsOf(page).map(({ rfqId }) => rfqId), page.next], [[second?.rfqId], second?.rfqId]);
  const cancelled = await rest.send('DELETE', `/rfqs/${first?.packageId}`, '');
  t.strictSame(
    rfqsOf(cancelled.body).map((each) => each.status),
    ['cancelled', 'cancelled'],
  );
});

await t.test('a package has a net price by token, of what is left to fill of its legs', async (t) => {
  const { body } = await rest.post('/rfqs', { ...asking, legs: [leg(call.poolAddress), leg(put.poolAddress)] });
  const [{ packageId } = { packageId: null }] = rfqsOf(body);
  const half = ONE / 2n;
  const offer = await market.sign(put, { taker: taker.address, price: ONE / 50n, size: half });
  const numbered = await following('quotebook.v2.json');
  await market.publish(stranger.address, [offer]);
  await nextOf(numbered, 'RFQ_STATUS');
  const { status, body: cover } = await rest.get(`/rfqs/${packageId}/cover`);
  t.equal(status, 200);
  const covers = (await Promise.all(
    [call, put].map(async ({ poolAddress }) => {
      const query = `chainId=${chainId}&poolAddress=${poolAddress}&side=ask&size=${ONE}&taker=${taker.address}`;
      return (await rest.get(`/quotes?${query}`)).body;
    }),
  )) as unknown as { price: string; fillableSize: string }[][];
  const premium = (quotes: { price: string; fillableSize: string }[] = []) => {
    let left = ONE;
    return quotes.reduce((sum, { price, fillableSize }) => {
      const take = BigInt(fillableSize) < left ? BigInt(fillableSize) : left;
      left -= take;
      return sum + (take * BigInt(price)) / ONE;
    }, 0n);
  };
  const wanted = [
    { token: call.poolKey.base.toLowerCase(), amount: premium(covers[0]).toString() },
    { token: put.poolKey.quote.toLowerCase(), amount: (premium(covers[1]) * 1800n).toString() },
  ].filter(({ amount }) => amount !== '0');
  t.strictSame(cover.net, wanted);
  t.match(cover.legs, [{ poolAddress: call.poolAddress }, { averagePrice: (ONE / 50n).toString() }]);
  t.equal((await rest.get(`/rfqs/${'0'.repeat(32)}/cover`)).status, 404);
  await rest.send('DELETE', `/rfqs/${packageId}`, '');
  numbered.end();
});

await t.test('a hidden taker is nowhere on the channel, and only makers who are named receive a request', async (t) => {
  const named = await SocketClient.open(running.wsUrl);
  await named.auth(running.apiKey);
  await named.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId, provider: maker.address } });
  const others = await following();
  const { body } = await rest.post('/rfqs', { ...asking, anonymous: true, makers: [maker.address] });
  t.match(rfqsOf(body), [{ taker: taker.address.toLowerCase(), anonymous: true }], 'its owner sees it');
  const message = await named.next();
  t.match(message, { type: 'RFQ' });
  t.notMatch(JSON.stringify(message), new RegExp(taker.address, 'i'));
  // The next request for everyone comes first to those who are not named.
  await rest.post('/rfqs', { ...asking, legs: [leg(put.poolAddress)] });
  t.match(await others.next(), { body: { poolAddress: put.poolAddress } });
  named.end();
  others.end();
});

await t.test('what cannot be a request is refused, and changes nothing', async (t) => {
  const { body: before } = await rest.get(`/rfqs?chainId=${chainId}`);
  for (const [change, status] of [
    [{ legs: [] }, 400],
    [{ legs: [{ side: 'ask', size: '1' }] }, 400],
    [{ legs: [{ ...leg(call.poolAddress), size: '0' }] }, 400],
    [{ taker: `0x${'0'.repeat(40)}` }, 400],
    [{ validUntil: 1 }, 400],
    [{ validUntil: 99_999_999_999 }, 400],
    [{ chainId: '1' }, 400],
    [{ minQuotes: 33 }, 400],
    [{ legs: Array.from({ length: 9 }, () => leg(call.poolAddress)) }, 400],
  ] as const) {
    t.equal((await rest.post('/rfqs', { ...asking, ...change })).status, status, JSON.stringify(change).slice(0, 60));
  }
  t.strictSame((await rest.get(`/rfqs?chainId=${chainId}`)).body, before);
  for (let n = 0; n < 13; n += 1) {
    await rest.post('/rfqs', { ...asking, legs: Array.from({ length: 8 }, () => leg(call.poolAddress)) });
  }
  const { status, body } = await rest.post('/rfqs', {
    ...asking,
    legs: Array.from({ length: 8 }, () => leg(call.poolAddress)),
  });
  t.strictSame([status, body.message], [429, 'Too many requests of this key are live']);
});

await t.test('a key opens as many requests in a minute as its tier allows, each leg for itself', async (t) => {
  const { key } = await running.keys.create('free', 'asks often');
  const free = new RestClient(running.httpUrl, key);
  await untilKnown(() => free.get(`/rfqs?chainId=${chainId}`));
  const legs = Array.from({ length: 8 }, () => leg(call.poolAddress));
  const ask = () => free.post('/rfqs', { ...asking, legs });
  // A busy machine may take long enough for some of the quota to come back.
  let opened = 0;
  let answer = await ask();
  for (; answer.status === 201; answer = await ask()) opened += legs.length;
  t.ok(opened > tierQuotas.free.rfqsPerMinute - legs.length, `${opened} are opened`);
  t.strictSame([answer.status, answer.body], [429, { message: 'RATELIMITED' }]);
  t.match(answer.headers.get('retry-after'), /^[1-9]/);
});
