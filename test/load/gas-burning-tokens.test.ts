import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { concat, encodeEventTopics, numberToHex } from 'viem';
import { erc20Abi } from '../../src/chain/contracts/abi.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Market } from '../chain/dev/market.js';
import { burnsWhenAsked } from '../chain/hostile-contracts.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { SocketClient } from '../e2e/socket-client.js';
import { ServiceProcess } from '../faults/service-process.js';

const QUOTES = 1_000;
const POOLS = 20;
const ONE = 10n ** 18n;
/** Of each phase. */
const SAMPLES = 300;
const WARM_UP_SAMPLES = 100;
/** Faster than the chain's own 250 ms, so that hardly a block is without a transfer. */
const BLOCK_MS = 100;
const MOST_TIMES_CALM = 3;
/** Below this a ratio tells of the scheduler of a shared machine, not of the service. */
const NOISE_MS = 150;

t.setTimeout(540_000);

const market = await Market.open(t);
const { chain, client, maker, taker, stranger } = market;
const service = await ServiceProcess.prepare(chain, t.testdir());
t.teardown(() => service.end('SIGKILL'));
await service.start();
const rest = new RestClient(service.httpUrl, service.apiKey);

/** Half of the pools are on each of two tokens. */
const tokens = [market.token('PREMIA'), market.token('LINK')] as const;
const honestPool = market.pool('testWETH', 1800n, true);
const hostilePools: Pool[] = [];
for (let i = 0; i < POOLS; i++) {
  const base = tokens[i % 2] ?? tokens[0];
  const poolKey = { ...honestPool.poolKey, base, strike: BigInt(1_000 + 100 * (i >> 1)) * ONE };
  hostilePools.push({ poolKey, poolAddress: await market.deployPool(stranger.address, poolKey) });
}

async function publishHostile(): Promise<void> {
  for (const pool of hostilePools) {
    const offers = await Promise.all(
      Array.from({ length: QUOTES / POOLS }, () => market.sign(pool, { size: ONE / 1_000n })),
    );
    await market.publish(stranger.address, offers);
  }
}

/** How many of the maker's quotes the service lists as valid. */
async function countValid(): Promise<number> {
  const { body } = await rest.get('/orders?chainId=421613');
  const valid = body.validQuotes as { provider: string }[];
  return valid.filter(({ provider }) => provider === maker.address.toLowerCase()).length;
}

/** Sends `data` to one of these after the other, all of them once in `BLOCK_MS`, until it is stopped. */
function everyBlock(targets: readonly Hex[], data: Hex): () => Promise<void> {
  const end = new AbortController();
  const sending = (async () => {
    for (let i = 0; !end.signal.aborted; i++) {
      const to = targets[i % targets.length] ?? null;
      await client.sendTransaction({ account: stranger.address, to, data, gas: 200_000n });
      await setTimeout(BLOCK_MS / targets.length);
    }
  })();
  return async () => {
    end.abort();
    await sending;
  };
}

/** Times from the POST to the push of one quote after the other, and what the POSTs were answered. */
async function measure(samples = SAMPLES): Promise<{ timesMs: number[]; statuses: Set<number> }> {
  const socket = await SocketClient.open(service.httpUrl.replace('http', 'ws'));
  await socket.auth(service.apiKey);
  const body = { chainId: '421613', poolAddress: honestPool.poolAddress };
  await socket.ask({ type: 'FILTER', channel: 'QUOTES', body });
  const timesMs: number[] = [];
  const statuses = new Set<number>();
  for (let i = 0; i < samples; i++) {
    const quote = await signQuote(taker.privateKey, honestPool, { size: ONE / 1_000n });
    const sinceMs = performance.now();
    const pushedAtMs = socket.next().then(() => performance.now());
    const { status } = await rest.post('/quotes', [quote]);
    statuses.add(status);
    if (status !== 201) break;
    timesMs.push((await pushedAtMs) - sinceMs);
  }
  socket.end();
  return { timesMs: timesMs.sort((a, b) => a - b), statuses };
}

const percentile = (sorted: readonly number[], of: number): number => sorted[Math.ceil(sorted.length * of) - 1] ?? NaN;
const told = (what: string, timesMs: readonly number[]): string =>
  `add -> push ${what}: ` +
  [0.5, 0.9, 0.99, 1].map((of) => `p${of * 100} ${percentile(timesMs, of).toFixed(0)} ms`).join(', ');

await publishHostile();
const nothing: Hex = '0x000000000000000000000000000000000000c0de';
const quiet = everyBlock([nothing, nothing], '0x');
await measure(WARM_UP_SAMPLES);
const calm = await measure();
await quiet();
const validBefore = await countValid();

const fromMaker = { from: maker.address, to: maker.address };
const topics = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer', args: fromMaker }) as Hex[];
const code = burnsWhenAsked(topics.length as 3);
for (const address of tokens) await client.setCode({ address, bytecode: code });
const attack = everyBlock(tokens, concat([...topics, numberToHex(1n, { size: 32 })]));
const attacked = await measure();
await attack();
const validAfter = await countValid();

t.comment(told('calm', calm.timesMs));
t.comment(told('attacked', attacked.timesMs));
t.equal(validBefore, QUOTES, 'before the attack all of its quotes are valid');
t.equal(validAfter, 0, 'and none of them afterwards');
t.strictSame([...attacked.statuses], [201], 'no POST was refused');
const [calmMs, attackedMs] = [calm, attacked].map(({ timesMs }) => percentile(timesMs, 0.99)) as [number, number];
t.ok(
  attackedMs <= Math.max(MOST_TIMES_CALM * calmMs, NOISE_MS),
  `p99 ${attackedMs.toFixed(0)} ms, calm ${calmMs.toFixed(0)} ms`,
);
