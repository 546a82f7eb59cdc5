import t from 'tap';
import { SYNC_MODES, simulatePowerCuts } from '../simulation/simulator.js';

/** By hand other seeds each time, so that every long run sees something new. */
const first = process.env.QUOTEBOOK_TEST_LONG === '1' ? Math.floor(Date.now() / 1000) : 10_000;
const CUTS = 1_000;

for (const mode of SYNC_MODES) {
  t.test(`${CUTS} power cuts with ${mode.type}: no seq of an epoch ever identifies two events`, async (t) => {
    const cuts = await simulatePowerCuts(first, CUTS, mode);
    t.ok(cuts >= CUTS, `${cuts} power cuts, seeds from ${first} on`);
  });
}
