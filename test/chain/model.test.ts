import t from 'tap';
import { checkModel } from './model/model-check.js';

t.test('whatever happens on the chains, the book ends as one that reads them from scratch', async () => {
  await checkModel({ numRuns: 12, maxMs: 15_000 });
});
