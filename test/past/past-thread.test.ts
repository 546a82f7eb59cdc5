import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { limits } from '../../src/config/limits.js';
import { PastThread } from '../../src/past/past-thread.js';
import { systemClock } from '../../src/system/clock.js';
import { quoteIdOf } from '../engine/samples.js';
import { madeLog } from '../persistence/made-log.js';
import { SIM_PROFILE } from '../simulation/sim-quotes.js';

t.test('a log that could not be opened for one question is opened for the next', async (t) => {
  const directory = t.testdir();
  const past = new PastThread({ directory, chainId: '1', profile: SIM_PROFILE, limits }, systemClock, limits);
  t.teardown(() => past.close());
  const { files, ends } = await madeLog(1_000, true);
  const now = { throughIndex: ends.at(-1)?.index ?? 0, nowMs: 0 };
  const ask = () =>
    past.ask({ type: 'QUOTE_HISTORY', quoteId: quoteIdOf(1), afterSeq: null, takers: null, limit: 10, ...now });
  await t.rejects(ask(), /holds no log/);
  for (const [name, content] of files) await writeFile(path.join(directory, name), content);
  t.match(await ask(), { type: 'FOUND' });
});
