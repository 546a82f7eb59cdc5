import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { systemClock } from '../../src/system/system-clock.js';
import { systemRandom } from '../../src/system/system-random.js';
import { isLong, Siege } from '../faults/siege.js';

const FREE_KEYS = isLong ? 100 : 10;
/** Of what a free key may ask in a second. */
const TIMES_ITS_LIMIT = 10;
const TURN_MS = 50;

t.setTimeout(isLong ? 900_000 : 240_000);

await t.test(`${FREE_KEYS} free keys at ${TIMES_ITS_LIMIT} times their limit`, async (t) => {
  const siege = await Siege.lay(t);
  const { dataDir, httpUrl } = siege.service;
  const keys = await KeyStore.open({
    files: new DiskKeyFiles(dataDir, systemClock, limits.keyUpdateMs),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
  });
  const freeKeys: string[] = [];
  while (freeKeys.length < FREE_KEYS) freeKeys.push((await keys.create('free', 'noisy')).key);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  t.teardown(() => agent.destroy());
  const ask = (apiKey: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const path = `${httpUrl}/orders?chainId=${siege.chain.chainId}`;
      get(path, { agent, headers: { 'x-apikey': apiKey } }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      }).once('error', reject);
    });
  // Until the service has seen the new keys, which it looks for once a second.
  for (const key of freeKeys) while ((await ask(key)) === 401) await pause(limits.keyWatchMs);

  const { requestsPerSecond } = tierQuotas.free;
  const perTurn = Math.ceil((requestsPerSecond * TIMES_ITS_LIMIT * TURN_MS) / 1_000);
  const counts = new Map<number, number>();
  let noiseMs = 0;

  await t.test('do not slow a paid one down', (t) =>
    siege.withstands(t, async (signal) => {
      const startMs = performance.now();
      const noise = freeKeys.map(async (key) => {
        for (let turn = 1; !signal.aborted; turn++) {
          const statuses = await Promise.all(Array.from({ length: perTurn }, () => ask(key)));
          for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
          await pause(Math.max(0, startMs + turn * TURN_MS - performance.now()));
        }
      });
      await Promise.all(noise);
      noiseMs += performance.now() - startMs;
    }),
  );

  await t.test('get what they may have, and no more', (t) => {
    t.comment(JSON.stringify(Object.fromEntries(counts)));
    t.strictSame([...counts.keys()].sort(), [200, 429]);
    // Each storm may begin with a full second's worth.
    const storms = Math.ceil(noiseMs / 1_000);
    const allowed = FREE_KEYS * requestsPerSecond * (noiseMs / 1_000 + storms);
    t.ok((counts.get(200) ?? 0) <= allowed, `${counts.get(200)} of at most ${Math.floor(allowed)}`);
    t.end();
  });
});
