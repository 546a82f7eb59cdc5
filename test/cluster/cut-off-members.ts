import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ClusterProcess } from './cluster-process.js';
import { checkFaults } from './fault-table.js';
import { History } from './history.js';

/**
 * Started by partitions.test.ts in a network of its own. Each member reaches the NATS servers by addresses that no other
 * process uses, so that dropping what goes there, or comes from there, cuts off that member alone.
 */
const ROUNDS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const FAILOVER_MS = 5_000;
const STALE_MS = 4_000;
const CALM_MS = 2_000;
const HEALED_MS = 60_000;

/** Drops packets that one of these rules matches, until `heal`. */
function drop(rules: readonly string[]): void {
  const input = `table ip cut { chain in { type filter hook input priority 0; ${rules.map((rule) => `${rule} drop;`).join(' ')} }; }`;
  execFileSync('nft', ['-f', '-'], { input });
}

function heal(): void {
  execFileSync('nft', ['delete', 'table', 'ip', 'cut']);
}

/** As scripts/run-cluster.mjs gives addresses: engines first. */
function cutMember(number: number): void {
  drop([`ip saddr 127.20.${number}.1`, `ip daddr 127.20.${number}.1`]);
}

t.test('members and servers that packets do not reach: nothing is lost, and stale is said', async (t) => {
  t.setTimeout(ROUNDS * 300_000);
  const cluster = await ClusterProcess.start(['--own-addresses']);
  t.teardown(() => cluster.remove());
  t.teardown(() => cluster.stop());
  const history = new History(() => cluster.ready);
  history.start(4);
  await history.acknowledgedAfter(performance.now());
  const { engines, gateways } = cluster.ready;
  const engineMs: number[] = [];
  const staleMs: number[] = [];
  const otherMs: number[] = [];
  const freshMs: number[] = [];
  const serverMs: number[] = [];

  for (let round = 0; round < ROUNDS; round += 1) {
    const leader = await cluster.leader();
    let cutMs = performance.now();
    cutMember(1 + engines.findIndex(({ member }) => member === leader.member));
    engineMs.push(await history.acknowledgedAfter(cutMs));
    await pause(CALM_MS);
    heal();
    // It was deposed: it comes back as another process.
    await cluster.engineFollows(leader.member, leader.pid);

    const place = round % gateways.length;
    const reader = history.pageReaders[place];
    if (reader === undefined) throw new Error('there is a reader at each gateway');
    const first = async (list: readonly number[], sinceMs: number): Promise<number> => {
      for (;;) {
        const atMs = list.find((ms) => ms > sinceMs);
        if (atMs !== undefined) return Math.round(atMs - sinceMs);
        if (performance.now() > sinceMs + HEALED_MS) throw new Error(`nothing in ${HEALED_MS} ms: ${cluster.said}`);
        await pause(20);
      }
    };
    cutMs = performance.now();
    cutMember(1 + engines.length + place);
    staleMs.push(await first(reader.staleMs, cutMs));
    otherMs.push(await history.acknowledgedAfter(performance.now()));
    const healMs = performance.now();
    heal();
    freshMs.push(await first(reader.freshMs, healMs));
    await pause(CALM_MS);

    const server = await cluster.natsLeader();
    const number = 1 + cluster.ready.nats.findIndex(({ url }) => url === server.url);
    const ports = `{ ${new URL(server.url).port}, ${server.routePort} }`;
    cutMs = performance.now();
    drop([
      `ip saddr 127.10.${number}.0/24`,
      `ip daddr 127.10.${number}.0/24`,
      `tcp sport ${ports}`,
      `tcp dport ${ports}`,
    ]);
    serverMs.push(await history.acknowledgedAfter(cutMs));
    await pause(CALM_MS);
    heal();
    serverMs.push(await history.acknowledgedAfter(performance.now()));
  }
  await history.stop();
  await checkFaults(t, cluster, history, [
    { what: 'the leading engine cut off by dropped packets', ms: engineMs, goalMs: FAILOVER_MS },
    { what: 'a gateway cut off says that it is stale after', ms: staleMs, goalMs: STALE_MS },
    { what: 'a gateway cut off: a write at another', ms: otherMs, goalMs: null },
    { what: 'a gateway that is back says that it is current after', ms: freshMs, goalMs: null },
    { what: "the stream's NATS leader cut off, and back", ms: serverMs, goalMs: null },
  ]);
});
