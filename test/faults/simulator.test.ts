import t from 'tap';
import { simulateSeeds } from '../simulation/simulator.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG === '1';
/** By hand other seeds each time, so that every long run sees something new. */
const first = isLong ? Math.floor(Date.now() / 1000) : 10_000;
const count = isLong ? 20_000 : 2_000;

t.test(`${count} seeds from ${first} on`, async (t) => {
  const { crashes, records } = await simulateSeeds(first, count);
  t.ok(crashes > count, `${crashes} crashes, ${records} records`);
});
