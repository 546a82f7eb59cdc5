import t from 'tap';
import { checkModel } from '../chain/model/model-check.js';

const LONG_MS = 20 * 60_000;
const maxMs = process.env.QUOTEBOOK_TEST_LONG === undefined ? 25_000 : LONG_MS;
const seed = Math.floor(Math.random() * 2 ** 31);

t.test(`for ${maxMs / 1000} s of happenings under seed ${seed}, the book ends as one read from scratch`, async (t) => {
  t.comment(`seed ${seed}`);
  await checkModel({ numRuns: 10_000, maxMs, seed });
});
