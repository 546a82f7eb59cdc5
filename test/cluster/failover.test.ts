import { randomInt } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { verifyLog } from '../../src/persistence/recovery/log-tools.js';
import { silent } from '../simulation/simulated-log.js';
import { until } from '../until.js';
import { ClusterProcess } from './cluster-process.js';
import { History } from './history.js';
import { natsServers } from './nats-servers.js';

/** Each kind of fault so many times; a hand-started run has more. */
const ROUNDS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const NATS_KILLS = ROUNDS < 10 ? 1 : 5;
/** Goals are of an idle machine; a busy one gets more time here, and the times are printed. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const FAILOVER_MS = 5_000;
const BOTH_MS = 15_000;
const CALM_MS = 1_500;
const READY_FIELDS = 'gateways engines nats apiKey rpcUrl chainId accounts tokens contracts pools'.split(' ');

t.test('engines are killed and frozen, NATS nodes killed: clients lose nothing and see nothing twice', async (t) => {
  t.setTimeout(ROUNDS * 360_000);
  const cluster = await ClusterProcess.start();
  t.teardown(() => cluster.remove());
  t.teardown(() => cluster.stop());
  t.strictSame(Object.keys(cluster.readyFileContent), READY_FIELDS, 'the ready file has what its document says');
  const history = new History(() => cluster.ready);
  history.start(4);
  await history.acknowledgedAfter(performance.now());
  const times: Record<string, number[]> = { killed: [], frozen: [], 'NATS killed': [], 'stepped down': [], both: [] };

  for (let round = 0; round < ROUNDS; round += 1) {
    const killed = await cluster.leader();
    process.kill(killed.pid, 'SIGKILL');
    times.killed?.push(await history.acknowledgedAfter(performance.now()));
    await pause(CALM_MS);

    const frozen = await cluster.leader();
    // The standby's, or that of the killed one, which a supervisor started again before the lease was free.
    t.ok(frozen.term > killed.term, `term ${frozen.term} followed ${killed.term}`);
    process.kill(frozen.pid, 'SIGSTOP');
    times.frozen?.push(await history.acknowledgedAfter(performance.now()));
    process.kill(frozen.pid, 'SIGCONT');
    await pause(CALM_MS);

    for (let kill = 0; kill < NATS_KILLS; kill += 1) {
      const { nats } = cluster.ready;
      const { pid } = nats[randomInt(nats.length)] ?? { pid: 0 };
      process.kill(pid, 'SIGKILL');
      times['NATS killed']?.push(await history.acknowledgedAfter(performance.now()));
      // It comes back, and catches up, before the next one goes.
      await until(() => cluster.ready.nats.every((server) => server.pid !== pid));
      await pause(3 * CALM_MS);
    }

    await cluster.leader();
    const { stdout } = await cluster.run(['cluster', 'step-down']);
    t.match(stdout, 'steps down');
    times['stepped down']?.push(await history.acknowledgedAfter(performance.now()));
    await pause(CALM_MS);

    const [leader, server] = [await cluster.leader(), await cluster.natsLeader()];
    for (const { pid } of [leader, server]) process.kill(pid, 'SIGKILL');
    times.both?.push(await history.acknowledgedAfter(performance.now()));
    await pause(3 * CALM_MS);
  }
  await history.stop();
  t.comment(`writes again after ms: ${JSON.stringify(times)}; ${history.summary}`);
  t.strictSame(await history.check(), [], 'no promise was broken');
  t.ok(history.acknowledged.length > 50);
  for (const [what, took] of Object.entries(times)) {
    if (what === 'NATS killed') continue;
    const goalMs = what === 'both' ? BOTH_MS : FAILOVER_MS;
    t.ok(Math.max(...took) <= PATIENCE * goalMs, `${what}: writes go on within ${Math.max(...took)} ms`);
  }

  const { engines } = cluster.ready;
  await cluster.stop();
  const reports = await Promise.all(
    engines.map(async ({ member }) => verifyLog(await openNodeDisk(cluster.engineDirectory(member)), silent)),
  );
  const level = Math.min(...reports.map(({ lastIndex }) => lastIndex));
  t.ok(level > 0);
  t.equal(new Set(reports.map(({ epoch }) => epoch)).size, 1, 'one log');
  const same = reports.filter(({ lastIndex }) => lastIndex === level);
  t.equal(new Set(same.map(({ stateHash }) => stateHash)).size, 1, 'engines that have come equally far hash alike');

  // All that NATS held is gone: new servers get it from one engine's directory.
  const servers = await natsServers(t);
  const { code, stdout, stderr } = await cluster.run(
    ['cluster', 'restore', '--from', path.join(cluster.dataDir, engines[0]?.member ?? '')],
    servers,
  );
  t.equal(code, 0, stderr);
  t.match(stdout, `stateHash ${reports[0]?.stateHash}`);
});
