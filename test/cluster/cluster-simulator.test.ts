import t from 'tap';
import { simulateCluster } from './cluster-simulator.js';

const SEEDS = Number(process.env.QUOTEBOOK_SEEDS ?? 40);
const FIRST_SEED = Number(process.env.QUOTEBOOK_FIRST_SEED ?? 1);

t.test('whatever crashes, freezes or is cut off, no acknowledged record is lost or changed', async (t) => {
  const total = { terms: 0, crashes: 0, records: 0 };
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    const { terms, crashes, records } = await simulateCluster(seed);
    total.terms += terms;
    total.crashes += crashes;
    total.records += records;
  }
  t.ok(total.terms >= SEEDS && total.records > 20 * SEEDS, JSON.stringify(total));
});
