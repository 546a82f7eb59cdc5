import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { BareServerDialogue } from '../../bench/baselines/bare-uws.js';
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
const GATEWAYS = 4;
/** Of each gateway. From one address to one port there can be some 28,000. */
const SOCKETS = Number(process.env.QUOTEBOOK_SOCKETS ?? (isLong ? 25_000 : 250));
const OWN_DESCRIPTORS = 1_000;
const ROUNDS = isLong ? 5 : 2;
const BURST = { bursts: 1, perBurst: 8, everyMs: 1 };
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

/** Child processes have this one's limit. Returns what it is. */
function allowDescriptors(count: number): number {
  try {
    execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${count}:${count}`], { stdio: 'ignore' });
  } catch {
    // The limit stays as it is, and is printed.
  }
  return Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }));
}

async function openGateways(t: Test) {
  const servers = await natsServers(t);
  const leader = await leadStream(t, servers);
  const files = await ClusterKeyFiles.open(await connectTo(t, servers, { member: 'admin' }));
  const keys = await KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize: limits.keyCache });
  t.teardown(() => keys.close());
  const { key: apiKey } = await keys.create('paid', 'bench');
  const healthy: ChainNews = { head: null, stale: null, failure: null };
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
  const descriptors = allowDescriptors(SOCKETS + OWN_DESCRIPTORS);
  const { leader, apiKey, gateways } = await openGateways(t);
  const bare = { server: openBareUws(), load: openLoader(t) } satisfies {
    server: Child<BareServerDialogue>;
    load: unknown;
  };
  t.teardown(() => bare.server.stop());
  const ports = await Promise.all(gateways.map(({ server }) => server.ask('PORT', null)));
  const empty = await Promise.all(gateways.map(({ server }) => server.ask('USAGE', null)));
  const startMs = performance.now();
  for (const [n, { load }] of gateways.entries()) {
    await load.ask('SUBSCRIBE', { port: ports[n] ?? 0, count: SOCKETS, mixed: false, apiKey });
  }
  const connectedMs = performance.now() - startMs;
  const full = await Promise.all(gateways.map(({ server }) => server.ask('USAGE', null)));
  await bare.load.ask('SUBSCRIBE', {
    port: await bare.server.ask('PORT', null),
    count: SOCKETS,
    mixed: false,
    apiKey: null,
  });
  const cpus = (): Promise<number[]> => Promise.all(gateways.map(({ server }) => server.ask('CPU', null)));
  const idle = await cpus();
  await pause(IDLE_MS);
  const idleMicros = (await cpus()).map((micros, n) => micros - (idle[n] ?? NaN));

  const numbers = new FreshNumbers();
  const bareServer = bare as unknown as Crowded;
  const rates: { readonly ours: number[]; readonly bare: number[] } = { ours: [], bare: [] };
  const ratios: number[][] = gateways.map(() => []);
  let delivered = 0;
  // The first round is the compiler's.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const telling = { ...BURST, first: numbers.take(BURST.bursts * BURST.perBurst) };
    const ours = await deliver(gateways, telling, () => commitQuotes(leader, telling));
    await bare.server.ask('READY', telling);
    const [theirs] = await deliver([bareServer], telling, () => bare.server.ask('TELL', telling));
    if (round === 0 || theirs === undefined) continue;
    for (const [n, { messages, perCpuSecond }] of ours.entries()) {
      delivered += messages;
      rates.ours.push(perCpuSecond);
      ratios[n]?.push(perCpuSecond / theirs.perCpuSecond);
    }
    rates.bare.push(theirs.perCpuSecond);
  }
  const perSocket = (values: readonly number[]): number => Math.round(median(values) / SOCKETS);
  const ofGateways = ratios.map((each) => median(each));
  t.comment(
    JSON.stringify({
      descriptors,
      sockets: GATEWAYS * SOCKETS,
      connectedPerSecond: Math.round((1000 * GATEWAYS * SOCKETS) / connectedMs),
      bytesPerSocket: perSocket(full.map(({ rssBytes }, n) => rssBytes - (empty[n]?.rssBytes ?? NaN))),
      connectCpuMicros: perSocket(full.map(({ cpuMicros }, n) => cpuMicros - (empty[n]?.cpuMicros ?? NaN))),
      idleCpuShareOfGateway: median(idleMicros) / (1000 * IDLE_MS),
      deliveriesPerCpuSecond: Math.round(median(rates.ours)),
      bareDeliveriesPerCpuSecond: Math.round(median(rates.bare)),
      ratios: ofGateways.map((ratio) => Number(ratio.toFixed(3))),
    }),
  );
  t.equal(delivered, ROUNDS * GATEWAYS * SOCKETS * BURST.perBurst, 'every event is at every socket');
  if (isLong) {
    t.ok(Math.min(...ofGateways) >= GOAL / PATIENCE, 'each gateway delivers nearly as cheaply as a bare server');
  }
});
