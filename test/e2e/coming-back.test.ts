import t from 'tap';
import { EventsPage } from '../../src/wire/feed-messages.js';
import { compile } from '../../src/wire/validation.js';
import { quotesHash } from '../feed/model-reader.js';
import { FeedClient } from './feed-client.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

const running = await startTestService({ limits: { eventsPerPage: 2 } });
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey } = running;
const rest = new RestClient(httpUrl, apiKey);
const [pool, otherPool] = chain.pools;
const [, maker, takerAccount] = chain.accounts;
if (!pool || !otherPool || !maker || !takerAccount) throw new Error('The local chain lacks pools or accounts');
const taker = takerAccount.address.toLowerCase();
const check = compile(EventsPage, 5);

async function post(terms: Parameters<typeof signQuote>[2], at = pool): Promise<void> {
  if (at === undefined) throw new Error('no pool');
  const { status } = await rest.post('/quotes', [await signQuote(maker?.privateKey ?? '0x', at, terms)]);
  if (status !== 201) throw new Error(`POST /quotes: ${status}`);
}

async function events(query: string): Promise<EventsPage> {
  const { status, body } = await rest.get(`/events?${query}`);
  const page = check(body);
  if (status !== 200 || !page.ok) throw new Error(`GET /events: ${status} ${JSON.stringify(body)}`);
  return page.value;
}

await t.test(
  'what a broken connection missed is read over HTTP, and the next connection goes on from there',
  async (t) => {
    const before = await FeedClient.open(wsUrl, apiKey);
    before.follow('QUOTES', { taker });
    await before.until(() => before.reader.canResume);
    await post({ price: ONE / 10n });
    await before.until(() => before.reader.allQuotes.length === 1);
    before.break();
    const { epoch, seq } = before.reader;

    await post({ price: ONE / 11n, taker });
    await post({ price: ONE / 12n });
    await post({ price: ONE / 13n, taker: maker.address });
    await post({ price: ONE / 14n });

    const { reader } = before;
    for (let more = true, from = seq, pages = 0; more; pages++) {
      const page = await events(`channel=QUOTES&chainId=421613&taker=${taker}&epoch=${epoch}&fromSeq=${from}`);
      t.equal(page.epoch, epoch);
      reader.take(page.messages);
      reader.completeUpTo(page.seq);
      ({ more, seq: from } = page);
      if (!more) t.ok(pages > 1, 'it took several pages');
    }
    t.equal(reader.allQuotes.length, 4, 'its own private quote and the public ones, not another taker’s');

    const { repeated } = reader;
    const after = await FeedClient.open(wsUrl, apiKey, 'quotebook.v2.msgpack', reader);
    after.follow('QUOTES', { taker }, true);
    await post({ price: ONE / 15n });
    await after.until(() => reader.allQuotes.length === 5);
    t.equal(reader.repeated, repeated, 'nothing came twice');
    after.break();
  },
);

await t.test('a book of levels goes on from a number', async (t) => {
  const client = await FeedClient.open(wsUrl, apiKey);
  client.follow('ORDERBOOK', { poolAddress: pool.poolAddress });
  await client.until(() => client.reader.canResume);
  client.break();
  const { reader } = client;
  await post({ price: ONE / 16n });
  const query = `channel=ORDERBOOK&poolAddress=${pool.poolAddress}&epoch=${reader.epoch}&fromSeq=${reader.seq}`;
  const { messages } = await events(query);
  t.match(messages, [{ type: 'ORDERBOOK_UPDATE', prevSeq: reader.seq }]);
  reader.take(messages);
  t.ok(reader.levels.ask.has((ONE / 16n).toString()));
});

await t.test('another log, or a number that no event has: RESYNC and a whole book', async (t) => {
  const { epoch, seq } = await events('channel=QUOTES&fromSeq=0');
  for (const [from, reason] of [
    ['epoch=00000000000000ff&fromSeq=1', 'OTHER_EPOCH'],
    [`epoch=${epoch}&fromSeq=${seq + 1_000_000}`, 'NOT_YET'],
  ] as const) {
    const { messages } = await events(`channel=QUOTES&poolAddress=${pool.poolAddress}&${from}`);
    const [resync, snapshot] = messages;
    t.match(resync, { type: 'RESYNC', reason, epoch });
    if (snapshot?.type !== 'QUOTES_SNAPSHOT') throw new Error('no snapshot');
    t.equal(snapshot.hash, quotesHash(snapshot.body));
    t.ok(snapshot.body.length > 0);
  }
});

await t.test('a wrong query is refused in the words of the others', async (t) => {
  for (const [query, message] of [
    ['fromSeq=0', "must have required property 'channel'"],
    ['channel=QUOTES', "must have required property 'fromSeq'"],
    ['channel=TICKER&fromSeq=0', 'must be equal to one of the allowed values'],
    ['channel=ORDERBOOK&fromSeq=0', "must have required property 'poolAddress'"],
    ['channel=QUOTES&fromSeq=-1', 'must match pattern "^[0-9]{1,15}$"'],
    ['channel=QUOTES&fromSeq=0&chainId=42161', 'must be equal to one of the allowed values'],
    ['channel=QUOTES&fromSeq=0&depth=3', 'must NOT have additional properties'],
  ] as const) {
    const { status, body } = await rest.get(`/events?${query}`);
    t.equal(status, 400, query);
    t.equal((body as unknown as { message: string }[])[0]?.message, message, query);
  }
  t.equal((await new RestClient(httpUrl, null).get('/events?channel=QUOTES&fromSeq=0')).status, 401);
});

await t.test('an answer about one pool is not sent again while it holds', async (t) => {
  const quotes = (at: string, more = '') =>
    `/quotes?poolAddress=${at}&chainId=421613&side=ask&size=${1000n * ONE}${more}`;
  const orders = (at: string, more = '') => `/orders?poolAddress=${at}&chainId=421613${more}`;
  const targets = [
    quotes(pool.poolAddress),
    quotes(pool.poolAddress, `&taker=${taker}`),
    quotes(pool.poolAddress, `&provider=${maker.address}`),
    orders(pool.poolAddress),
    orders(pool.poolAddress, '&side=ask'),
  ];
  const elsewhere = [quotes(otherPool.poolAddress), orders(otherPool.poolAddress)];
  const tags = new Map<string, string>();
  for (const target of [...targets, ...elsewhere]) {
    const answer = await rest.get(target);
    const tag = answer.headers.get('etag') ?? '';
    t.match(tag, /^"[^"]+"$/, `a strong tag for ${target}`);
    tags.set(target, tag);
    const again = await rest.get(target, { 'if-none-match': tag });
    t.equal(again.status, 304);
    t.strictSame(again.body, {}, 'without a body');
    t.equal(again.headers.get('etag'), tag);
  }

  await post({ price: ONE / 17n });
  for (const target of targets) {
    const answer = await rest.get(target, { 'if-none-match': tags.get(target) ?? '' });
    t.equal(answer.status, 200, `${target} shows the new quote`);
    t.not(answer.headers.get('etag'), tags.get(target));
  }
  for (const target of elsewhere) {
    const answer = await rest.get(target, { 'if-none-match': tags.get(target) ?? '' });
    t.equal(answer.status, 304, 'another pool’s answer holds');
  }
  t.equal((await rest.get('/orders?chainId=421613')).headers.get('etag'), null, 'all pools together have none');
});
