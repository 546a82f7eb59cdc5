import t, { type Test } from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { limits } from '../../src/config/limits.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { type OpenLog, openLog } from '../../src/persistence/recovery/open-log.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { HeldDisk } from '../persistence/held-disk.js';
import { silent } from '../simulation/simulated-log.js';
import { ONE, signQuote, type WireQuote } from './maker.js';
import { type RestAnswer, RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { optionOf } from './wire-option.js';
import { until } from '../until.js';

/** So few records may wait that a handful of quotes fill the queue. */
const QUEUE_RECORDS = 6;
/** Several times what the queue holds. */
const QUOTES = 30;

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [pool] = chain.pools;
const maker = chain.accounts[1];
if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');

const newQuote = (): Promise<WireQuote> => signQuote(maker.privateKey, pool, { size: ONE / 100n });

function logOn(disk: HeldDisk): Promise<OpenLog> {
  return openLog(disk, {
    identity: { chainId: chain.chainId },
    reorgDepth: limits.reorgDepth,
    random: systemRandom,
    clock: systemClock,
    logger: silent,
    onFatal(error) {
      throw error;
    },
    sync: { type: 'always' },
    segmentBytes: 1 << 20,
    bufferBytes: limits.logBufferBytes,
    sealDelayMs: limits.logSealDelayMs,
    slowCommitMs: limits.logSlowCommitMs,
    spareRetryMs: limits.logSpareRetryMs,
    queueRecords: QUEUE_RECORDS,
    queueBytes: limits.logQueueBytes,
    lowWaterBytes: 0,
    lowWaterMaxBytes: limits.lowWaterMaxBytes,
    lowWaterShare: limits.lowWaterPercent / 100,
    checkMs: limits.spaceCheckMs,
    stateHashEveryRecords: limits.stateHashEveryRecords,
    stateSumOrders: limits.stateSumOrders,
    snapshotEveryRecords: Infinity,
    snapshotRetryMs: limits.snapshotRetryMs,
    snapshotsKept: limits.snapshotsKept,
    retainLogBytes: Infinity,
    draftTag: 'none',
    make: () => Promise.reject(new Error('no snapshot is made here')),
  });
}

/** The service on a log whose disk the test holds. */
async function start(t: Test) {
  const disk = new HeldDisk(await openNodeDisk(t.testdir()));
  const log = await logOn(disk);
  const running = await startTestService({ chain, engine: log.engine, journal: log.journal });
  const stop = async (): Promise<void> => {
    disk.release();
    await running.stop();
    await log.journal.close();
  };
  return { disk, log, running, stop, rest: new RestClient(running.httpUrl, running.apiKey) };
}

await t.test(
  'while the disk is slow so much waits and no more, and writes are answered 503 with Retry-After',
  async (t) => {
    const { disk, log, running, rest, stop } = await start(t);
    t.teardown(stop);
    const { journal } = log;
    t.equal((await rest.post('/quotes', [await newQuote()])).status, 201);
    const socket = await SocketClient.open(running.wsUrl);
    t.teardown(() => socket.end());

    disk.hold();
    const quotes = await Promise.all(Array.from({ length: QUOTES }, newQuote));
    const answers: RestAnswer[] = [];
    const posts = quotes.map(async (quote) => {
      const answer = await rest.post('/quotes', [quote]);
      answers.push(answer);
      return answer;
    });
    await until(() => journal.refusal() === 'BUSY');

    const late = await newQuote();
    const refused = await rest.post('/quotes', [late]);
    t.strictSame([refused.status, refused.body], [503, { message: 'BUSY' }]);
    t.match(refused.headers.get('retry-after'), /^[1-9][0-9]*$/);
    const expired = { ...optionOf(chain, pool), expiration: '06JAN23' };
    for (const path of ['/pools', '/pool/settle']) {
      const { status, body, headers } = await rest.post(path, [expired]);
      t.strictSame([status, body], [503, { message: 'BUSY' }], path);
      t.match(headers.get('retry-after'), /^[1-9][0-9]*$/);
    }
    t.equal(journal.waiting.records, QUEUE_RECORDS, 'the queue is full, and no fuller');
    t.ok(
      answers.every(({ status }) => status === 503),
      'nothing is acknowledged that is not on the disk',
    );

    t.match(await rest.get('/ready'), { status: 503, body: { reasons: ['the log takes nothing: BUSY'] } });
    // Work without the disk goes on.
    await socket.auth(running.apiKey);
    // A read shows durable quotes only, so it waits together with them.
    const reading = rest.get(`/orders?chainId=${chain.chainId}&poolAddress=${pool.poolAddress}`);

    disk.release();
    t.equal((await reading).status, 200);
    const taken = await Promise.all(posts);
    for (const [place, { status, body }] of taken.entries()) {
      if (status === 201) continue;
      t.strictSame([status, body], [503, { message: 'BUSY' }]);
      t.equal(
        (await rest.post('/quotes', [quotes[place]])).status,
        201,
        'what was refused is taken when it comes again',
      );
    }
    t.ok(taken.filter(({ status }) => status === 201).length >= QUEUE_RECORDS, 'what waited is acknowledged');
    t.equal((await rest.post('/quotes', [late])).status, 201);
    t.equal([...log.engine.ordersIn(pool.poolAddress)].length, 1 + QUOTES + 1, 'each quote is there once');
  },
);

await t.test('a record that is not on the disk yet is neither answered, nor pushed, nor read', async (t) => {
  const { disk, log, running, rest, stop } = await start(t);
  t.teardown(stop);
  // What the chain told before is in the book, and would be pushed when its own group is on the disk.
  await log.journal.flush();
  const socket = await SocketClient.open(running.wsUrl);
  t.teardown(() => socket.end());
  await socket.auth(running.apiKey);
  const common = { chainId: `${chain.chainId}`, poolAddress: pool.poolAddress };
  for (const channel of ['QUOTES', 'RFQ']) await socket.ask({ type: 'FILTER', channel, body: common });
  const told: string[] = [];
  const noted = async (what: string, asked: Promise<RestAnswer>): Promise<RestAnswer> => {
    const answer = await asked;
    told.push(what);
    return answer;
  };

  disk.hold();
  const { seq } = log.engine;
  socket.send({ type: 'RFQ', body: { ...common, side: 'ask', size: '1', taker: maker.address } });
  await until(() => log.engine.seq === seq + 1);
  const orders = (): number => [...log.engine.ordersIn(pool.poolAddress)].length;
  const before = orders();
  const posting = noted('POST /quotes', rest.post('/quotes', [await newQuote()]));
  await until(() => orders() > before);
  const query = `chainId=${chain.chainId}&poolAddress=${pool.poolAddress}`;
  const reads = [`/orders?${query}`, `/quotes?${query}&side=ask&size=1`].map((path) => noted(path, rest.get(path)));
  // Far longer than any of them takes otherwise.
  for (let turn = 0; turn < 20; turn += 1) t.equal((await rest.get('/health')).status, 200);
  t.strictSame(told, []);
  t.strictSame(socket.unread, []);

  disk.release();
  t.equal((await posting).status, 201);
  for (const { status } of await Promise.all(reads)) t.equal(status, 200);
  const messages = [await socket.next(), await socket.next(), await socket.next()];
  t.strictSame(messages.map(({ type }) => type).sort(), ['INFO', 'POST_QUOTE', 'RFQ']);
});
