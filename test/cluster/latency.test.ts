import t from 'tap';
import { median } from '../../bench/contest.js';
import { microsAt } from '../../bench/load/latencies.js';
import { postToPush } from '../../bench/load/post-to-push.js';
import { postingOf } from '../../bench/load/posted-quotes.js';
import { openOnAnvil } from '../../bench/scenarios/whole-path.js';
import type { AnvilSetup } from '../../bench/servers/on-anvil.js';
import { AnvilMakers } from '../../bench/workload/anvil-quotes.js';
import { ClusterProcess } from './cluster-process.js';

const isLong = process.env.QUOTEBOOK_ROUNDS !== undefined;
const ROUNDS = isLong ? 10 : 2;
const POSTS = isLong ? 100 : 30;
const PER_SECOND = 10;
const FIRST_SALT = 1_900_000_000;
/** The goal is of an idle machine; a busy one gets more time here, and the times are printed. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const GOAL_MS = 15;

/** Posts to one port, and gives the median of POST to push in milliseconds. */
function poster(setup: Omit<AnvilSetup, 'token'>, apiKey: string, port: number): () => Promise<number> {
  const makers = AnvilMakers.open(setup, FIRST_SALT);
  let firstSalt = FIRST_SALT;
  return async () => {
    const requests = makers.sign(POSTS).map((signed) => postingOf([signed], apiKey));
    const common = { port, connections: 4, apiKey, requests, batch: 1, firstSalt };
    const points = await postToPush({ ...common, perSecond: PER_SECOND, waiting: 'asleep' });
    firstSalt += POSTS;
    return microsAt(points, 50) / 1000;
  };
}

t.test('POST to push through a gateway takes little longer than in one process', async (t) => {
  t.setTimeout(isLong ? 1_800_000 : 480_000);
  const single = openOnAnvil();
  t.teardown(() => single.stop());
  const ofSingle = poster(
    await single.ask('SETUP', null),
    await single.ask('KEY', null),
    await single.ask('PORT', null),
  );
  const cluster = await ClusterProcess.start();
  t.teardown(() => cluster.remove());
  t.teardown(() => cluster.stop());
  const { rpcUrl, contracts, accounts, pools, apiKey, gateways } = cluster.ready;
  const setup = {
    rpcUrl,
    orderbookStream: contracts.orderbookStream,
    accounts,
    pools: pools.map(({ poolAddress, poolKey }) => ({
      poolAddress,
      poolKey: { ...poolKey, strike: BigInt(poolKey.strike) },
    })),
  };
  const ofGateway = poster(setup, apiKey, Number(new URL(gateways[0]?.httpUrl ?? '').port));
  const [alone, behind]: [number[], number[]] = [[], []];
  // The first round is the compiler's.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [oneMs, otherMs] = [await ofSingle(), await ofGateway()];
    if (round === 0) continue;
    alone.push(oneMs);
    behind.push(otherMs);
  }
  const moreMs = median(behind.map((ms, round) => ms - (alone[round] ?? NaN)));
  t.comment(`POST to push p50 in ms: one process ${alone.join(', ')}; gateway ${behind.join(', ')}`);
  t.ok(moreMs <= PATIENCE * GOAL_MS, `a gateway takes ${moreMs.toFixed(1)} ms longer, the median of the rounds`);
});
