import t from 'tap';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { RestClient, untilKnown } from '../e2e/rest-client.js';
import { attackerAddress, type Bearable, isLong, Siege } from '../faults/siege.js';
import { seedOf } from '../simulation/seeded-random.js';
import { Noise } from './noise.js';
import type { NoiseMade } from './noisy-clients.js';

const FREE_KEYS = isLong ? 100 : 10;
/** Of what a free key may ask in a second. */
const TIMES_ITS_LIMIT = 10;
const PAID_REQUESTS_PER_SECOND = 500;
const { requestsPerSecond } = tierQuotas.free;
const paidStay: Bearable = {
  ratio: 1.2,
  rounds: isLong ? 15 : 5,
  roundMs: isLong ? 4_000 : 2_000,
};
/** Asked by each of them to compare what a refusal costs with what an answer costs. */
const COMPARED_ROUNDS = 3;
/** So many where other things that the machine does make what those say doubtful. */
const MOST_COMPARED_ROUNDS = 9;
const COMPARED_MS = 2_000;

const seed = seedOf(t);
t.setTimeout(isLong ? 1_800_000 : 480_000);

await t.test(`${FREE_KEYS} free keys at ${TIMES_ITS_LIMIT} times their limit`, async (t) => {
  const siege = await Siege.lay(t, { requestsPerSecond: PAID_REQUESTS_PER_SECOND });
  const { dataDir, httpUrl, apiKey: paidKey } = siege.service;
  const keys = await KeyStore.open({
    files: new DiskKeyFiles(dataDir, systemClock, limits.keyUpdateMs, lockFile),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
  });
  const freeKeys: string[] = [];
  while (freeKeys.length < FREE_KEYS) freeKeys.push((await keys.create('free', 'noisy')).key);
  keys.close();
  const path = `/orders?chainId=${siege.chain.chainId}`;
  const last = new RestClient(httpUrl, freeKeys.at(-1) ?? null);
  await untilKnown(() => last.get(path));

  const noiseOf = (apiKeys: readonly string[]): Noise => {
    const clients = apiKeys.map((apiKey, i) => ({ apiKey, localAddress: attackerAddress(i) }));
    const noise = new Noise({
      port: siege.port,
      path,
      clients,
      requestsPerSecond: requestsPerSecond * TIMES_ITS_LIMIT,
      seed,
    });
    t.teardown(() => noise.stop());
    return noise;
  };
  const free = noiseOf(freeKeys);
  const paid = noiseOf(freeKeys.map(() => paidKey));
  const counts = new Map<number, number>();
  let noiseMs = 0;
  let storms = 0;

  /** For as long as `during` takes. Gives what the service did with it, and the time of a core that it took. */
  async function rage(noise: Noise, during: Promise<unknown>): Promise<{ made: NoiseMade; cpuMs: number }> {
    const before = siege.service.usage();
    const startMs = performance.now();
    noise.begin();
    await during;
    const made = await noise.end();
    const cpuMs = siege.service.usage().cpuMs - before.cpuMs;
    if (noise === free) {
      noiseMs += performance.now() - startMs;
      storms++;
      for (const [status, count] of Object.entries(made)) {
        counts.set(Number(status), (counts.get(Number(status)) ?? 0) + count);
      }
    }
    return { made, cpuMs };
  }

  await t.test('do not slow a paid one down', (t) =>
    siege.withstands(
      t,
      async (signal) => {
        await rage(free, new Promise((resolve) => signal.addEventListener('abort', resolve)));
      },
      paidStay,
    ),
  );

  await t.test('cost the service no more than those who may ask as much', async (t) => {
    const spent = { free: 0, paid: 0 };
    const asked = { free: 0, paid: 0 };
    const usEach = (tier: 'free' | 'paid'): number => (spent[tier] / asked[tier]) * 1_000;
    const isCheap = (): boolean => usEach('free') <= 1.2 * usEach('paid');
    for (let round = 0; round < COMPARED_ROUNDS || (!isCheap() && round < MOST_COMPARED_ROUNDS); round++) {
      for (const [tier, noise] of Object.entries({ free, paid }) as ['free' | 'paid', Noise][]) {
        const { made, cpuMs } = await rage(noise, new Promise((resolve) => setTimeout(resolve, COMPARED_MS)));
        spent[tier] += cpuMs;
        asked[tier] += (made[200] ?? 0) + (made[429] ?? 0);
      }
    }
    const said = `${usEach('free').toFixed(1)} us of a core for each of ${asked.free} requests of free keys, ${usEach('paid').toFixed(1)} for each of ${asked.paid} of a paid one`;
    t.comment(said);
    t.ok(isCheap(), said);
  });

  await t.test('get what they may have, and no more', (t) => {
    t.comment(JSON.stringify(Object.fromEntries(counts)));
    t.strictSame(
      [...counts.keys()].filter((status) => status !== 0).sort(),
      [200, 429],
      'nothing else is answered, and no connection is lost',
    );
    // Each storm may begin with a full second's worth.
    const allowed = FREE_KEYS * requestsPerSecond * (noiseMs / 1_000 + storms);
    t.ok((counts.get(200) ?? 0) <= allowed, `${counts.get(200)} of at most ${Math.floor(allowed)}`);
    t.end();
  });
});
