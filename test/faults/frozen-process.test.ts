import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG !== undefined;
/** Longer than a request, and than a head of a chain counts as fresh (10 s each). */
const LONG_MS = 12_000;
const LONGEST_MS = isLong ? 30_000 : 3_000;
const RANDOM_FREEZES = isLong ? 20 : 2;
/** From its thaw to the first quote that is acknowledged. */
const BACK_MS = 5_000;
const RETRY_MS = 50;
/** For the rest of a round on a busy machine: two starts, a check of all events and a stop. */
const ROUND_MS = 120_000;

const freezesMs = [LONG_MS, ...Array.from({ length: RANDOM_FREEZES }, () => randomInt(1_000, LONGEST_MS + 1))];

t.test('a process that is frozen under load keeps its log to itself, and goes on where it was', async (t) => {
  t.setTimeout(freezesMs.length * (Math.max(LONG_MS, LONGEST_MS) + ROUND_MS));
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const service = await ServiceProcess.prepare(chain, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  const loaded = new LoadedService(chain, service);
  const [pool] = chain.pools;
  const maker = chain.accounts[5];
  if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');

  for (const freezeMs of freezesMs) {
    await loaded.start();
    await loaded.acknowledges();
    process.kill(Number(service.pid), 'SIGSTOP');
    const [{ code, stderr }] = await Promise.all([service.run(['serve']), pause(freezeMs)]);
    t.equal(code, 1, 'nobody takes its place meanwhile');
    t.match(stderr, /another process is using/);
    process.kill(Number(service.pid), 'SIGCONT');

    const thawedMs = performance.now();
    const rest = new RestClient(service.httpUrl, service.apiKey);
    const quote = [await signQuote(maker.privateKey, pool)];
    while ((await rest.post('/quotes', quote)).status !== 201) await pause(RETRY_MS);
    const tookMs = Math.round(performance.now() - thawedMs);
    t.ok(tookMs < BACK_MS, `frozen for ${freezeMs} ms, quotes are acknowledged ${tookMs} ms later`);
    await loaded.over();
    await loaded.checkAll();
    t.equal(await service.end('SIGTERM'), 0, 'it stops in order');
  }
  t.comment(`${loaded.acked} quotes acknowledged, ${loaded.events} events told`);
});
