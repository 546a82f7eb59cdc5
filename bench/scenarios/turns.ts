import { median } from '../contest.js';
import { HttpConnection } from '../load/http-connection.js';
import { postingOf } from '../load/posted-quotes.js';
import type { LoadDialogue } from '../load/load.js';
import { withChildren, type Child } from '../processes/child.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import type { QuotebookDialogue } from '../servers/quotebook.js';
import { atMost, type Row, type Scenario } from '../scenario.js';
import { AnvilMakers } from '../workload/anvil-quotes.js';
import { poolOf, START_SECONDS } from '../workload/quotes.js';
import { CHAIN_ID } from '../workload/signed-quotes.js';
import { openLoad, openQuotebook } from './served.js';
import { openOnAnvil } from './whole-path.js';

const LARGEST_POOL = 32;
const FIRST_SALT = 1_950_000_000;
/** Shorter times do not differ measurably, in milliseconds. */
const LEAST_MS = 0.01;
/** Longest turn of the event loop for one request, and while a snapshot is made, milliseconds. */
const LONGEST_MS = 20;
const LONGEST_BY_SNAPSHOT_MS = 10;
const LONGEST_ON_ANVIL_MS = 15;
const SNAPSHOT_POOLS = 10;

/** The median over several requests of the longest turn that each made; `prepare` makes what is then sent. */
async function rowOf(
  label: string,
  times: number,
  server: Child<ServerDialogue>,
  prepare: () => Promise<() => Promise<unknown>>,
  goalMs = LONGEST_MS,
): Promise<Row> {
  const longest: number[] = [];
  const idle: number[] = [];
  // The first request is the compiler's.
  for (let i = 0; i <= times; i++) {
    const send = await prepare();
    await server.ask('WATCH_TURNS', null);
    const start = performance.now();
    await send();
    const tookMs = performance.now() - start;
    const ms = await server.ask('LONGEST_TURN', null);
    await server.ask('WATCH_TURNS', null);
    await new Promise((resolve) => setTimeout(resolve, tookMs));
    const idleMs = await server.ask('LONGEST_TURN', null);
    if (i === 0) continue;
    longest.push(ms);
    idle.push(Math.max(LEAST_MS, idleMs));
  }
  const ours = { value: median(longest), unit: 'ms' };
  return {
    label,
    ours,
    baseline: { value: median(idle), unit: 'ms', name: 'idle' },
    ratio: null,
    goal: atMost(goalMs, 'ours'),
    noise: null,
  };
}

class Posts {
  #salt = START_SECONDS;

  constructor(
    private readonly load: Child<LoadDialogue>,
    private readonly port: number,
    private readonly apiKey: string,
  ) {}

  /** One request, signed; sending it is what the result does. */
  async sign(batch: number): Promise<() => Promise<number>> {
    await this.load.ask('SIGN', { requests: 1, batch, apiKey: this.apiKey, firstSalt: this.#salt });
    this.#salt += batch;
    return () => this.load.ask('POST_ALL', { port: this.port, connections: 1 });
  }
}

/** Snapshots one after the other, each of a few records more. */
async function whileSnapshot(server: Child<QuotebookDialogue>, quotes: number, times: number): Promise<Row> {
  const inPool = Math.ceil(quotes / SNAPSHOT_POOLS);
  for (let pool = 1; pool <= SNAPSHOT_POOLS; pool++) {
    await server.ask('FILL_POOL', { pool: LARGEST_POOL + pool, quotes: inPool });
  }
  const prepare = async (): Promise<() => Promise<unknown>> => {
    await server.ask('FILL_POOL', { pool: LARGEST_POOL + SNAPSHOT_POOLS + 1, quotes: 10 });
    return () => server.ask('SNAPSHOT', null);
  };
  const label = `A snapshot of ${quotes.toLocaleString('en-US')} quotes`;
  return rowOf(label, times, server, prepare, LONGEST_BY_SNAPSHOT_MS);
}

/** Quotes of one pool that all run out of time in the same second, as they do at its maturity. */
async function whileExpiring(server: Child<QuotebookDialogue>, quotes: number, times: number): Promise<Row> {
  let deadline = START_SECONDS;
  const prepare = async (): Promise<() => Promise<unknown>> => {
    deadline += 1;
    await server.ask('FILL_POOL', { pool: LARGEST_POOL + SNAPSHOT_POOLS + 2, quotes, deadline });
    return () => server.ask('EXPIRE', { second: deadline + 1 });
  };
  return rowOf(`${quotes.toLocaleString('en-US')} quotes that expire at once`, times, server, prepare);
}

async function onAnvil(batch: number, times: number): Promise<Row> {
  return withChildren([openOnAnvil()] as const, async (server) => {
    const setup = await server.ask('SETUP', null);
    const apiKey = await server.ask('KEY', null);
    const connection = await HttpConnection.open(await server.ask('PORT', null));
    const makers = AnvilMakers.open(setup, FIRST_SALT);
    const label = `POST /quotes of ${batch.toLocaleString('en-US')}, on anvil`;
    try {
      const prepare = (): Promise<() => Promise<void>> => {
        const posting = postingOf(makers.sign(batch), apiKey);
        return Promise.resolve(async () => {
          const { status } = await connection.request(posting);
          if (status !== 201) throw new Error(`Answered with ${status}`);
        });
      };
      return await rowOf(label, times, server, prepare, LONGEST_ON_ANVIL_MS);
    } finally {
      connection.close();
    }
  });
}

export const turns: Scenario = {
  name: 'turns',
  title: 'Turns of the event loop',
  workload: `The longest time between two turns of the service's event loop during a snapshot of its book, and during the largest
requests: \`monitorEventLoopDelay\` at 1 ms, median over several requests. Garbage collection and other programs
count, too: the baseline is the same process doing nothing.`,
  async run(scale) {
    const isFull = scale === 'full';
    const times = isFull ? 7 : 1;
    const batch = isFull ? 1000 : 20;
    const rows = await withChildren([openQuotebook(), openLoad()] as const, async (quotebook, load) => {
      const server = quotebook;
      const apiKey = await quotebook.ask('KEY', null);
      const port = await quotebook.ask('PORT', null);
      const posts = new Posts(load, port, apiKey);
      const post = `POST /quotes of ${batch.toLocaleString('en-US')}`;
      const posted = await rowOf(post, times, server, () => posts.sign(batch));
      const orders = isFull ? 10_000 : 100;
      await quotebook.ask('FILL_POOL', { pool: LARGEST_POOL, quotes: orders });
      const target = `/orders?chainId=${CHAIN_ID}&poolAddress=${poolOf(LARGEST_POOL).poolAddress}`;
      const request = { port, connections: 1, targets: [target], apiKey, count: 1 };
      const label = `GET /orders of ${orders.toLocaleString('en-US')}`;
      const got = await rowOf(label, times, server, () => Promise.resolve(() => load.ask('GET_ALL', request)));
      const expired = await whileExpiring(server, isFull ? 20_000 : 1000, times);
      return [posted, got, expired, await whileSnapshot(server, isFull ? 100_000 : 1000, times)];
    });
    // Starting a chain takes longer than all else that a tiny run does; the whole path's has one.
    return { rows: isFull ? [...rows, await onAnvil(batch, 3)] : rows };
  },
};
