import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { endOfContent } from '../../src/persistence/format/frame.js';
import { FeedClient } from '../e2e/feed-client.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ModelReader } from '../feed/model-reader.js';
import { ServiceProcess } from './service-process.js';

t.setTimeout(240_000);

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [, maker] = chain.accounts;
const [pool] = chain.pools;
if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');

const QUOTES = 3;

function segmentIn(dataDir: string): string {
  const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const name = names.find((found) => found.endsWith('segment-00000001.log'));
  if (name === undefined) throw new Error(`no segment among ${names.join()}`);
  return path.join(dataDir, name);
}

for (const sync of ['always', 'never']) {
  await t.test(`sync ${sync}: after a lost tail every reader gets RESYNC instead of other events`, async (t) => {
    const service = await ServiceProcess.prepare(chain, t.testdir(), { QUOTEBOOK_SYNC: sync });
    t.teardown(() => service.end('SIGKILL'));
    await service.start();
    const rest = new RestClient(service.httpUrl, service.apiKey);
    const wsUrl = () => service.httpUrl.replace('http', 'ws');
    const book = new ModelReader();
    const client = await FeedClient.open(wsUrl(), service.apiKey, 'quotebook.v2.json', book);
    client.follow('QUOTES', {});
    const post = async () => rest.post('/quotes', [await signQuote(maker.privateKey, pool)]);
    await post();
    await client.until(() => book.allQuotes.length > 0);
    const segment = segmentIn(service.dataDir);
    const kept = endOfContent(readFileSync(segment), 0);
    const { epoch } = book;
    for (let n = 0; n < QUOTES; n += 1) await post();
    await client.until(() => book.allQuotes.length > QUOTES);
    await service.end('SIGKILL');
    await client.ended;
    const bytes = readFileSync(segment);
    t.ok(endOfContent(bytes, 0) > kept);
    writeFileSync(segment, bytes.fill(0, kept));

    if (sync === 'always') {
      await t.rejects(service.start(), { message: /acknowledged records may be gone/ });
      const repaired = await service.run(['log', 'repair', path.dirname(segment)]);
      t.equal(repaired.code, 0, repaired.stderr);
    }
    await service.start();
    t.notOk(service.said.includes('level":50'));
    const again = await FeedClient.open(wsUrl(), service.apiKey, 'quotebook.v2.json', book);
    again.follow('QUOTES', {}, true);
    await again.until(() => book.counts.has('RESYNC'));
    t.match(
      again.messages.find(({ type }) => type === 'RESYNC'),
      { reason: 'OTHER_EPOCH' },
    );
    const rfqs = await FeedClient.open(wsUrl(), service.apiKey);
    rfqs.says({ type: 'FILTER', channel: 'RFQ', body: { chainId: '421613', epoch, fromSeq: 2 } });
    await rfqs.until(() => rfqs.messages.some(({ type }) => type === 'RESYNC'));
    // The chain still has all quotes: the book comes back whole, under other numbers.
    await again.until(() => book.allQuotes.length > QUOTES && book.epoch !== epoch);
    t.equal(await service.end('SIGTERM'), 0);
  });
}
