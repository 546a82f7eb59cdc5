import type { LoadDialogue } from '../load/load.js';
import { type Child, withChildren } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { atMost, type Row, type Scenario } from '../scenario.js';
import { openBareUws, openLoad, openQuotebook } from './served.js';

/** Events that are kept for readers who come back are bounded, and full before anything is weighed. */
const BEFORE = 40_000;
const POOL = 40;
/**
 * V8's young generation grows while many connect, on Node 24 further than on Node 20, and stays so: with 5,000
 * subscribers it would count as another 5 KB of each.
 */
const YOUNG_GENERATION = '--max-semi-space-size=16';

/** The most that each may take. */
const QUOTE_BYTES = 1200;
const SUBSCRIBER_BYTES = 2200;

/** `bareBytes`: of bare uWebSockets.js. The memory may not grow at all for a few: then there is nothing to compare. */
function row(label: string, bytes: number, mostBytes: number, bareBytes = 0): Row {
  const ours = { value: Math.max(0, bytes), unit: 'bytes' };
  const isCompared = bytes > 0 && bareBytes > 0;
  const baseline = isCompared ? { value: bareBytes, unit: 'bytes', name: 'bare uWebSockets.js' } : null;
  const ratio = isCompared ? bytes / bareBytes : null;
  return { label, ours, baseline, ratio, goal: atMost(mostBytes, 'ours'), noise: null };
}

/** Bytes of one of `count` subscribers who then leave. */
async function subscriberBytes(
  server: Child<ServerDialogue>,
  load: Child<LoadDialogue>,
  count: number,
  apiKey: string | null,
): Promise<number> {
  const port = await server.ask('PORT', null);
  const fresh = await server.ask('USAGE', null);
  await load.ask('SUBSCRIBE', { port, count, mixed: true, apiKey });
  const followed = await server.ask('USAGE', null);
  await load.ask('SUBSCRIBE', null);
  return (followed.rssBytes - fresh.rssBytes) / count;
}

export const memory: Scenario = {
  name: 'memory',
  title: 'Memory',
  workload: `What the resident memory of a service grows by, after a garbage collection before and after, with 5,000 idle
subscribers, and with 100,000 more live quotes, divided by their number, with a young generation of V8 of
one size on every Node. *Of the heap alone* is what V8 and its buffers hold, without what V8 keeps free. The
baseline has as many subscribers of the same topics.`,
  async run(scale) {
    const isFull = scale === 'full';
    const quotes = isFull ? 100_000 : 100;
    const subscribers = isFull ? 5000 : 10;
    return withChildren(
      [openQuotebook([YOUNG_GENERATION]), openBareUws(), openLoad()] as const,
      async (quotebook, bare, load) => {
        const apiKey = await quotebook.ask('KEY', null);
        const subscriber = await subscriberBytes(quotebook, load, subscribers, apiKey);
        const bareSubscriber = await subscriberBytes(bare, load, subscribers, null);
        await quotebook.ask('FILL_POOL', { pool: POOL, quotes: isFull ? BEFORE : 10 });
        const empty = await quotebook.ask('USAGE', null);
        for (let filled = 0, pool = POOL + 1; filled < quotes; filled += quotes / 10, pool++) {
          await quotebook.ask('FILL_POOL', { pool, quotes: quotes / 10 });
        }
        const full = await quotebook.ask('USAGE', null);
        return {
          rows: [
            row('a live quote', (full.rssBytes - empty.rssBytes) / quotes, QUOTE_BYTES),
            row('a live quote, of the heap alone', (full.heldBytes - empty.heldBytes) / quotes, QUOTE_BYTES),
            row('an idle subscriber', subscriber, SUBSCRIBER_BYTES, bareSubscriber),
          ],
        };
      },
    );
  },
};
