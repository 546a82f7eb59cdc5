import t from 'tap';
import { checkEveryEnd, checkEveryFlip, type Rest } from '../persistence/byte-by-byte.js';
import { madeLog } from '../persistence/made-log.js';
import { SeededRandom } from '../simulation/seeded-random.js';

const BYTES = 64 << 10;
const random = new SeededRandom(4);

t.test('64 KiB that end at any byte', async (t) => {
  const checked = await checkEveryEnd(await madeLog(BYTES, false), 'nothing', random);
  t.ok(checked >= BYTES, `${checked} ends`);
});

for (const rest of ['zeros', 'unused space', 'random bytes', 'older bytes'] satisfies Rest[]) {
  t.test(`64 KiB that end anywhere, and then have ${rest}`, async (t) => {
    // Not a divisor of anything in the format, so that all parts of a frame are met.
    const checked = await checkEveryEnd(await madeLog(BYTES, false), rest, random, 37);
    t.ok(checked >= BYTES / 37, `${checked} ends`);
  });
}

t.test('64 KiB, sealed, with any one byte changed', async (t) => {
  const refused = await checkEveryFlip(await madeLog(BYTES, true), random, true);
  t.ok(refused > BYTES - 4096, `${refused} refused`);
});

t.test('the end of 64 KiB that were not sealed, with any one byte changed', async (t) => {
  const log = await madeLog(BYTES, false);
  const from = log.ends.at(-8)?.offset ?? 0;
  const refused = await checkEveryFlip(log, random, false, from);
  t.ok(refused >= (log.ends.at(-2)?.offset ?? 0) - from, `${refused} refused`);
});
