import { withChildren } from '../processes/child.js';
import { atMost, type Row, type Scenario } from '../scenario.js';
import { openLoad, openQuotebook } from './served.js';

/** Events that are kept for readers who come back are bounded, and full before anything is weighed. */
const BEFORE = 40_000;
const POOL = 40;

function row(label: string, bytes: number): Row {
  const ours = { value: Math.max(0, bytes), unit: 'bytes' };
  return { label, ours, baseline: null, ratio: null, goal: atMost(4096, 'ours'), noise: null };
}

export const memory: Scenario = {
  name: 'memory',
  title: 'Memory',
  workload: `What the resident memory of a service grows by, after a garbage collection before and after, with 5,000 idle
subscribers, and with 100,000 more live quotes, divided by their number.`,
  async run(scale) {
    const isFull = scale === 'full';
    const quotes = isFull ? 100_000 : 100;
    const subscribers = isFull ? 5000 : 10;
    return withChildren([openQuotebook(), openLoad()] as const, async (quotebook, load) => {
      const apiKey = await quotebook.ask('KEY', null);
      const port = await quotebook.ask('PORT', null);
      const fresh = await quotebook.ask('USAGE', null);
      await load.ask('SUBSCRIBE', { port, count: subscribers, mixed: true, apiKey });
      const followed = await quotebook.ask('USAGE', null);
      await load.ask('SUBSCRIBE', null);
      await quotebook.ask('FILL_POOL', { pool: POOL, quotes: isFull ? BEFORE : 10 });
      const empty = await quotebook.ask('USAGE', null);
      for (let filled = 0, pool = POOL + 1; filled < quotes; filled += quotes / 10, pool++) {
        await quotebook.ask('FILL_POOL', { pool, quotes: quotes / 10 });
      }
      const full = await quotebook.ask('USAGE', null);
      return {
        rows: [
          row('a live quote', (full.rssBytes - empty.rssBytes) / quotes),
          row('an idle subscriber', (followed.rssBytes - fresh.rssBytes) / subscribers),
        ],
      };
    });
  },
};
