import { randomInt } from 'node:crypto';
import path from 'node:path';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { ONE, signQuote, type WireQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

const ROUNDS = process.env.QUOTEBOOK_TEST_LONG === undefined ? 100 : 500;
const POSTERS = 3;
const BATCH = 5;
const IDS_PER_REQUEST = 500;

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const makers = chain.accounts.slice(1, 1 + POSTERS);
const pools = chain.pools.slice(0, 4);

interface Answer {
  readonly created: readonly { readonly quoteId: string }[];
}

/** Posts batch after batch until the service is gone; what was acknowledged goes into `acked`. */
async function postUntilKilled(rest: RestClient, maker: number, acked: Set<string>): Promise<void> {
  const account = makers[maker];
  const pool = pools[maker % pools.length];
  if (account === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
  for (;;) {
    const batch: WireQuote[] = [];
    while (batch.length < BATCH) batch.push(await signQuote(account.privateKey, pool, { size: ONE / 1000n }));
    try {
      const { status, body } = await rest.post('/quotes', batch);
      if (status !== 201) continue;
      for (const { quoteId } of (body as unknown as Answer).created) acked.add(quoteId);
    } catch {
      return; // the connection broke: neither acknowledged nor refused
    }
  }
}

/** Ids that the book shows among these, as often as it shows them. */
async function shown(rest: RestClient, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_REQUEST) {
    const query = ids.slice(start, start + IDS_PER_REQUEST).map((id) => `quoteIds[]=${id}`);
    const { body } = await rest.get(`/orders?${query.join('&')}`);
    found.push(...(body.validQuotes as { quoteId: string }[]).map(({ quoteId }) => quoteId));
  }
  return found;
}

t.test(`${ROUNDS} kills under load lose nothing that was acknowledged, and show nothing twice`, async (t) => {
  t.setTimeout(ROUNDS * 20_000);
  const dataDir = t.testdir();
  const service = await ServiceProcess.prepare(chain, dataDir);
  const acked = new Set<string>();
  let lost = 0;
  let rounds = 0;
  for (; rounds < ROUNDS && lost === 0; rounds++) {
    await service.start();
    const rest = new RestClient(service.httpUrl, service.apiKey);
    const ids = [...acked];
    const found = await shown(rest, ids);
    const once = new Set(found);
    lost = ids.filter((id) => !once.has(id)).length + (found.length - once.size);
    const posting = makers.map((_, maker) => postUntilKilled(rest, maker, acked));
    await new Promise((resolve) => setTimeout(resolve, randomInt(50, 2000)));
    await service.end('SIGKILL');
    await Promise.all(posting);
  }
  t.equal(lost, 0, `${acked.size} quotes were acknowledged in ${rounds} rounds`);
  t.ok(acked.size > ROUNDS, 'there was load');

  await service.start();
  const rest = new RestClient(service.httpUrl, service.apiKey);
  t.strictSame((await shown(rest, [...acked])).sort(), [...acked].sort(), 'all of it is there at the end, once');
  t.equal(await service.end('SIGTERM'), 0, 'it stops in order');
  const verified = await service.run(['log', 'verify', path.join(dataDir, chain.profile.name)]);
  t.equal(verified.code, 0, `a replay gives the state hashes of the log: ${verified.stdout}${verified.stderr}`);
});
