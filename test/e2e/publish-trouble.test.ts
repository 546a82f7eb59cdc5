import t, { type Test } from 'tap';
import { orderbookStreamAbi } from '../../src/chain/contracts/abi.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { tierQuotas } from '../../src/config/limits.js';
import { DevActions } from '../chain/dev-actions.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { untilAnswer } from '../until.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const dev = new DevActions(chain);
const { client } = dev;
const [pool] = chain.pools;
const [operator, maker] = chain.accounts;
if (!pool || !operator || !maker) throw new Error('The local chain lacks pools or accounts');

const SENT_AGAIN_SOON = { txResendAfterMs: 150, publishTimeoutMs: 20_000 };

/** A service, and a socket that is subscribed to every quote of the pool. */
async function start(t: Test, limits: Record<string, number> = {}) {
  const running = await startTestService({ chain, limits: { ...SENT_AGAIN_SOON, ...limits } });
  t.teardown(async () => {
    await client.setAutomine(true);
    await running.stop();
  });
  const socket = await SocketClient.open(running.wsUrl);
  t.teardown(() => socket.end());
  await socket.auth(running.apiKey);
  const body = { chainId: `${chain.chainId}`, poolAddress: pool?.poolAddress };
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body });
  return { running, socket, rest: new RestClient(running.httpUrl, running.apiKey) };
}

/** Transactions of the operator, or of another sender, in the node's pool. */
async function waiting(sender = operator): Promise<{ hash: `0x${string}`; nonce: number; maxFeePerGas: bigint }[]> {
  const { pending, queued } = await client.getTxpoolContent();
  return [pending, queued].flatMap((part) =>
    Object.values(part).flatMap((txs) =>
      Object.values(txs)
        .filter(({ from }) => from === sender?.address.toLowerCase())
        .map(({ hash, nonce, maxFeePerGas }) => ({
          hash,
          nonce: Number(nonce),
          maxFeePerGas: BigInt(maxFeePerGas ?? 0),
        })),
    ),
  );
}

/** Times that a quote of this salt is on the stream. */
async function published(salt: number): Promise<number> {
  const address = chain.contracts.orderbookStream;
  const events = await client.getContractEvents({
    address,
    abi: orderbookStreamAbi,
    eventName: 'PublishQuote',
    fromBlock: 0n,
  });
  return events.filter(({ args }) => args.salt === BigInt(salt)).length;
}

const newQuote = () => signQuote(maker.privateKey, pool, { size: ONE / 100n });

await t.test('a publication that the node drops is sent again, and answered when it is in the book', async (t) => {
  const { rest, socket } = await start(t);
  await client.setAutomine(false);
  const quote = await newQuote();
  const posted = rest.post('/quotes', [quote]);
  const [first] = await untilAnswer(waiting, ({ length }) => length === 1);
  if (first === undefined) throw new Error('It waits');
  await client.dropTransaction({ hash: first.hash });
  const [again] = await untilAnswer(waiting, (txs) => txs.some(({ hash }) => hash !== first.hash));
  t.equal(again?.nonce, first.nonce);
  t.ok((again?.maxFeePerGas ?? 0n) > first.maxFeePerGas);
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  const { status, body } = await posted;
  t.equal(status, 201);
  t.match(body, { created: [{ salt: quote.salt }], failed: [], exists: [] });
  t.match(await socket.next(), { type: 'POST_QUOTE', body: { salt: quote.salt } });
  t.equal(await published(quote.salt), 1);
});

await t.test('one that the base fee outruns is offered for more', async (t) => {
  const { rest } = await start(t);
  await client.setAutomine(false);
  const quote = await newQuote();
  const posted = rest.post('/quotes', [quote]);
  const [first] = await untilAnswer(waiting, ({ length }) => length === 1);
  const baseFee = (first?.maxFeePerGas ?? 0n) * 2n;
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: baseFee });
  await client.mine({ blocks: 1 });
  t.equal(await published(quote.salt), 0, 'no block can take it');
  await untilAnswer(waiting, ([tx]) => (tx?.maxFeePerGas ?? 0n) > baseFee);
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  t.equal((await posted).status, 201);
  t.equal(await published(quote.salt), 1);
});

await t.test('one that is stuck is reported as pending, and posting it again joins it', async (t) => {
  const { rest, socket } = await start(t, { publishTimeoutMs: 250 });
  await client.setAutomine(false);
  const quote = await newQuote();
  const stuck = await rest.post('/quotes', [quote]);
  t.equal(stuck.status, 504);
  t.match(stuck.body, { message: 'Publication not confirmed yet', pending: [/^0x[0-9a-f]{64}$/] });
  const again = await rest.post('/quotes', [quote]);
  t.strictSame(again.body, stuck.body);
  const transactions = await untilAnswer(waiting, ({ length }) => length > 0);
  t.equal(transactions.length, 1, 'there is one transaction for it');
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  t.match(await socket.next(), { type: 'POST_QUOTE', body: { salt: quote.salt } });
  t.match((await rest.post('/quotes', [quote])).body, { created: [], exists: [{ salt: quote.salt }] });
  t.equal(await published(quote.salt), 1);
  t.strictSame(socket.unread, [], 'the feed publishes it once');
});

await t.test('a key that has used up its day may post again what is pending or known, and nothing new', async (t) => {
  const { running } = await start(t, { publishTimeoutMs: 250 });
  running.service.adoptQuotas({ ...tierQuotas, free: { ...tierQuotas.free, quotesPerDay: 1 } });
  const rest = new RestClient(running.httpUrl, (await running.keys.create('free', 'again')).key);
  await client.setAutomine(false);
  const quote = await newQuote();
  const stuck = await rest.post('/quotes', [quote]);
  t.equal(stuck.status, 504);
  t.match(await rest.post('/quotes', [quote]), { status: 504, body: stuck.body }, 'it joins');
  const over = { status: 429, body: { message: 'RATELIMITED' } };
  t.match(await rest.post('/quotes', [await newQuote()]), over);
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  const again = await untilAnswer(
    () => rest.post('/quotes', [quote]),
    ({ status }) => status !== 504,
  );
  t.match(again.body, { failed: [] });
  t.match(await rest.post('/quotes', [quote]), { status: 200, body: { exists: [{ salt: quote.salt }] } });
  t.match(await rest.post('/quotes', [quote, await newQuote()]), over, 'a whole day would have room for that');
  t.equal(await published(quote.salt), 1);
});

await t.test('one that is stuck until its quote has little time left can still be joined', async (t) => {
  const { rest } = await start(t, { publishTimeoutMs: 250 });
  await client.setAutomine(false);
  const { timestamp } = await client.getBlock();
  const quote = await signQuote(maker.privateKey, pool, { size: ONE / 100n, deadline: Number(timestamp) + 40 });
  const stuck = await rest.post('/quotes', [quote]);
  t.equal(stuck.status, 504);
  // A block with a base fee that the transaction does not pay, even raised a few times, 9 s before the deadline.
  const [first] = await untilAnswer(waiting, ({ length }) => length === 1);
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: (first?.maxFeePerGas ?? 0n) * 16n });
  await client.setNextBlockTimestamp({ timestamp: timestamp + 31n });
  await client.mine({ blocks: 1 });
  const other = await signQuote(maker.privateKey, pool, { deadline: quote.deadline });
  const reasons = ['Quote deadline is invalid (cannot be less than 10 sec)'];
  await untilAnswer(
    () => rest.post('/quotes?dryRun=true', [other]),
    ({ body }) => JSON.stringify(body).includes(JSON.stringify(reasons)),
  );
  t.match(await rest.post('/quotes', [quote]), { status: 504, body: stuck.body });
  t.match((await rest.post('/quotes', [other])).body, { failed: [{ reason: reasons[0] }] });
  const joined = await untilAnswer(
    async () => {
      await client.mine({ blocks: 1 });
      return rest.post('/quotes', [quote]);
    },
    ({ status }) => status !== 504,
  );
  t.match(joined.body, { failed: [] });
  t.equal(await published(quote.salt), 1);
});

await t.test('another signer of the wallet takes the nonce: the publication comes under the next', async (t) => {
  const { rest } = await start(t);
  await client.setAutomine(false);
  const quote = await newQuote();
  const posted = rest.post('/quotes', [quote]);
  const [first] = await untilAnswer(waiting, ({ length }) => length === 1);
  if (first === undefined) throw new Error('It waits');
  await client.dropTransaction({ hash: first.hash });
  await client.sendTransaction({
    account: operator.address,
    to: maker.address,
    nonce: first.nonce,
    maxFeePerGas: first.maxFeePerGas * 4n,
  });
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  t.equal((await posted).status, 201);
  t.equal(await published(quote.salt), 1);
});

await t.test('one that its maker cancels on the way is charged to the day of its key all the same', async (t) => {
  const { running } = await start(t);
  running.service.adoptQuotas({ ...tierQuotas, free: { ...tierQuotas.free, quotesPerDay: 1 } });
  const rest = new RestClient(running.httpUrl, (await running.keys.create('free', 'cancels')).key);
  const quote = await newQuote();
  const checked = (await rest.post('/quotes?dryRun=true', [quote])).body as { quotes: { digest: `0x${string}` }[] };
  const [{ digest } = { digest: '0x' as const }] = checked.quotes;
  await client.setAutomine(false);
  const posted = rest.post('/quotes', [quote]);
  await untilAnswer(waiting, ({ length }) => length === 1);
  const cancelled = dev.cancel(maker.address, pool.poolAddress, [digest]);
  await untilAnswer(
    () => waiting(maker),
    ({ length }) => length === 1,
  );
  await client.setAutomine(true);
  await client.mine({ blocks: 1 });
  await Promise.all([posted, cancelled]);
  t.equal(await published(quote.salt), 1);
  await untilAnswer(
    () => Promise.resolve([...running.engine.known()]),
    (known) => known.every((order) => order.quote.salt !== quote.salt),
  );
  t.match(await rest.post('/quotes', [await newQuote()]), { status: 429, body: { message: 'RATELIMITED' } });
});

await t.test('a quote that a reorg removes leaves the book, and the service publishes it again', async (t) => {
  const { rest, socket } = await start(t);
  const quote = await newQuote();
  t.equal((await rest.post('/quotes', [quote])).status, 201);
  t.match(await socket.next(), { type: 'POST_QUOTE', body: { salt: quote.salt } });
  await dev.reorg(1);
  t.match(await socket.next(), { type: 'DELETE_QUOTE', body: { salt: quote.salt } });
  t.match(await socket.next(), { type: 'POST_QUOTE', body: { salt: quote.salt } });
  t.match((await rest.post('/quotes', [quote])).body, { failed: [] }, 'nor does posting it again make two of it');
  const { body } = await rest.get(`/orders?chainId=${chain.chainId}&provider=${maker.address}`);
  t.equal((body.validQuotes as { salt: number }[]).filter(({ salt }) => salt === quote.salt).length, 1);
  t.strictSame(socket.unread, []);
});

await t.test(
  'two makers post while transactions are replaced and dropped: each quote is in the book once',
  async (t) => {
    const { rest, running } = await start(t);
    await client.setAutomine(false);
    const quotes = await Promise.all(Array.from({ length: 6 }, newQuote));
    const posted = quotes.map(async (quote) => rest.post('/quotes', [quote]));
    for (let round = 0; round < 3; round++) {
      const [tx] = await untilAnswer(waiting, ({ length }) => length > 0);
      if (tx !== undefined) await client.dropTransaction({ hash: tx.hash });
    }
    await client.setAutomine(true);
    const over = { yet: false };
    const answers = Promise.all(posted).finally(() => (over.yet = true));
    await untilAnswer(
      () => client.mine({ blocks: 1 }),
      () => over.yet,
    );
    for (const { status } of await answers) t.equal(status, 201);
    for (const { salt } of quotes) t.equal(await published(salt), 1);
    const known = [...running.engine.known()].map(({ quote }) => quote.salt);
    for (const { salt } of quotes) t.equal(known.filter((other) => other === salt).length, 1);
  },
);
