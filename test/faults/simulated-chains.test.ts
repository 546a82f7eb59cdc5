import t from 'tap';
import { simulateChainSeeds } from '../simulation/chain-simulator.js';
import { simulateLateLogSeeds } from '../simulation/late-logs-simulator.js';

const isLong = process.env.QUOTEBOOK_TEST_LONG === '1';
/** By hand other seeds each time, so that every long run sees something new. */
const first = isLong ? Math.floor(Date.now() / 1000) : 10_000;
/** A seed with chains takes many times as long as one without, each step of its time being a turn of the event loop. */
const chainCount = isLong ? 5_000 : 60;
/** Schedules of nodes that have blocks before their logs. */
const lateCount = isLong ? 5_000 : 500;

t.test(`${chainCount} seeds with chains from ${first} on`, async (t) => {
  const { crashes, records } = await simulateChainSeeds(first, chainCount);
  t.ok(crashes > chainCount, `${crashes} crashes, ${records} records`);
});

t.test(`${lateCount} seeds of late logs from ${first} on`, async (t) => {
  const late = await simulateLateLogSeeds(first, lateCount);
  t.ok(late > lateCount, `${late} events came late`);
});
