import t from 'tap';
import { checkEveryEnd, checkEveryFlip, type Rest } from '../persistence/byte-by-byte.js';
import { madeLog } from '../persistence/made-log.js';
import { SeededRandom } from '../simulation/seeded-random.js';

const BYTES = 64 << 10;
const random = new SeededRandom(4);

for (const rest of ['nothing', 'zeros', 'random bytes', 'older bytes'] satisfies Rest[]) {
  t.test(`64 KiB that end at any byte, and then have ${rest}`, async (t) => {
    // The end itself at every byte; what lies behind it matters less where.
    const checked = await checkEveryEnd(await madeLog(BYTES, false), rest, random, rest === 'nothing' ? 1 : 7);
    t.ok(checked >= BYTES / 7, `${checked} ends`);
  });
}

for (const sealed of [true, false]) {
  t.test(`64 KiB, ${sealed ? 'sealed' : 'not sealed'}, with any one byte changed`, async (t) => {
    const refused = await checkEveryFlip(await madeLog(BYTES, sealed), random, sealed);
    t.ok(refused > BYTES - 4096, `${refused} refused`);
  });
}
