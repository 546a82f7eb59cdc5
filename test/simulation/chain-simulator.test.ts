import t from 'tap';
import { simulateChains, simulateChainSeeds } from './chain-simulator.js';
import { simulateLateLogSeeds } from './late-logs-simulator.js';

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

t.test(
  'whatever logs the nodes give late, leave out or cut off, the book is whole once they have healed',
  async (t) => {
    const late = await simulateLateLogSeeds(1000, 30);
    t.ok(late > 30, `${late} events came late`);
  },
);
