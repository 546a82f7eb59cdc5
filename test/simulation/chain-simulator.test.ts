import t from 'tap';
import { simulateChains, simulateChainSeeds } from './chain-simulator.js';

t.test(
  'whatever crashes and whatever the chains take back, the book is the one that a fresh reading gives',
  async (t) => {
    const { crashes, records } = await simulateChainSeeds(1000, 8);
    t.ok(crashes > 8 && records > 80, `${crashes} crashes, ${records} records`);
  },
);

t.test('a seed tells the same story each time, on the chains as well', async (t) => {
  const [first, second] = [await simulateChains(7), await simulateChains(7)];
  t.strictSame(second, first);
  t.match(first.story, /^[0-9a-f]{64}$/);
});
