import t from 'tap';
import { devClient } from '../../src/chain/dev/dev-client.js';
import { RestClient } from './rest-client.js';
import { ONE, signQuote, ZERO, type WireQuote } from './maker.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

interface BookQuote extends WireQuote {
  readonly quoteId: string;
  readonly poolAddress: string;
  readonly fillableSize: string;
  readonly ts: number;
}

const running = await startTestService();
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey } = running;
const rest = new RestClient(httpUrl, apiKey);
const [pool] = chain.pools;
const [, first, second, takerAccount] = chain.accounts;
if (!pool || !first || !second || !takerAccount) throw new Error('The local chain lacks pools or accounts');
const taker = takerAccount.address;
const dev = devClient(chain.rpcUrl, chain.chainId);
const lower = (address: string): string => address.toLowerCase();

/** Sockets in a test of their own: authorised, and subscribed to this pool's quotes. */
async function subscriber(filterTaker?: string): Promise<SocketClient> {
  const socket = await SocketClient.open(wsUrl);
  await socket.auth(apiKey);
  const body = { chainId: '421613', poolAddress: pool?.poolAddress, ...(filterTaker && { taker: filterTaker }) };
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body });
  return socket;
}

await t.test('two makers, a taker with an RFQ, and a stranger who sees the public quotes alone', async (t) => {
  const takerSocket = await subscriber(taker);
  const stranger = await subscriber();
  const makerSocket = await SocketClient.open(wsUrl);
  await makerSocket.auth(apiKey);
  await makerSocket.ask({ type: 'FILTER', channel: 'RFQ', body: { chainId: '421613' } });
  t.teardown(() => [takerSocket, stranger, makerSocket].forEach((socket) => socket.end()));

  const publicQuotes = [
    await signQuote(first.privateKey, pool, { price: ONE / 10n, size: 2n * ONE }),
    await signQuote(second.privateKey, pool, { price: ONE / 20n, size: ONE }),
  ];
  for (const quote of publicQuotes) {
    const posted = await rest.post('/quotes', [quote]);
    t.equal(posted.status, 201);
    const [created] = posted.body.created as BookQuote[];
    t.match(created, { price: quote.price, fillableSize: quote.size, provider: lower(quote.provider) });
    t.strictSame(await takerSocket.next(), { type: 'POST_QUOTE', body: created });
    t.strictSame(await stranger.next(), { type: 'POST_QUOTE', body: created });
  }

  const rfq = { poolKey: publicQuotes[0]?.poolKey, side: 'ask', chainId: '421613', size: ONE.toString(), taker };
  takerSocket.send({ type: 'RFQ', body: rfq });
  t.match(await takerSocket.next(), {
    type: 'INFO',
    message: `Published RFQ to rfq:421613:${pool.poolAddress}:ask:${lower(taker)} Redis channel`,
  });
  t.strictSame(await makerSocket.next(), { type: 'RFQ', body: rfq });

  const answer = await signQuote(first.privateKey, pool, { price: ONE / 15n, size: ONE, taker });
  t.equal((await rest.post('/quotes', [answer])).status, 201);
  t.match(await takerSocket.next(), { type: 'POST_QUOTE', body: { taker: lower(taker), price: answer.price } });

  const about = `poolAddress=${pool.poolAddress.toUpperCase().replace('0X', '0x')}&side=ask&chainId=421613`;
  const covered = await rest.get(`/quotes?${about}&size=${2n * ONE}&taker=${taker}`);
  t.equal(covered.status, 200);
  t.strictSame(
    (covered.body as unknown as BookQuote[]).map(({ price, taker: by }) => [price, by]),
    [
      [(ONE / 20n).toString(), ZERO],
      [(ONE / 15n).toString(), lower(taker)],
    ],
    'best first, private and public together, just enough to cover',
  );
  const seen = (await rest.get(`/quotes?${about}&size=${100n * ONE}`)).body as unknown as BookQuote[];
  t.strictSame(
    seen.map(({ price }) => price),
    [(ONE / 20n).toString(), (ONE / 10n).toString()],
    'the stranger covers with public quotes alone',
  );
  const own = (await rest.get(`/rfq_quotes?${about}&taker=${taker}`)).body as unknown as BookQuote[];
  t.strictSame(
    own.map(({ price }) => price),
    [answer.price],
  );
  t.strictSame(stranger.unread, [], 'the stranger was pushed nothing private');
});

await t.test('a quote that is known exists, also twice in one request', async (t) => {
  const quote = await signQuote(first.privateKey, pool);
  const { body, status } = await rest.post('/quotes', [quote, quote]);
  t.equal(status, 201);
  t.equal((body.created as unknown[]).length, 1);
  t.strictSame(body.exists, body.created);
  const again = await rest.post('/quotes', [quote]);
  t.equal(again.status, 200);
  t.strictSame(again.body, { created: [], failed: [], exists: body.created });
  const { quoteId } = (body.created as BookQuote[])[0] ?? { quoteId: '' };
  const orders = await rest.get(`/orders?quoteIds[]=${quoteId}`);
  t.strictSame(orders.body, { validQuotes: body.created, invalidQuotes: [] });
});

await t.test('two requests with the same quote at once publish it once', async (t) => {
  const quote = await signQuote(second.privateKey, pool);
  const answers = await Promise.all([rest.post('/quotes', [quote]), rest.post('/quotes', [quote])]);
  const ids = answers.flatMap(({ body }) => [...(body.created as BookQuote[]), ...(body.exists as BookQuote[])]);
  t.equal(ids.length, 2);
  t.equal(ids[0]?.quoteId, ids[1]?.quoteId);
});

await t.test('one bad quote of 200 fails alone; the others take two transactions', async (t) => {
  const quotes = await Promise.all(
    Array.from({ length: 200 }, () => signQuote(first.privateKey, pool, { size: ONE / 1000n })),
  );
  const bad = quotes[77];
  if (bad === undefined) throw new Error('There are 200 quotes');
  quotes[77] = { ...bad, price: (BigInt(bad.price) + 1n).toString() };
  const { status, body } = await rest.post('/quotes', quotes);
  t.equal(status, 201);
  t.strictSame(body.failed, [{ reason: 'InvalidQuoteOBSignature', quote: quotes[77] }]);
  const created = body.created as BookQuote[];
  t.strictSame(
    created.map(({ salt }) => salt),
    quotes.filter((_, i) => i !== 77).map(({ salt }) => salt),
    'in request order',
  );
  const transactions = new Set(
    created.map(({ quoteId }) => running.engine.get(quoteId as `0x${string}`)?.quote.origin.txHash),
  );
  t.equal(transactions.size, 2);
});

await t.test('a quote goes when its deadline has passed', async (t) => {
  const socket = await subscriber();
  t.teardown(() => socket.end());
  const { timestamp } = await dev.getBlock();
  const quote = await signQuote(first.privateKey, pool, { deadline: Number(timestamp) + 20 });
  t.equal((await rest.post('/quotes', [quote])).status, 201);
  t.match(await socket.next(), { type: 'POST_QUOTE', body: { salt: quote.salt } });
  await dev.increaseTime({ seconds: 25 });
  await dev.mine({ blocks: 1 });
  t.match(await socket.next(), { type: 'DELETE_QUOTE', body: { salt: quote.salt } });
});
