import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { median } from '../../bench/contest.js';
import type { LoadDialogue } from '../../bench/load/load.js';
import type { Child } from '../../bench/processes/child.js';
import type { ServerDialogue } from '../../bench/processes/dialogue.js';
import { openGateway, openLeader } from '../../bench/scenarios/gateway-fan-out.js';
import { openBareUws, openLoad } from '../../bench/scenarios/served.js';
import { FreshNumbers } from '../../bench/servers/publish-schedule.js';

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
/** Before their idle CPU is read; the comparison with bare servers is of long runs, too. */
const IDLE_MS = 20_000;
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const GOAL = 0.85;

interface Crowded {
  readonly server: Child<ServerDialogue>;
  readonly load: Child<LoadDialogue>;
}

interface Delivery {
  readonly messages: number;
  readonly perCpuSecond: number;
}

async function openGateways(t: Test) {
  const leader = openLeader();
  t.teardown(() => leader.stop());
  const gateways: Crowded[] = [];
  for (let n = 1; n <= GATEWAYS; n += 1) {
    const server = openGateway(await leader.ask('PLACE', { member: `gateway-${n}` }));
    t.teardown(() => server.stop());
    gateways.push({ server, load: openLoader(t) });
  }
  return { leader, apiKey: await leader.ask('KEY', null), gateways };
}

function openLoader(t: Test): Child<LoadDialogue> {
  const load = openLoad();
  t.teardown(() => load.stop());
  return load;
}

/** Has `publish` done, and counts what each crowd got for each CPU second of its server. */
async function deliver(
  crowds: readonly Crowded[],
  schedule: typeof BURST & { readonly first: number },
  publish: () => Promise<unknown>,
): Promise<Delivery[]> {
  const expected = { first: schedule.first, count: schedule.bursts * schedule.perBurst };
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
  if (isLong) await pause(IDLE_MS);
  const idleMicros = (await cpus()).map((micros, n) => micros - (idle[n] ?? NaN));

  const numbers = new FreshNumbers();
  const nextSchedule = () => ({ ...BURST, first: numbers.take(BURST.bursts * BURST.perBurst) });
  const ours = await rounds(gateways, async () => {
    const schedule = nextSchedule();
    await leader.ask('READY', schedule);
    return deliver(gateways, schedule, () => leader.ask('PUBLISH', schedule));
  });
  const delivered = ours.reduce((sum, { messages }) => sum + messages, 0);
  t.equal(delivered, ROUNDS * GATEWAYS * SOCKETS * BURST.perBurst, 'every event is at every socket');
  if (!isLong) return;

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
    const schedule = nextSchedule();
    await Promise.all(bareServers.map(({ server }) => server.ask('READY', schedule)));
    const crowds = bareServers as unknown as readonly Crowded[];
    return deliver(crowds, schedule, () =>
      Promise.all(bareServers.map(({ server }) => server.ask('PUBLISH', schedule))),
    );
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
  t.ok(Math.min(...ofGateways) >= GOAL / PATIENCE, 'each gateway delivers nearly as cheaply as a bare server');
});
