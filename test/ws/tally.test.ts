import t from 'tap';
import { Tally } from '../../src/ws/tally.js';

t.test('one of several that is closed leaves the others counted', async (t) => {
  const tally = new Tally();
  for (const name of ['a', 'a', 'a', 'b']) tally.add(name);
  tally.remove('a');
  t.strictSame([tally.of('a'), tally.of('b'), tally.total], [2, 1, 3]);
});

t.test('who has nothing open counts for nothing, and may open again', async (t) => {
  const tally = new Tally();
  tally.add('a');
  tally.remove('a');
  t.strictSame([tally.of('a'), tally.total], [0, 0]);
  tally.add('a');
  t.strictSame([tally.of('a'), tally.total], [1, 1]);
});
