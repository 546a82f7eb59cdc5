import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { OrderbookQuote } from '../../src/wire/orderbook.js';
import { DevActions } from '../chain/dev-actions.js';
import { signOffer } from '../chain/sign-quote.js';
import { FeedClient } from './feed-client.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService, type TestService } from './running-service.js';

// Two services of one deployment that know nothing of each other: each has its own log and its own wallet.
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [pool] = chain.pools;
const [operator, maker, takerAccount, otherOperator] = chain.accounts;
if (!pool || !operator || !maker || !takerAccount || !otherOperator) throw new Error('The local chain lacks accounts');
const taker = takerAccount.address.toLowerCase();
const { poolAddress } = pool;
const start = (walletKey: TestService['chain']['accounts'][number]['privateKey'], epoch: string) =>
  startTestService({ chain, walletKey, epoch });
const one = await start(operator.privateKey, '00000000000000a1');
t.teardown(() => one.stop());
const other = await start(otherOperator.privateKey, '00000000000000b2');
t.teardown(() => other.stop());
const dev = new DevActions(chain);

const restOf = ({ httpUrl, apiKey }: TestService) => new RestClient(httpUrl, apiKey);

async function readerOf({ wsUrl, apiKey }: TestService): Promise<FeedClient> {
  const client = await FeedClient.open(wsUrl, apiKey);
  t.teardown(() => client.break());
  client.follow('QUOTES', { poolAddress, taker });
  await client.until(() => client.reader.canResume);
  return client;
}

/** What it says of every quote of the pool, best first. */
async function bookOf(service: TestService): Promise<readonly unknown[]> {
  const { body } = await restOf(service).get(`/orders?chainId=421613&poolAddress=${poolAddress}&taker=${taker}`);
  return (body.validQuotes as OrderbookQuote[]).map(({ quoteId, fillableSize }) => [quoteId, fillableSize]);
}

const atOne = await readerOf(one);
const atOther = await readerOf(other);

await t.test('what is posted to one of several services is in the book and on the feed of each', async (t) => {
  const quote = await signQuote(maker.privateKey, pool, { price: ONE / 10n, size: ONE / 100n });
  const forTaker = await signQuote(maker.privateKey, pool, { price: ONE / 11n, size: ONE / 100n, taker });
  t.equal((await restOf(one).post('/quotes', [quote, forTaker])).status, 201);
  await atOther.until(() => atOther.reader.allQuotes.length === 2);
  await atOne.until(() => atOne.reader.allQuotes.length === 2);
  t.strictSame(await bookOf(other), await bookOf(one));
});

await t.test('one quote posted to two services at once is one quote in the book of each', async (t) => {
  const quote = await signQuote(maker.privateKey, pool, { price: ONE / 9n, size: ONE / 100n });
  const answers = await Promise.all([one, other].map((service) => restOf(service).post('/quotes', [quote])));
  t.strictSame(
    answers.map(({ status }) => status),
    [201, 201],
  );
  for (const client of [atOne, atOther]) await client.until(() => client.reader.allQuotes.length === 3);
  t.equal((await bookOf(one)).length, 3);
  t.strictSame(await bookOf(other), await bookOf(one));
});

await t.test('each service publishes a fill', async (t) => {
  const offer = await signOffer(maker, chain.chainId, {
    pool,
    price: ONE / 8n,
    size: ONE / 100n,
    isBuy: false,
    deadline: (await dev.now()) + 3600,
  });
  await dev.publish(maker.address, [offer]);
  await dev.fill(takerAccount.address, offer, ONE / 400n);
  const isFilled = (client: FeedClient) => client.messages.some(({ type }) => type === 'FILL_QUOTE');
  for (const client of [atOne, atOther]) await client.until(() => isFilled(client));
  t.strictSame(await bookOf(other), await bookOf(one));
});

await t.test('a reader that goes on at another service is sent the whole book', async (t) => {
  const left = await readerOf(one);
  left.break();
  const { reader } = left;
  const known = [...reader.allQuotes];
  t.equal(reader.epoch, '00000000000000a1');
  const client = await FeedClient.open(other.wsUrl, other.apiKey, 'quotebook.v2.json', reader);
  t.teardown(() => client.break());
  client.follow('QUOTES', { poolAddress, taker }, true);
  await client.until(() => client.messages.some(({ type }) => type === 'QUOTES_SNAPSHOT') && reader.canResume);
  t.match(
    client.messages.find(({ type }) => type === 'RESYNC'),
    { reason: 'OTHER_EPOCH', epoch: '00000000000000b2' },
  );
  const ids = (quotes: readonly OrderbookQuote[]) => quotes.map(({ quoteId }) => quoteId).sort();
  t.strictSame(ids(reader.allQuotes), ids(known));
});

await t.test('a request for quotes is heard at the service alone that it was sent to', async (t) => {
  const makerAt = async ({ wsUrl, apiKey }: TestService) => {
    const client = await FeedClient.open(wsUrl, apiKey);
    t.teardown(() => client.break());
    client.follow('RFQ', { poolAddress });
    await client.until(() => client.reader.canResume);
    return client;
  };
  const [makerAtOne, makerAtOther] = [await makerAt(one), await makerAt(other)];
  const heard = ({ messages }: FeedClient) => messages.filter(({ type }) => type === 'RFQ').length;
  const poolKey = { ...pool.poolKey, strike: pool.poolKey.strike.toString() };
  atOne.says({ type: 'RFQ', body: { poolKey, side: 'ask', chainId: '421613', size: ONE.toString(), taker } });
  await makerAtOne.until(() => heard(makerAtOne) === 1);
  // What the other one knows of it by now would come before the answer to this.
  const before = makerAtOther.messages.length;
  makerAtOther.follow('RFQ', { poolAddress });
  await makerAtOther.until(() => makerAtOther.messages.length > before);
  t.equal(heard(makerAtOther), 0);
});
