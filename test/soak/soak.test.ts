import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { BaseError } from 'viem';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { Following } from '../chain/following.js';
import { RpcProxy, type Trick } from '../chain/rpc-proxy.js';
import { signOffer, type SignedOffer } from '../chain/sign-quote.js';
import { DevActions, Reverted } from '../chain/dev-actions.js';
import { ONE } from '../e2e/maker.js';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';
import { RestClient } from '../e2e/rest-client.js';
import { Client } from '../net/socket-client.js';
import { ServiceProcess } from '../faults/service-process.js';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 1_800);
const SAMPLE_MS = 1_000;
/**
 * Between the second quarter of the time and its last. What is alive grows until the memory of recent events is full
 * (`recentEvents`, about 32 MB: ten minutes here); what is resident grows also by garbage that has not been collected
 * yet, most of all in a short run.
 */
const MAX_LIVE_GROWTH_BYTES = SECONDS < 300 ? 16 << 20 : 32 << 20;
const MAX_RESIDENT_GROWTH_BYTES = SECONDS < 600 ? 128 << 20 : 64 << 20;
/**
 * Full garbage collections before growth is looked at: the service warms up during the first eight, however long a
 * machine takes for them. A slow one (six in two minutes were seen) is given more time, so many times as much at most.
 */
const ENOUGH_COLLECTIONS = 16;
const MOST_TIMES_AS_LONG = 4;
const REORG_DEPTH = 3;
const seed = Number(process.env.SOAK_SEED ?? Date.now() % 2 ** 31);

t.setTimeout(MOST_TIMES_AS_LONG * SECONDS * 1_000 + 180_000);
t.comment(`SOAK_SEED=${seed}, ${SECONDS} s`);

interface Shown {
  readonly quoteId: string;
  readonly fillableSize: string;
}

interface OrdersJson {
  readonly validQuotes: readonly Shown[];
  readonly invalidQuotes: readonly { readonly quote: Shown }[];
}

/** A different draw each time it is asked, all of them from the one seed. */
const draws = fc.sample(fc.nat(), { numRuns: 10_000, seed });
let drawn = 0;
const draw = (below: number): number => (draws[drawn++ % draws.length] ?? 0) % below;

const chain = await startLocalChain();
// Before `testdir`: tap clears that away, and tears down, in the order in which the first of each was asked for.
t.teardown(() => chain.stop());
const proxy = await RpcProxy.open(chain.rpcUrl);
const behindProxy = { ...chain.profile.settlement, rpcUrls: [proxy.url] };
const profile = { ...chain.profile, settlement: behindProxy, stream: behindProxy };
const service = await ServiceProcess.prepare({ ...chain, profile } satisfies LocalChain, t.testdir());
/**
 * Megabytes that the program's main thread has alive after each full garbage collection, as V8 tells: "[pid:isolate]
 * ... 58.5 (127.0) -> 37.7".
 */
const alive: number[] = [];
let mainThread: string | undefined;
// Left to itself V8 collects all but three times in two minutes, which is too seldom to tell growth from warming up.
await service.start(['--trace-gc', '--heap-growing-percent=20'], (text) => {
  for (const [, thread, megabytes] of text.matchAll(/^\[\d+:(\w+)\].*Mark-Compact.*? -> ([\d.]+) /gm)) {
    mainThread ??= thread;
    if (thread === mainThread) alive.push(Number(megabytes));
  }
});
t.teardown(async () => {
  await service.end('SIGKILL');
  proxy.close();
});
const rest = new RestClient(service.httpUrl, service.apiKey);
const actions = new DevActions(chain);
const offers: SignedOffer[] = [];
const beganMs = performance.now();
const goesOn = (): boolean => {
  const seconds = (performance.now() - beganMs) / 1_000;
  return seconds < (alive.length < ENOUGH_COLLECTIONS ? MOST_TIMES_AS_LONG * SECONDS : SECONDS);
};
const done = { quotes: 0, reads: 0, sockets: 0, chain: 0, refused: 0 };

/** Posts batch after batch; most quotes live for some seconds only, so that the book does not grow without end. */
async function post(): Promise<void> {
  while (goesOn()) {
    const maker = chain.accounts[1 + draw(2)];
    const pool = chain.pools[draw(6)];
    if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
    const now = await actions.now();
    const batch = await Promise.all(
      Array.from({ length: 1 + draw(8) }, () => {
        const deadline = now + 15 + draw(60);
        const price = ONE / 20n + BigInt(draw(1_000));
        return signOffer(maker, chain.chainId, { pool, price, size: ONE / 100n, isBuy: draw(2) === 0, deadline });
      }),
    );
    const body = batch.map(({ pool, provider, taker, price, size, isBuy, deadline, salt, signature }) => {
      const poolKey = { ...pool.poolKey, strike: String(pool.poolKey.strike) };
      const amounts = { price: String(price), size: String(size) };
      return { poolKey, chainId: String(chain.chainId), provider, taker, ...amounts, isBuy, deadline, salt, signature };
    });
    const { status } = await rest.post('/quotes', body);
    // 503: while the chain is stale; 504: a reorg took its transaction back. Anything else that is no success is a
    // fault.
    if (status === 201) {
      done.quotes += batch.length;
      offers.push(...batch);
      if (offers.length > 200) offers.splice(0, 100);
    } else if ([200, 503, 504].includes(status)) done.refused++;
    else throw new Error(`POST /quotes: ${status}`);
    await pause(20 + draw(100));
  }
}

async function read(): Promise<void> {
  while (goesOn()) {
    const pool = chain.pools[draw(6)]?.poolAddress;
    const side = draw(2) === 0 ? 'ask' : 'bid';
    const { status } = await rest.get(`/quotes?poolAddress=${pool}&side=${side}&size=${ONE}&chainId=${chain.chainId}`);
    if (status !== 200) throw new Error(`GET /quotes: ${status}`);
    done.reads++;
    await pause(5);
  }
}

/** Comes, listens for a while, and goes, politely or not. */
async function listen(): Promise<void> {
  while (goesOn()) {
    const protocols = draw(2) === 0 ? [] : ['quotebook.v2.json'];
    const client = await Client.open(service.httpUrl.replace('http', 'ws'), protocols);
    client.ws.send(JSON.stringify({ type: 'AUTH', apiKey: service.apiKey, body: null }));
    client.ws.send(JSON.stringify({ type: 'FILTER', channel: 'QUOTES', body: { chainId: String(chain.chainId) } }));
    await client.has(2);
    await pause(draw(2_000));
    if (draw(2) === 0) client.ws.terminate();
    else client.ws.close();
    await client.closed;
    const channel = client.ws.protocol === '' ? 'plain' : 'v2';
    for (const [text] of client.received) assertDocumentedFrame(JSON.parse(text), channel);
    done.sockets++;
  }
}

/** What happens on the chain beside publications. What the contracts refuse does not happen. */
async function live(): Promise<void> {
  const taker = chain.accounts[3]?.address ?? ZERO_ADDRESS;
  while (goesOn()) {
    const offer = offers[draw(Math.max(1, offers.length))];
    if (offer !== undefined) {
      const token = chain.tokens.USDC ?? ZERO_ADDRESS;
      const router = chain.contracts.erc20Router;
      const happenings = [
        () => actions.fill(taker, offer, offer.size / 2n),
        () => actions.fill(taker, offer, offer.size),
        () => actions.cancel(offer.provider, offer.pool.poolAddress, [offer.quoteId]),
        () => actions.approve(offer.provider, token, router, 0n),
        () => actions.approve(offer.provider, token, router),
        () => actions.reorg(1 + draw(REORG_DEPTH)),
      ];
      await happenings[draw(happenings.length)]?.().catch((error: unknown) => {
        if (!(error instanceof BaseError) && !(error instanceof Reverted)) throw error;
      });
      done.chain++;
    }
    await pause(200 + draw(500));
  }
}

/** Now and then the node is slow, refuses, or is gone for a second. */
async function trouble(): Promise<void> {
  const tricks: Trick[] = [
    'CUT',
    { status: 429, headers: { 'retry-after': '1' }, body: '' },
    { status: 502, body: '<html>Bad gateway</html>' },
    { error: { code: -32005, message: 'limit exceeded' } },
  ];
  while (goesOn()) {
    await pause(3_000 + draw(5_000));
    const trick = tricks[draw(tricks.length)] ?? 'CUT';
    proxy.trick = () => (draw(2) === 0 ? trick : 'PASS');
    await pause(500 + draw(1_000));
    proxy.trick = () => 'PASS';
    proxy.requests.length = 0;
  }
}

async function memory(): Promise<number[]> {
  const samples: number[] = [];
  while (goesOn()) {
    await pause(SAMPLE_MS);
    samples.push(service.usage().rssBytes);
  }
  return samples;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN;

const [samples] = await Promise.all([
  memory(),
  post(),
  post(),
  read(),
  listen(),
  listen(),
  listen(),
  live(),
  trouble(),
]);
t.comment(JSON.stringify(done));
t.ok(service.isRunning, 'the service lives');
t.ok(done.quotes > SECONDS && done.chain > SECONDS / 2, 'there was load');

function growth(samples: readonly number[]): number {
  const quarter = Math.floor(samples.length / 4);
  return median(samples.slice(-quarter)) - median(samples.slice(quarter, 2 * quarter));
}
const liveGrowth = growth(alive) * 2 ** 20;
const residentGrowth = growth(samples);
t.comment(`memory alive, in MB: ${alive.join(' ')}`);
t.ok(alive.length >= ENOUGH_COLLECTIONS, `all garbage was collected ${alive.length} times: often enough to compare`);
t.ok(liveGrowth < MAX_LIVE_GROWTH_BYTES, `what is alive grew by ${(liveGrowth / 2 ** 20).toFixed(1)} MiB`);
t.ok(
  residentGrowth < MAX_RESIDENT_GROWTH_BYTES,
  `resident memory grew by ${(residentGrowth / 2 ** 20).toFixed(1)} MiB`,
);

await t.test('at the end the book is the one that a fresh reading of the chain gives', async (t) => {
  const fresh = await Following.start({ profile: chain.profile, startMs: (await actions.now()) * 1_000 });
  t.teardown(() => fresh.stop());
  const clients = { settlement: actions.client, stream: actions.client };
  const shown = async (): Promise<string[]> => {
    const { body } = await rest.get(`/orders?chainId=${chain.chainId}`);
    const { validQuotes, invalidQuotes } = body as unknown as OrdersJson;
    return [
      ...validQuotes.map(({ quoteId, fillableSize }) => `${quoteId} ${fillableSize} valid`),
      ...invalidQuotes.map(({ quote: { quoteId, fillableSize } }) => `${quoteId} ${fillableSize} invalid`),
    ].sort();
  };
  const read = async (): Promise<string[]> => {
    await fresh.upToDate(clients);
    fresh.sequencer.submit({ type: 'TICK' });
    return [...fresh.engine.known()]
      .map(
        ({ quote, fillableSize, state }) =>
          `${quote.quoteId} ${fillableSize} ${state === 'live' ? 'valid' : 'invalid'}`,
      )
      .sort();
  };
  // Both expire quotes by their own time, within a second of each other: looked at until they agree, or do not for
  // long.
  let [ours, theirs] = [await shown(), await read()];
  for (let left = 100; left > 0 && ours.join() !== theirs.join(); left--) {
    await actions.client.mine({ blocks: 1 });
    await pause(100);
    [ours, theirs] = [await shown(), await read()];
  }
  const inOne = [...ours.filter((line) => !theirs.includes(line)), ...theirs.filter((line) => !ours.includes(line))];
  for (const quoteId of new Set(inOne.map((line) => line.split(' ')[0]))) {
    t.comment(JSON.stringify((await rest.get(`/quotes/${quoteId}/history`)).body));
  }
  t.strictSame(ours, theirs, `${theirs.length} quotes`);
});
