import { inTurn, median } from '../contest.js';
import { Latencies, microsAt, type Percentiles } from '../load/latencies.js';
import type { LoadDialogue } from '../load/load.js';
import { withChildren, type Child } from '../processes/child.js';
import { atMost, type LatencyCurve, type Row, type Scenario } from '../scenario.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { FreshNumbers, type PublishDialogue } from '../servers/publish-schedule.js';
import { openBareUws, openLoad, openQuotebook } from './served.js';

interface Case {
  readonly label: string;
  readonly subscribers: number;
  readonly perSecond: number;
  readonly seconds: number;
}

const cases: readonly Case[] = [
  { label: '1,000 subscribers, 50 events/s', subscribers: 1000, perSecond: 50, seconds: 2.5 },
  { label: '100 subscribers, 500 events/s', subscribers: 100, perSecond: 500, seconds: 2 },
];

interface Contender {
  readonly server: Child<ServerDialogue & PublishDialogue>;
  readonly load: Child<LoadDialogue>;
  readonly apiKey: string | null;
}

class Runs {
  readonly #numbers = new FreshNumbers();
  /** Of the last run of each contender. */
  readonly last = new Map<Contender, Percentiles>();

  async measure(contender: Contender, { perSecond, seconds }: Case): Promise<Percentiles> {
    const count = Math.ceil(perSecond * seconds);
    const first = this.#numbers.take(count);
    await contender.load.ask('EXPECT', { first, count });
    const schedule = { first, bursts: count, perBurst: 1, everyMs: 1000 / perSecond };
    await contender.server.ask('READY', schedule);
    const publishedAt = await contender.server.ask('PUBLISH', schedule);
    const { lastAt, wrong } = await contender.load.ask('RECEIVED', null);
    if (wrong > 0) throw new Error(`${wrong} subscribers did not get the published messages in order`);
    const latencies = new Latencies();
    lastAt.forEach((micros, i) => latencies.record(micros - (publishedAt[i] ?? NaN)));
    const points = latencies.percentiles();
    this.last.set(contender, points);
    return points;
  }
}

async function measureCase(each: Case, runs: Runs, [ours, bare]: readonly [Contender, Contender], rounds: number) {
  for (const { server, load, apiKey } of [ours, bare]) {
    const port = await server.ask('PORT', null);
    await load.ask('SUBSCRIBE', { port, count: each.subscribers, mixed: false, apiKey });
  }
  const p50: number[][] = [[], [], []];
  const p99 = await inTurn([0, 1, 2], { rounds, warmUps: rounds > 1 ? 1 : 0 }, async (which) => {
    const points = await runs.measure(which === 2 ? bare : ours, each);
    p50[which]?.push(microsAt(points, 50));
    return microsAt(points, 99);
  });
  const rows = [
    row(
      `${each.label}, p50`,
      p50.map((all) => all.slice(-rounds)),
    ),
    row(`${each.label}, p99`, p99),
  ];
  const curves: LatencyCurve[] = [
    { label: `ours: ${each.label}`, points: runs.last.get(ours) ?? [] },
    { label: `bare: ${each.label}`, points: runs.last.get(bare) ?? [] },
  ];
  return { rows, curves };
}

function row(label: string, [ours = [], again = [], theirs = []]: readonly (readonly number[])[]): Row {
  return {
    label,
    ours: { value: median(ours), unit: 'us' },
    baseline: { value: median(theirs), unit: 'us', name: 'bare uWebSockets.js' },
    ratio: median(ours.map((micros, round) => micros / (theirs[round] ?? NaN))),
    goal: atMost(2),
    noise: median(ours.map((micros, round) => Math.abs(micros / (again[round] ?? NaN) - 1))),
  };
}

export const eventToSocket: Scenario = {
  name: 'event-to-socket',
  title: 'From commit to socket',
  workload: `New quotes at a fixed rate to subscribers that all follow everything public, counted from the commit until the last
subscriber has the last byte. The bare uWebSockets.js server counts from its call of \`publish\` with ready bytes.`,
  async run(scale) {
    const isFull = scale === 'full';
    return withChildren(
      [openQuotebook(), openBareUws(), openLoad(), openLoad()] as const,
      async (quotebook, uws, first, second) => {
        const ours = {
          server: quotebook,
          load: first,
          apiKey: await quotebook.ask('KEY', null),
        };
        const bare = { server: uws, load: second, apiKey: null };
        const rows: Row[] = [];
        const curves: LatencyCurve[] = [];
        const runs = new Runs();
        for (const each of isFull ? cases : [{ label: 'tiny', subscribers: 8, perSecond: 200, seconds: 0.1 }]) {
          const measured = await measureCase(each, runs, [ours, bare], isFull ? 3 : 1);
          rows.push(...measured.rows);
          curves.push(...measured.curves);
        }
        return { rows, curves };
      },
    );
  },
};
