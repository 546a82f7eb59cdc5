import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { ONE, signQuote, type WireQuote } from '../e2e/maker.js';
import { RestClient, untilKnown } from '../e2e/rest-client.js';
import { optionOf, queryOf } from '../e2e/wire-option.js';
import { type Bearable, isLong, Siege } from '../faults/siege.js';
import type { CostlyAnswers, CostlyTask } from './costly-clients.js';

/** In the book, most of them in one pool. */
const QUOTES = 6_000;
const QUOTES_OF_POOL = 4_000;
const PAID_REQUESTS_PER_SECOND = 300;
/** The book moves all the time, so that no answer is that of a moment before. */
const QUOTE_EVERY_MS = 200;
const paidStay: Bearable = { ratio: 1.5, rounds: isLong ? 15 : 5, roundMs: isLong ? 6_000 : 3_000 };
const { requestsPerSecond, messagesPerSecond, connections } = tierQuotas.free;

t.setTimeout(isLong ? 1_800_000 : 480_000);

await t.test('a free key that sends the most expensive requests within its limits', async (t) => {
  const siege = await Siege.lay(t, { requestsPerSecond: PAID_REQUESTS_PER_SECOND });
  const { chain, service, rest } = siege;
  const keys = await KeyStore.open({
    files: new DiskKeyFiles(service.dataDir, systemClock, limits.keyUpdateMs, lockFile),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
  });
  const { key: apiKey } = await keys.create('free', 'costly');
  keys.close();
  const [, maker] = chain.accounts;
  const [pool, otherPool] = chain.pools;
  if (maker === undefined || pool === undefined || otherPool === undefined) throw new Error('no accounts or pools');
  let posted = 0;
  const quote = (): Promise<WireQuote> => {
    const i = posted++;
    const terms = { price: ONE / 10n + BigInt(i % 3_000), size: ONE / 1_000n };
    return signQuote(maker.privateKey, i % QUOTES < QUOTES_OF_POOL ? pool : otherPool, terms);
  };
  while (posted < QUOTES) {
    const batch = await Promise.all(Array.from({ length: limits.quotesPerRequest }, quote));
    const { status } = await rest.post('/quotes', batch);
    if (status !== 201) throw new Error(`The book could not be filled: ${status}`);
  }
  const chainId = String(chain.chainId);
  const ofPool = `poolAddress=${pool.poolAddress}`;
  const filter = (channel: string, body: object) => ({ type: 'FILTER', channel, body: { chainId, ...body } });
  // Of an epoch that is not this log's, so that the book is answered in place of events.
  const anew = 'fromSeq=0&epoch=0000000000000000';
  const costly: Pick<CostlyTask, 'paths' | 'filters'> = {
    paths: [
      `/events?channel=QUOTES&${anew}`,
      `/orders?chainId=${chainId}`,
      `/events?channel=QUOTES&${anew}&${ofPool}`,
      `/orders?chainId=${chainId}&${ofPool}`,
      '/events?channel=QUOTES&fromSeq=0',
      `/quotes?chainId=${chainId}&${ofPool}&side=ask&size=${1_000_000n * ONE}`,
      `/orderbook/quotes?${queryOf(optionOf(chain, pool), { side: 'ask', size: '1000000' })}`,
      `/events?channel=ORDERBOOK&fromSeq=0&${ofPool}`,
      `/tickers?chainId=${chainId}`,
      `/events?channel=ORDERBOOK&${anew}&${ofPool}`,
    ],
    filters: [
      filter('QUOTES', { epoch: 'EPOCH', fromSeq: 0 }),
      filter('QUOTES', { snapshot: true }),
      filter('ORDERBOOK', { poolAddress: pool.poolAddress }),
      filter('RFQ', { epoch: 'EPOCH', fromSeq: 0 }),
      filter('TICKER', {}),
    ],
  };
  const { body: first } = await rest.get(`/events?channel=RFQ&fromSeq=0&chainId=${chainId}`);
  const withEpoch = (filters: readonly object[]) =>
    JSON.parse(JSON.stringify(filters).replaceAll('EPOCH', String(first.epoch))) as object[];
  const task: CostlyTask = {
    port: siege.port,
    apiKey,
    paths: costly.paths,
    requestsPerSecond,
    filters: withEpoch(costly.filters),
    messagesPerSecond,
    sockets: connections,
  };
  const free = new RestClient(service.httpUrl, apiKey);
  await untilKnown(() => free.get(`/tickers?chainId=${chainId}`));

  const attacker = fork(fileURLToPath(new URL('./costly-clients.js', import.meta.url)));
  attacker.send(task);
  t.teardown(() => attacker.kill('SIGKILL'));
  const moved = { isOver: false };
  const moving = (async () => {
    while (!moved.isOver) {
      const { status } = await rest.post('/quotes', [await quote()]);
      if (status !== 201) throw new Error(`A quote was not posted: ${status}`);
      await new Promise((resolve) => setTimeout(resolve, QUOTE_EVERY_MS));
    }
  })();
  const received: CostlyAnswers[] = [];
  const cpuMs: number[] = [];
  await siege.withstands(
    t,
    async (signal) => {
      const before = service.usage().cpuMs;
      attacker.send('begin');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      attacker.send('end');
      const [answers] = (await once(attacker, 'message')) as [CostlyAnswers];
      cpuMs.push(service.usage().cpuMs - before);
      received.push(answers);
    },
    paidStay,
  );
  moved.isOver = true;
  await moving;
  t.comment(`CPU of the service in each attack: ${cpuMs.map(Math.round).join(', ')} ms`);
  for (const answers of received) t.comment(JSON.stringify(answers));
  const count = (status: number): number => received.reduce((sum, { statuses }) => sum + (statuses[status] ?? 0), 0);
  t.ok(count(200) > 0, `${count(200)} of its requests were answered`);
  t.equal(
    received.reduce((sum, { closed }) => sum + closed, 0),
    0,
    'none of its sockets was closed',
  );
  t.strictSame(
    received.flatMap(({ statuses }) => Object.keys(statuses)).filter((status) => !['200', '429'].includes(status)),
    [],
    'its requests were answered, or refused as over its quota',
  );
});
