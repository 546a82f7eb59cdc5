import { setTimeout as pause } from 'node:timers/promises';
import { encodeFunctionData, parseAbi } from 'viem';
import { ViemWatcher } from '../baselines/viem-watcher.js';
import { devClient } from '../../src/chain/dev/dev-client.js';
import { LOCAL_CHAIN_ID } from '../../src/chain/dev/local-chain.js';
import { limits } from '../../src/config/limits.js';
import { HttpConnection } from '../load/http-connection.js';
import { postingOf } from '../load/posted-quotes.js';
import { type Child, withChildren } from '../processes/child.js';
import { atMost, type Row, type Scenario } from '../scenario.js';
import type { AnvilDialogue, AnvilSetup } from '../servers/on-anvil.js';
import { AnvilMakers } from '../workload/anvil-quotes.js';
import { openOnAnvil } from './whole-path.js';

/** Blocks of a chain that has four a second, as Arbitrum. */
const BLOCK_MS = 250;
const SETTLE_MS = 2_000;
const FIRST_SALT = 1_800_000_000;
const BLOCKS_WITH_QUOTES = 4;
const QUOTES_PER_BLOCK = 20;

const transferAbi = parseAbi(['function transfer(address, uint256) returns (bool)']);

/** A chain, the service that follows it as both of its chains, and the same by viem. */
interface Followed {
  readonly server: Child<AnvilDialogue>;
  readonly setup: AnvilSetup;
  readonly watcher: ViemWatcher;
  readonly client: ReturnType<typeof devClient>;
}

interface Case {
  readonly label: string;
  /** Calls a second at most: with subscriptions to the chains, and without. */
  readonly goals: readonly [subscribed: number, polling: number];
  /** What happens on the chain once in `BLOCK_MS`. */
  readonly act?: (followed: Followed) => Promise<unknown>;
}

const cases: readonly Case[] = [
  { label: 'no block', goals: [0.5, 4] },
  { label: '4 empty blocks a second', goals: [2.5, 8], act: ({ client }) => client.mine({ blocks: 1 }) },
  {
    label: '4 blocks a second, each with a transfer to a maker',
    goals: [8, 14],
    act: ({ client, setup: { accounts, token } }) => {
      const [from, to] = [accounts.at(-1)?.address, accounts[1]?.address];
      if (from === undefined || to === undefined) throw new Error('The local chain has accounts');
      const data = encodeFunctionData({ abi: transferAbi, args: [to, 1n] });
      return client.sendTransaction({ account: from, to: token, data });
    },
  },
];

/** With quotes in the book: a maker's transfers concern the service, and the announced headers have been found true. */
async function follow(server: Child<AnvilDialogue>): Promise<Followed> {
  const setup = await server.ask('SETUP', null);
  const apiKey = await server.ask('KEY', null);
  const makers = AnvilMakers.open(setup, FIRST_SALT);
  const connection = await HttpConnection.open(await server.ask('PORT', null));
  for (let block = 0; block < BLOCKS_WITH_QUOTES; block += 1) {
    const { status } = await connection.request(postingOf(makers.sign(QUOTES_PER_BLOCK), apiKey));
    if (status !== 201) throw new Error(`POST /quotes: ${status}`);
  }
  connection.close();
  const addresses = [setup.orderbookStream, setup.token, ...setup.pools.slice(0, 1).map((pool) => pool.poolAddress)];
  // Both of its chains are this one.
  const watcher = new ViemWatcher(setup.rpcUrl, addresses, limits.chainPollMs);
  return { server, setup, watcher, client: devClient(setup.rpcUrl, LOCAL_CHAIN_ID) };
}

/** Calls a second, of the service and of viem, while `act` runs once in `BLOCK_MS`. */
async function rates(followed: Followed, act: Case['act'], seconds: number): Promise<[ours: number, viems: number]> {
  const count = async (): Promise<[number, number]> => [
    await followed.server.ask('RPC_CALLS', null),
    followed.watcher.calls,
  ];
  const before = await count();
  const startMs = performance.now();
  for (let n = 1; n * BLOCK_MS <= seconds * 1000; n += 1) {
    await act?.(followed);
    await pause(Math.max(0, startMs + n * BLOCK_MS - performance.now()));
  }
  const after = await count();
  // Of the schedule: a last timer that comes a millisecond early would make more calls a second of as many.
  return [(after[0] - before[0]) / seconds, (after[1] - before[1]) / seconds];
}

export const rpcCalls: Scenario = {
  name: 'rpc-calls',
  title: 'JSON-RPC calls',
  workload: `The whole service follows a local chain as both of its chains, once with subscriptions to heads and logs and once
without; each entry of a batch counts. The baseline is viem's own watching of blocks and of the logs of three contracts, at
the same interval.`,
  async run(scale) {
    const seconds = scale === 'full' ? 15 : 1;
    return withChildren([openOnAnvil(), openOnAnvil('polling')] as const, async (...servers) => {
      const followed = await Promise.all(servers.map(follow));
      const rows: Row[] = [];
      for (const { label, goals, act } of cases) {
        await pause(scale === 'full' ? SETTLE_MS : 0);
        const found = await Promise.all(followed.map((each) => rates(each, act, seconds)));
        for (const [i, [ours, viems]] of found.entries()) {
          rows.push({
            label: `${label}, ${i === 0 ? 'with' : 'without'} subscriptions`,
            ours: { value: ours, unit: 'calls/s' },
            baseline: { value: viems, unit: 'calls/s', name: 'viem' },
            // In a short run there may be no call at all.
            ratio: ours > 0 ? ours / viems : null,
            goal: atMost(goals[i] ?? NaN, 'ours'),
            noise: null,
          });
        }
      }
      for (const { watcher } of followed) watcher.stop();
      return { rows };
    });
  },
};
