import t from 'tap';
import { checkModel } from '../chain/model/model-check.js';
import { seedOf } from '../simulation/seeded-random.js';

const LONG_MS = 20 * 60_000;
const maxMs = process.env.QUOTEBOOK_TEST_LONG === undefined ? 25_000 : LONG_MS;
const seed = seedOf(t);

t.test('whatever happens to the chains, the book ends as one read from scratch', async () => {
  await checkModel({ numRuns: 10_000, maxMs, seed });
});
