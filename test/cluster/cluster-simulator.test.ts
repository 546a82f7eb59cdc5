import { availableParallelism } from 'node:os';
import t from 'tap';
import { simulateInThreads } from './cluster-simulator.js';

const SEEDS = Number(process.env.QUOTEBOOK_SEEDS ?? 2_000);
const FIRST_SEED = Number(process.env.QUOTEBOOK_FIRST_SEED ?? 1);
/** Troubles that a seed goes through, one after another. */
const ROUNDS = Number(process.env.QUOTEBOOK_SIMULATED_ROUNDS ?? 3);

t.test('whatever crashes, freezes or is cut off, no acknowledged record is lost or changed', async (t) => {
  const total = await simulateInThreads(FIRST_SEED, SEEDS, ROUNDS, availableParallelism());
  t.ok(total.terms >= SEEDS && total.crashes >= SEEDS / 4 && total.records > 20 * SEEDS, JSON.stringify(total));
});
