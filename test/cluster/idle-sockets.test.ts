import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { median } from '../../bench/contest.js';
import type { LoadDialogue } from '../../bench/load/load.js';
import { Child } from '../../bench/processes/child.js';
import type { ServerDialogue } from '../../bench/processes/dialogue.js';
import { openBareUws, openLoad } from '../../bench/scenarios/served.js';
import { enterQuote } from '../../bench/servers/chains-at-once.js';
import type { GatewayPlace } from '../../bench/servers/gateway.js';
import { FreshNumbers } from '../../bench/servers/telling.js';
import { START_SECONDS } from '../../bench/workload/quotes.js';
import { toldQuotes } from '../../bench/workload/told-quotes.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { ClusterKeyFiles } from '../../src/cluster/kept-values.js';
import { type ChainNews, publishNews } from '../../src/cluster/members.js';
import { limits } from '../../src/config/limits.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { connectTo, natsServers } from './nats-servers.js';
import { leadStream, type StreamLeader } from './stream-leader.js';

const isLong = process.env.QUOTEBOOK_ROUNDS !== undefined;
const TOTAL = Number(process.env.QUOTEBOOK_SOCKETS ?? (isLong ? 100_000 : 1_000));
/** Descriptors that a process needs beside its sockets. */
const OWN_DESCRIPTORS = 1_000;
const DESCRIPTORS = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }));
/** Four; more where each would have more sockets than descriptors. */
const GATEWAYS = Math.max(4, Math.ceil(TOTAL / (DESCRIPTORS - OWN_DESCRIPTORS)));
/** Of each gateway. From one address to one port there can be some 28,000. */
const SOCKETS = Math.ceil(TOTAL / GATEWAYS);
const ROUNDS = isLong ? 5 : 2;
const BURST = { bursts: 1, perBurst: 16, everyMs: 1 };
const IDLE_MS = isLong ? 20_000 : 1_000;
/** The goal is of an idle machine with many sockets; the ratio is printed. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const GOAL = 0.85;
const NEWS_MS = 500;

interface Crowded {
  readonly server: Child<ServerDialogue>;
  readonly load: Child<LoadDialogue>;
}

interface Delivery {
  readonly messages: number;
  readonly perCpuSecond: number;
}

async function openGateways(t: Test) {
  const servers = await natsServers(t);
  const leader = await leadStream(t, servers);
  const files = await ClusterKeyFiles.open(await connectTo(t, servers, { member: 'admin' }));
  const keys = await KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize: limits.keyCache });
  t.teardown(() => keys.close());
  const { key: apiKey } = await keys.create('paid', 'bench');
  const healthy: ChainNews = { head: null, stale: null, failure: null, readTo: null };
  const news = publishNews(leader.cluster, systemClock, NEWS_MS, () => ({
    member: 'engine-1',
    term: leader.term,
    seq: leader.acknowledgedSeq(),
    group: 0,
    engineMs: START_SECONDS * 1000,
    caughtUp: true,
    refusal: null,
    chains: { settlement: healthy, stream: healthy },
    wallet: null,
  }));
  t.teardown(() => news.stop());
  const gateways = Array.from({ length: GATEWAYS }, (_, n): Crowded => {
    const place: GatewayPlace = {
      servers: servers.nodes.map(({ url }) => url),
      monitors: servers.nodes.map(({ monitorUrl }) => monitorUrl),
      deployment: leader.cluster.options.deployment,
      member: `gateway-${n + 1}`,
    };
    const module = new URL('../../bench/servers/gateway.js', import.meta.url);
    const server = new Child<ServerDialogue>(module, [JSON.stringify(place)], ['--expose-gc']);
    t.teardown(() => server.stop());
    return { server, load: openLoader(t) };
  });
  return { leader, apiKey, gateways };
}

function openLoader(t: Test): Child<LoadDialogue> {
  const load = openLoad();
  t.teardown(() => load.stop());
  return load;
}

/** Has `publish` done, and counts what each crowd got for each CPU second of its server. */
async function deliver(
  crowds: readonly Crowded[],
  telling: typeof BURST & { readonly first: number },
  publish: () => Promise<unknown>,
): Promise<Delivery[]> {
  const expected = { first: telling.first, count: telling.bursts * telling.perBurst };
  await Promise.all(crowds.map(({ load }) => load.ask('EXPECT', expected)));
  const before = await Promise.all(crowds.map(({ server }) => server.ask('CPU', null)));
  await publish();
  return Promise.all(
    crowds.map(async ({ server, load }, n) => {
      const { wrong, messages } = await load.ask('RECEIVED', null);
      if (wrong > 0) throw new Error(`${wrong} sockets did not get every event in order`);
      const micros = (await server.ask('CPU', null)) - (before[n] ?? NaN);
      return { messages, perCpuSecond: messages / (micros / 1e6) };
    }),
  );
}

/** Of each server, over the rounds: all its messages, and the median of its rates. */
async function rounds(servers: readonly unknown[], round: () => Promise<readonly Delivery[]>): Promise<Delivery[]> {
  // The first is the compiler's.
  await round();
  const all: (readonly Delivery[])[] = [];
  while (all.length < ROUNDS) all.push(await round());
  return servers.map((_, n) => {
    const own = all.flatMap((each) => each[n] ?? []);
    return {
      messages: own.reduce((sum, { messages }) => sum + messages, 0),
      perCpuSecond: median(own.map(({ perCpuSecond }) => perCpuSecond)),
    };
  });
}

/** As the chain's reader would: one record for each quote. */
async function commitQuotes({ submit, engine, onCommit }: StreamLeader, telling: typeof BURST & { first: number }) {
  const last = engine.index + telling.bursts * telling.perBurst;
  const committed = new Promise<void>((resolve) => onCommit((index) => index >= last && resolve()));
  const book = { submit: (command: Parameters<typeof submit>[0]) => (submit(command), true) };
  for (const quote of toldQuotes(telling)) enterQuote({ book } as unknown as Parameters<typeof enterQuote>[0], quote);
  await committed;
}

t.test(`${GATEWAYS} gateways have ${GATEWAYS * SOCKETS} idle sockets, and an event reaches all of them`, async (t) => {
  t.setTimeout(900_000);
  const { leader, apiKey, gateways } = await openGateways(t);
  const ports = await Promise.all(gateways.map(({ server }) => server.ask('PORT', null)));
  const empty = await Promise.all(gateways.map(({ server }) => server.ask('USAGE', null)));
  const startMs = performance.now();
  for (const [n, { load }] of gateways.entries()) {
    await load.ask('SUBSCRIBE', { port: ports[n] ?? 0, count: SOCKETS, mixed: false, apiKey });
  }
  const connectedMs = performance.now() - startMs;
  const full = await Promise.all(gateways.map(({ server }) => server.ask('USAGE', null)));
  const cpus = (): Promise<number[]> => Promise.all(gateways.map(({ server }) => server.ask('CPU', null)));
  const idle = await cpus();
  await pause(IDLE_MS);
  const idleMicros = (await cpus()).map((micros, n) => micros - (idle[n] ?? NaN));

  const numbers = new FreshNumbers();
  const nextTelling = () => ({ ...BURST, first: numbers.take(BURST.bursts * BURST.perBurst) });
  const ours = await rounds(gateways, async () => {
    const telling = nextTelling();
    return deliver(gateways, telling, () => commitQuotes(leader, telling));
  });
  // As many bare servers with the same crowds: sockets of both at once would need twice the memory.
  await Promise.all(gateways.map(({ load, server }) => Promise.all([load.ask('SUBSCRIBE', null), server.stop()])));
  const bareServers = gateways.map(({ load }) => {
    const server = openBareUws();
    t.teardown(() => server.stop());
    return { server, load };
  });
  for (const { server, load } of bareServers) {
    const port = await server.ask('PORT', null);
    await load.ask('SUBSCRIBE', { port, count: SOCKETS, mixed: false, apiKey: null });
  }
  const theirs = await rounds(bareServers, async () => {
    const telling = nextTelling();
    await Promise.all(bareServers.map(({ server }) => server.ask('READY', telling)));
    const crowds = bareServers as unknown as readonly Crowded[];
    return deliver(crowds, telling, () => Promise.all(bareServers.map(({ server }) => server.ask('TELL', telling))));
  });
  const perSocket = (values: readonly number[]): number => Math.round(median(values) / SOCKETS);
  const bareRate = median(theirs.map(({ perCpuSecond }) => perCpuSecond));
  const ofGateways = ours.map(({ perCpuSecond }) => perCpuSecond / bareRate);
  t.comment(
    JSON.stringify({
      descriptors: DESCRIPTORS,
      gateways: GATEWAYS,
      sockets: GATEWAYS * SOCKETS,
      connectedPerSecond: Math.round((1000 * GATEWAYS * SOCKETS) / connectedMs),
      bytesPerSocket: perSocket(full.map(({ rssBytes }, n) => rssBytes - (empty[n]?.rssBytes ?? NaN))),
      connectCpuMicros: perSocket(full.map(({ cpuMicros }, n) => cpuMicros - (empty[n]?.cpuMicros ?? NaN))),
      idleCpuShareOfGateway: median(idleMicros) / (1000 * IDLE_MS),
      deliveriesPerCpuSecond: Math.round(median(ours.map(({ perCpuSecond }) => perCpuSecond))),
      bareDeliveriesPerCpuSecond: Math.round(bareRate),
      ratios: ofGateways.map((ratio) => Number(ratio.toFixed(3))),
    }),
  );
  const delivered = ours.reduce((sum, { messages }) => sum + messages, 0);
  t.equal(delivered, ROUNDS * GATEWAYS * SOCKETS * BURST.perBurst, 'every event is at every socket');
  if (isLong) {
    t.ok(Math.min(...ofGateways) >= GOAL / PATIENCE, 'each gateway delivers nearly as cheaply as a bare server');
  }
});
