import { QuoteDigest } from '../../src/auth/quote-signature.js';
import { nativeRecover } from '../baselines/native-recover.js';
import { inTurn, median, rowOf } from '../contest.js';
import { microsAt } from '../load/latencies.js';
import type { LoadDialogue } from '../load/load.js';
import { type Child, withChildren } from '../processes/child.js';
import { atLeast, atMost, type Goal, type LatencyCurve, type Row, type Scenario } from '../scenario.js';
import type { QuotebookDialogue } from '../servers/quotebook.js';
import { poolOf, START_SECONDS } from '../workload/quotes.js';
import { CHAIN_ID, Makers } from '../workload/signed-quotes.js';
import { openLoad, openQuotebook } from './served.js';

interface Case {
  readonly batch: number;
  readonly requests: number;
  readonly connections: number;
  readonly goal: Goal | null;
}

const cases: readonly Case[] = [
  { batch: 1, requests: 4000, connections: 64, goal: null },
  { batch: 25, requests: 600, connections: 16, goal: atLeast(0.9) },
  { batch: 200, requests: 80, connections: 8, goal: atLeast(0.9) },
];
/** At half of the capacity measured: seconds, and quotes in a request. */
const STEADY = { seconds: 3, batch: 25, connections: 64 };

class Poster {
  #firstSalt = START_SECONDS;

  constructor(
    private readonly load: Child<LoadDialogue>,
    private readonly port: number,
    private readonly apiKey: string,
  ) {}

  /** Quotes per second. */
  async capacity({ batch, requests, connections }: Case): Promise<number> {
    await this.#sign(requests, batch);
    return (requests * batch) / (await this.load.ask('POST_ALL', { port: this.port, connections }));
  }

  async atRate(requests: number, batch: number, connections: number, perSecond: number) {
    await this.#sign(requests, batch);
    return this.load.ask('POST_AT_RATE', { port: this.port, connections, perSecond });
  }

  async #sign(requests: number, batch: number): Promise<void> {
    const firstSalt = this.#firstSalt;
    this.#firstSalt += requests * batch;
    await this.load.ask('SIGN', { requests, batch, apiKey: this.apiKey, firstSalt });
  }
}

/** `ecdsaRecover` in this process, which has nothing else to do meanwhile: recoveries per second. */
function openNative(count: number): () => Promise<number> {
  const makers = new Makers(new QuoteDigest(CHAIN_ID, 1), 9, START_SECONDS);
  const contestant = nativeRecover(makers.signMany([poolOf(0)], START_SECONDS + 3600, count));
  return async () => {
    const work = await contestant.prepare();
    const start = performance.now();
    return (await work()) / ((performance.now() - start) / 1000);
  };
}

async function rowOfCase(each: Case, poster: Poster, native: () => Promise<number>, rounds: number): Promise<Row> {
  const [ours = [], again = [], theirs = []] = await inTurn(
    [0, 1, 2],
    { rounds, warmUps: rounds > 1 ? 1 : 0 },
    (which) => (which === 2 ? native() : poster.capacity(each)),
  );
  const label = `batches of ${each.batch}`;
  return rowOf(label, { ours, again, theirs }, 'native ecdsaRecover', each.goal, 'quotes/s');
}

export const publish: Scenario = {
  name: 'publish',
  title: 'POST /quotes',
  workload: `Signed quotes posted in batches of 1, 25 and 200 over 64, 16 and 8 connections: parsed, validated, signatures checked,
applied, logged, synced, answered and pushed. A stand-in for the chains answers at once, so the figures are the
service's own. The baseline is \`ecdsaRecover\` of the native library on one thread. The last row posts batches of 25
at half of the capacity just measured, and counts until each quote has been pushed; its baseline is its own median.`,
  async run(scale) {
    const isFull = scale === 'full';
    return withChildren([openQuotebook(), openLoad()] as const, async (quotebook: Child<QuotebookDialogue>, load) => {
      const poster = new Poster(load, await quotebook.ask('PORT', null), await quotebook.ask('KEY', null));
      const native = openNative(isFull ? 10_000 : 20);
      const rows: Row[] = [];
      let steady = 0;
      for (const each of cases) {
        const sized = isFull ? each : { ...each, requests: 3, connections: 2 };
        const row = await rowOfCase(sized, poster, native, isFull ? 3 : 1);
        rows.push(row);
        if (each.batch === STEADY.batch) steady = row.ours.value / 2 / STEADY.batch;
      }
      const requests = isFull ? Math.ceil(steady * STEADY.seconds) : 3;
      const p50: number[] = [];
      const p99: number[] = [];
      const curves: LatencyCurve[] = [];
      for (let round = 0; round < (isFull ? 3 : 1); round++) {
        const points = await poster.atRate(requests, STEADY.batch, STEADY.connections, steady);
        p50.push(microsAt(points, 50));
        p99.push(microsAt(points, 99));
        curves[0] = { label: 'POST to push, half capacity', points };
      }
      rows.push({
        label: 'POST to push at half capacity, p99',
        ours: { value: median(p99), unit: 'us' },
        baseline: { value: median(p50), unit: 'us', name: 'its p50' },
        ratio: median(p99.map((micros, round) => micros / (p50[round] ?? NaN))),
        goal: atMost(5),
        noise: null,
      });
      return { rows, curves };
    });
  },
};
