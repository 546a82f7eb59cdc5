import { inTurn, median, rowOf } from '../contest.js';
import { microsAt, type Percentiles } from '../load/latencies.js';
import type { LoadDialogue } from '../load/load.js';
import { withChildren, type Child } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { atLeast, atMost, type LatencyCurve, type Row, type Scenario } from '../scenario.js';
import { poolOf } from '../workload/quotes.js';
import { CHAIN_ID } from '../workload/signed-quotes.js';
import { cpuSecondsOf, openBareUws, openLoad, openNodeHttp, openQuotebook } from './served.js';

const CONNECTIONS = 16;
/** Of the open loop, in each round. */
const LATENCY_SECONDS = 2;
/** Pools of the answers, and how much rests in each. */
const QUOTES_POOL = { pool: 30, quotes: 1000 };
const ORDERS_POOL = { pool: 31, quotes: 100 };

interface Read {
  readonly label: string;
  /** Times the rate of bare uWebSockets.js. */
  readonly goal: number;
  /** Of the `n`th request since the first of all; a text: of every request. */
  readonly target: string | ((n: number) => string);
  readonly count: number;
  /** Requests a second of the open loop; null: closed loop. */
  readonly perSecond: number | null;
}

const addressOf = ({ pool }: { pool: number }): string => poolOf(pool).poolAddress;

/** 1e-18 contracts: ten of the resting quotes, of one contract each. */
const TEN_QUOTES = 10n ** 19n;
const quotesTarget = (size: bigint): string =>
  `/quotes?chainId=${CHAIN_ID}&poolAddress=${addressOf(QUOTES_POOL)}&side=ask&size=${size}`;

const reads: readonly Read[] = [
  {
    label: 'GET /quotes, 10 quotes',
    goal: 0.8,
    target: quotesTarget(TEN_QUOTES),
    count: 30_000,
    perSecond: 1000,
  },
  {
    // Each asks for a little less than ten quotes' worth, and has the ten: a query that nobody has asked before.
    label: 'GET /quotes, 10 quotes, each of its own size',
    goal: 0.85,
    target: (n) => quotesTarget(TEN_QUOTES - BigInt(n)),
    count: 6000,
    perSecond: null,
  },
  {
    label: 'GET /orders, 100 orders',
    goal: 0.8,
    target: `/orders?chainId=${CHAIN_ID}&poolAddress=${addressOf(ORDERS_POOL)}`,
    count: 10_000,
    perSecond: 250,
  },
];

interface Server {
  readonly process: Child<ServerDialogue>;
  readonly port: number;
}

class Bench {
  #asked = 0;

  constructor(
    private readonly load: Child<LoadDialogue>,
    private readonly apiKey: string,
    private readonly share: number,
    private readonly rounds: number,
  ) {}

  async rates({ target, count }: Read, servers: readonly Server[]): Promise<readonly (readonly number[])[]> {
    const times = Math.ceil(count * this.share);
    return inTurn(servers, { rounds: this.rounds, warmUps: this.rounds > 1 ? 1 : 0 }, async ({ process, port }) => {
      const targets = this.#targets(target, times);
      const given = { port, connections: CONNECTIONS, targets, apiKey: this.apiKey, count: times };
      return times / (await cpuSecondsOf(process, () => this.load.ask('GET_ALL', given)));
    });
  }

  /** p99 in each round, and the curve of the last. */
  async latencies(
    target: Read['target'],
    perSecond: number,
    servers: readonly Server[],
  ): Promise<{ p99: readonly number[][]; last: Percentiles[] }> {
    const count = Math.ceil(LATENCY_SECONDS * perSecond * this.share);
    const last: Percentiles[] = [];
    const p99 = await inTurn(servers, { rounds: this.rounds, warmUps: 0 }, async (server) => {
      const targets = this.#targets(target, count);
      const given = { port: server.port, connections: CONNECTIONS, targets, apiKey: this.apiKey, count, perSecond };
      const points = await this.load.ask('GET_AT_RATE', given);
      last[servers.indexOf(server)] = points;
      return microsAt(points, 99);
    });
    return { p99: p99.map((each) => [...each]), last };
  }

  #targets(target: Read['target'], count: number): string[] {
    if (typeof target === 'string') return [target];
    this.#asked += count;
    return Array.from({ length: count }, (_, i) => target(this.#asked - i));
  }
}

export const readRoutes: Scenario = {
  name: 'reads',
  title: 'Reads over HTTP',
  workload: `GET /quotes with 10 of 1,000 resting quotes in the answer, and GET /orders of a pool with 100, over 16 kept-alive
connections. The book stands still, so the answers are cached; *each of its own size* makes every query a new one. A
bare uWebSockets.js route and a bare node:http server send the same bytes, without a key. Requests per CPU second come
from a closed loop, p99 from an open loop at 1,000 (GET /orders: 250) requests a second.`,
  async run(scale) {
    const isFull = scale === 'full';
    return withChildren(
      [openQuotebook(), openBareUws(), openNodeHttp(), openLoad()] as const,
      async (quotebook, uws, node, load) => {
        const apiKey = await quotebook.ask('KEY', null);
        await quotebook.ask('FILL_POOL', QUOTES_POOL);
        await quotebook.ask('FILL_POOL', ORDERS_POOL);
        const ours: Server = { process: quotebook, port: await quotebook.ask('PORT', null) };
        const again: Server = { ...ours };
        const bare: Server = { process: uws, port: await uws.ask('PORT', null) };
        const plain: Server = { process: node, port: await node.ask('PORT', null) };
        const bench = new Bench(load, apiKey, isFull ? 1 : 0.005, isFull ? 6 : 1);
        const rows: Row[] = [];
        const curves: LatencyCurve[] = [];
        for (const read of reads) {
          const body = await load.ask('FETCH', {
            port: ours.port,
            target: typeof read.target === 'string' ? read.target : read.target(1),
            apiKey,
          });
          await Promise.all([uws.ask('ANSWER_WITH', body), node.ask('ANSWER_WITH', body)]);
          const [mine = [], mineAgain = [], uwsRates = [], nodeRates = []] = await bench.rates(read, [
            ours,
            again,
            bare,
            plain,
          ]);
          const unit = 'per CPU s';
          rows.push(
            rowOf(
              read.label,
              { ours: mine, again: mineAgain, theirs: uwsRates },
              'bare uWebSockets.js',
              atLeast(read.goal),
              unit,
            ),
          );
          rows.push(
            rowOf(read.label, { ours: mine, again: mineAgain, theirs: nodeRates }, 'node:http', atLeast(2), unit),
          );
          if (read.perSecond === null) continue;
          const { p99, last } = await bench.latencies(read.target, read.perSecond, [ours, again, bare]);
          rows.push(latencyRow(`${read.label}, p99`, p99));
          curves.push(
            { label: read.label, points: last[0] ?? [] },
            { label: `${read.label}, bare`, points: last[2] ?? [] },
          );
        }
        return { rows, curves };
      },
    );
  },
};

/** Rounds of ours, ours again, and the bare server's, in microseconds. */
function latencyRow(label: string, [ours = [], again = [], theirs = []]: readonly (readonly number[])[]): Row {
  return {
    label,
    ours: { value: median(ours), unit: 'us' },
    baseline: { value: median(theirs), unit: 'us', name: 'bare uWebSockets.js' },
    ratio: median(ours.map((micros, round) => micros / (theirs[round] ?? NaN))),
    goal: atMost(1.5),
    noise: median(ours.map((micros, round) => Math.abs(micros / (again[round] ?? NaN) - 1))),
  };
}
