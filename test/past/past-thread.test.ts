import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import t, { type Test } from 'tap';
import { limits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import { PastThread, type PastThreadLimits } from '../../src/past/past-thread.js';
import { systemClock } from '../../src/system/clock.js';
import { quoteIdOf } from '../engine/samples.js';
import { madeLog } from '../persistence/made-log.js';
import { SIM_PROFILE } from '../simulation/sim-quotes.js';

const HISTORY = { type: 'QUOTE_HISTORY', quoteId: quoteIdOf(1), afterSeq: null, takers: null, limit: 10 } as const;
const MEBIBYTE = 1 << 20;
const { files, ends } = await madeLog(1_000, true);
const now = { throughIndex: ends.at(-1)?.index ?? 0, nowMs: 0 };
/** More than the heap of `MEGABYTES` has room for. */
const MEGABYTES = 32;
const tooMany = Array.from({ length: MEGABYTES * (MEBIBYTE / 40) }, (_, n): Hex => `0x${`${n}`.padStart(40, 'a')}`);

// The thread keeps no process alive.
const alive = setInterval(() => undefined, 60_000);
t.teardown(() => clearInterval(alive));

function threadIn(t: Test, directory: string, changed: Partial<PastThreadLimits> = {}): PastThread {
  const bounds = { ...limits, ...changed };
  const past = new PastThread({ directory, chainId: '1', profile: SIM_PROFILE, limits: bounds }, systemClock, bounds);
  t.teardown(() => past.close());
  return past;
}

async function writeLog(directory: string): Promise<void> {
  for (const [name, content] of files) await writeFile(path.join(directory, name), content);
}

t.test('a log that could not be opened for one question is opened for the next', async (t) => {
  const directory = t.testdir();
  const past = threadIn(t, directory);
  const ask = () => past.ask({ ...HISTORY, ...now });
  await t.rejects(ask(), /holds no log/);
  await writeLog(directory);
  t.match(await ask(), { type: 'FOUND' });
});

t.test('a question that the heap has no room for fails alone', async (t) => {
  const directory = t.testdir();
  await writeLog(directory);
  const past = threadIn(t, directory, { pastHeapMb: MEGABYTES });
  const ask = (takers: readonly Hex[] | null = null) => past.ask({ ...HISTORY, takers, ...now });
  const [large, ...others] = await Promise.allSettled([ask(tooMany), ask(), ask(), ask()]);
  t.match(large, { status: 'rejected', reason: { code: 'ERR_WORKER_OUT_OF_MEMORY' } });
  t.match(others, Array(3).fill({ status: 'fulfilled', value: { type: 'FOUND' } }));
});

t.test('where the thread cannot start every question fails', async (t) => {
  // Too little for the modules; with less still V8 ends the whole process.
  const past = threadIn(t, t.testdir(), { pastHeapMb: 5 });
  const answers = await Promise.allSettled([1, 2, 3].map(() => past.ask({ ...HISTORY, ...now })));
  t.strictSame(
    answers.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
});
