import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startLocalChain, type LocalChain } from '../../src/chain/dev/local-chain.js';
import { RestClient } from '../e2e/rest-client.js';
import { signQuote } from '../e2e/maker.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const FLOOD_MS = 6_000;
/** Within which a process whose heap is too small for the flood has run out of it, also on a busy machine. */
const OUT_OF_MEMORY_MS = 60_000;
const FLOODING = 24;

/** Batches of the most quotes that a request may have, none of them its maker's, until told to stop. */
async function flood(chain: LocalChain, service: ServiceProcess, isOver: () => boolean): Promise<Map<number, number>> {
  const [, maker] = chain.accounts;
  const [pool] = chain.pools;
  if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
  const quote = await signQuote(maker.privateKey, pool);
  const batch = JSON.stringify(Array.from({ length: 1_000 }, (_, salt) => ({ ...quote, salt })));
  const rest = new RestClient(service.httpUrl, service.apiKey);
  const statuses = new Map<number, number>();
  const one = async (): Promise<void> => {
    while (!isOver()) {
      try {
        const { status } = await rest.post('/quotes?dryRun=true', batch);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      } catch {
        await pause(20);
      }
    }
  };
  await Promise.all(Array.from({ length: FLOODING }, one));
  return statuses;
}

/** Floods it for so long, or until it ends. Resolves to what became of the process. What it had acknowledged by then, the next one has. */
async function underFlood(
  t: Test,
  heapMiB: number,
  floodMs: number,
): Promise<number | NodeJS.Signals | 'LIVED' | null> {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const unlimited = { QUOTEBOOK_PAID_QUOTES_PER_MINUTE: '100000000', QUOTEBOOK_PAID_QUOTE_BURST: '100000000' };
  const service = await ServiceProcess.prepare(chain, t.testdir(), unlimited);
  t.teardown(() => service.end('SIGKILL'));
  const loaded = new LoadedService(chain, service);
  await loaded.start([`--max-old-space-size=${heapMiB}`]);
  await loaded.acknowledges();
  let isOver = false;
  const flooding = flood(chain, service, () => isOver);
  const ended = await Promise.race([service.ended(), pause(floodMs, 'LIVED' as const, { ref: false })]);
  isOver = true;
  const statuses = await flooding;
  t.comment(`statuses of the flood: ${JSON.stringify([...statuses])}`);
  await loaded.over();
  if (ended === 'LIVED') {
    t.ok((statuses.get(200) ?? 0) > 0, 'it took batches');
    t.equal(await service.end('SIGTERM'), 0);
  }
  await service.start();
  await loaded.checkAll();
  t.ok(loaded.acked > 0, `${loaded.acked} quotes acknowledged, ${loaded.events} events told: all are there`);
  t.equal(await service.end('SIGTERM'), 0);
  return ended;
}

t.setTimeout(240_000);

t.test('a heap of 256 MiB is enough, however many large batches come at once', async (t) => {
  t.equal(await underFlood(t, 256, FLOOD_MS), 'LIVED');
});

t.test('a process that runs out of memory ends, and loses nothing that was acknowledged', async (t) => {
  // In the middle: with 36 MiB it does not start, with 75 it lives.
  const ended = await underFlood(t, 50, OUT_OF_MEMORY_MS);
  t.ok(ended !== 'LIVED' && ended !== 0, `it ended with ${ended}`);
});
