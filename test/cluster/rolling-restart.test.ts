import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ClusterProcess } from './cluster-process.js';
import { checkFaults } from './fault-table.js';
import { History } from './history.js';

/** How often all members are restarted; a hand-started run has more. */
const ROUNDS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const FAILOVER_MS = 5_000;
const CALM_MS = 500;

t.test('all members are restarted under load, in the documented order: nothing is lost', async (t) => {
  t.setTimeout(ROUNDS * 300_000);
  const cluster = await ClusterProcess.start();
  t.teardown(() => cluster.remove());
  t.teardown(() => cluster.stop());
  const history = new History(() => cluster.ready);
  history.start(4);
  await history.acknowledgedAfter(performance.now());
  const longest: Record<string, number[]> = { gateways: [], standby: [], leader: [] };
  /** The longest write during `restart`, and after it until another one is acknowledged. */
  const during = async (what: string, restart: () => Promise<void>): Promise<void> => {
    const startMs = performance.now();
    await restart();
    await history.acknowledgedAfter(performance.now());
    longest[what]?.push(history.longestWriteMs(startMs));
    await pause(CALM_MS);
  };

  for (let round = 0; round < ROUNDS; round += 1) {
    const before = cluster.ready;
    for (const place of before.gateways.keys()) await during('gateways', () => cluster.restartGateway(place));
    const leader = await cluster.leader();
    const standby = before.engines.find(({ member }) => member !== leader.member);
    if (standby === undefined) throw new Error('the cluster has two engines');
    await during('standby', () => cluster.restartStandby(standby.member));
    await during('leader', async () => {
      const { code, stdout, stderr } = await cluster.run(['cluster', 'step-down']);
      t.match(stdout, 'steps down', `${code} ${stderr}`);
      await cluster.engineFollows(leader.member, leader.pid);
    });
    const next = await cluster.leader();
    t.equal(next.member, standby.member, 'the standby leads');
    t.ok(next.term > leader.term);
    const after = cluster.ready;
    const pids = ({ gateways, engines }: typeof after): number[] => [...gateways, ...engines].map(({ pid }) => pid);
    t.notOk(
      pids(after).some((pid) => pids(before).includes(pid)),
      'every member is another process',
    );
  }
  await history.stop();
  const rows = Object.entries(longest).map(([what, ms]) => ({
    what: `rolling restart, ${what}: the longest write`,
    ms,
    goalMs: FAILOVER_MS,
  }));
  await checkFaults(t, cluster, history, rows);
  t.ok(history.acknowledged.length > 50);
});
