import { anvilTransaction } from '../baselines/anvil-transaction.js';
import { median } from '../contest.js';
import { microsAt } from '../load/latencies.js';
import { postToPush } from '../load/post-to-push.js';
import { postingOf } from '../load/posted-quotes.js';
import { Child, withChildren } from '../processes/child.js';
import { atMost, type Scenario } from '../scenario.js';
import type { AnvilDialogue } from '../servers/on-anvil.js';
import { AnvilMakers } from '../workload/anvil-quotes.js';

const FIRST_SALT = 1_900_000_000;
const PER_SECOND = 10;
/** Limit of our own part of the way, beside the chain's, in milliseconds. */
const OWN_PART_MS = 4;

export const openOnAnvil = (...args: readonly 'polling'[]): Child<AnvilDialogue> =>
  new Child(new URL('../servers/on-anvil.js', import.meta.url), args);

export const wholePath: Scenario = {
  name: 'whole-path',
  title: 'The whole path, on anvil',
  workload: `Quotes posted ten a second to the whole service on a local chain: checked by the pool's contract, published, mined,
read, checked again, logged, synced and pushed. Counted from when a request was due until its push has arrived. The
baseline is anvil's own time from sending such a transaction to its receipt; the goal is within 4 ms of it.`,
  async run(scale) {
    const isFull = scale === 'full';
    return withChildren([openOnAnvil()] as const, async (server) => {
      const setup = await server.ask('SETUP', null);
      const apiKey = await server.ask('KEY', null);
      const port = await server.ask('PORT', null);
      const makers = AnvilMakers.open(setup, FIRST_SALT);
      const sender = setup.accounts.at(-1)?.address;
      if (sender === undefined) throw new Error('The local chain has no accounts');
      const ours: number[] = [];
      const theirs: number[] = [];
      let firstSalt = FIRST_SALT;
      let points: Awaited<ReturnType<typeof postToPush>> = [];
      for (let round = 0; round < (isFull ? 4 : 1); round++) {
        const count = isFull ? 40 : 2;
        const requests = makers.sign(count).map((signed) => postingOf([signed], apiKey));
        const way = {
          port,
          connections: 4,
          apiKey,
          requests,
          batch: 1,
          firstSalt,
          perSecond: PER_SECOND,
          waiting: 'awake' as const,
        };
        points = await postToPush(way);
        const transactions: number[] = [];
        for (const { quote } of makers.sign(count)) transactions.push(await anvilTransaction(setup, sender, quote));
        firstSalt += 2 * count;
        // The first round is the compiler's.
        if (isFull && round === 0) continue;
        ours.push(microsAt(points, 50) / 1000);
        theirs.push(median(transactions));
      }
      const baselineMs = median(theirs);
      const row = {
        label: 'POST to push, p50',
        ours: { value: median(ours), unit: 'ms' },
        baseline: { value: baselineMs, unit: 'ms', name: "anvil's transaction" },
        ratio: median(ours.map((ms, round) => ms / (theirs[round] ?? NaN))),
        goal: atMost(baselineMs + OWN_PART_MS, 'ours'),
        noise: null,
      };
      return { rows: [row], curves: [{ label: 'POST to push on anvil', points }] };
    });
  },
};
