import { existsSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { Market } from '../chain/dev/market.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { ServiceProcess } from '../faults/service-process.js';
import { RestClient } from './rest-client.js';
import { until } from '../until.js';

const REORG_DEPTH = 4;

// Four starts of the program, and three seconds until the reorg is believed.
t.setTimeout(300_000);

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const market = new Market(chain);
const call = market.pool('testWETH', 1800n, true);
const dataDir = t.testdir();
const note = path.join(dataDir, chain.profile.name, 'deep-reorg.json');

async function prepare(settings: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  const service = await ServiceProcess.prepare(chain, dataDir, {
    QUOTEBOOK_REORG_DEPTH: String(REORG_DEPTH),
    ...settings,
  });
  t.teardown(() => service.end('SIGKILL'));
  return service;
}

async function quoteIds({ httpUrl, apiKey }: ServiceProcess): Promise<string[]> {
  const rest = new RestClient(httpUrl, apiKey);
  const { validQuotes } = (await rest.get(`/orders?chainId=${chain.chainId}`)).body;
  return (validQuotes as { quoteId: string }[]).map(({ quoteId }) => quoteId).sort();
}

async function published(): Promise<SignedOffer> {
  const offer = await market.sign(call);
  await market.publish(market.stranger.address, [offer]);
  return offer;
}

await t.test(
  'after a deep reorg a start is refused until it is accepted; then the book is the new chain’s',
  async (t) => {
    const service = await prepare();
    await service.start();
    const before: string[] = [];
    // One block at a time, each read before the next: the reader remembers every one of them.
    for (let n = 0; n < REORG_DEPTH + 3; n++) {
      before.push((await published()).quoteId);
      await until(async () => (await quoteIds(service)).length > n);
    }
    await market.reorg(REORG_DEPTH + 2);
    await until(() => existsSync(note));
    t.strictSame(await quoteIds(service), before.sort(), 'reads go on');
    t.equal((await fetch(`${service.httpUrl}/ready`)).status, 503);
    t.equal(await service.end('SIGTERM'), 0);

    const { code, stderr } = await service.run(['serve']);
    t.equal(code, 1);
    const epoch = /--accept-deep-reorg ([0-9a-f]{16})/.exec(stderr)?.[1] ?? '';
    t.match(stderr, /reorganised deeper than reorgDepth: None of the blocks \d+\.\.\d+/);

    const accepting = await prepare({ QUOTEBOOK_ACCEPT_DEEP_REORG: epoch });
    await accepting.start();
    const first = before.filter((quoteId) => quoteId);
    const left = await quoteIds(accepting);
    t.equal(left.length, 1, 'what the reorg left');
    t.ok(first.includes(left[0] ?? ''));
    const fresh = await published();
    while ((await quoteIds(accepting)).length < 2);
    t.strictSame(await quoteIds(accepting), [...left, fresh.quoteId].sort());
    t.equal(await accepting.end('SIGTERM'), 0);

    await service.start();
    t.strictSame(await quoteIds(service), [...left, fresh.quoteId].sort(), 'later starts need no more');
  },
);
