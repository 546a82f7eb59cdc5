import t from 'tap';
import { SYNC_MODES, simulate, simulatePowerCuts, simulateSeeds } from './simulator.js';

t.test('after any crash every acknowledged record is there, and nothing else', async (t) => {
  const { crashes, records } = await simulateSeeds(1000, 100);
  t.ok(crashes >= 100 && records > 1000, `${crashes} crashes, ${records} records`);
});

const CUTS = 100;

for (const mode of SYNC_MODES) {
  t.test(`power cuts with ${mode.type}: no seq of an epoch ever identifies two events`, async (t) => {
    const cuts = await simulatePowerCuts(5000, CUTS, mode);
    t.ok(cuts >= CUTS, `${cuts} power cuts, seeds from 5000 on`);
  });
}

t.test('a seed tells the same story each time', async (t) => {
  const [first, second] = [await simulate(7), await simulate(7)];
  t.strictSame(second, first);
  t.match(first.story, /^[0-9a-f]{64}$/);
});
