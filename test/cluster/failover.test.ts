import { randomInt } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { verifyLog } from '../../src/persistence/recovery/log-tools.js';
import { silent } from '../simulation/simulated-log.js';
import { until } from '../until.js';
import { ClusterProcess } from './cluster-process.js';
import { checkFaults } from './fault-table.js';
import { History } from './history.js';
import { natsServers } from './nats-servers.js';

/** Each kind of fault so many times; a hand-started run has more. */
const ROUNDS = Number(process.env.QUOTEBOOK_ROUNDS ?? 1);
const NATS_KILLS = ROUNDS < 10 ? 1 : 5;
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
  const killedMs: number[] = [];
  const frozenMs: number[] = [];
  const steppedDownMs: number[] = [];
  const bothMs: number[] = [];
  const natsMs: number[] = [];

  for (let round = 0; round < ROUNDS; round += 1) {
    const killed = await cluster.leader();
    process.kill(killed.pid, 'SIGKILL');
    killedMs.push(await history.acknowledgedAfter(performance.now()));
    await pause(CALM_MS);

    const frozen = await cluster.leader();
    // The standby's, or that of the killed one, which a supervisor started again before the lease was free.
    t.ok(frozen.term > killed.term, `term ${frozen.term} followed ${killed.term}`);
    process.kill(frozen.pid, 'SIGSTOP');
    frozenMs.push(await history.acknowledgedAfter(performance.now()));
    process.kill(frozen.pid, 'SIGCONT');
    await pause(CALM_MS);

    for (let kill = 0; kill < NATS_KILLS; kill += 1) {
      const { nats } = cluster.ready;
      const { pid } = nats[randomInt(nats.length)] ?? { pid: 0 };
      process.kill(pid, 'SIGKILL');
      natsMs.push(await history.acknowledgedAfter(performance.now()));
      // It comes back, and catches up, before the next one goes.
      await until(() => cluster.ready.nats.every((server) => server.pid !== pid));
      await pause(3 * CALM_MS);
    }

    await cluster.leader();
    const { stdout } = await cluster.run(['cluster', 'step-down']);
    t.match(stdout, 'steps down');
    steppedDownMs.push(await history.acknowledgedAfter(performance.now()));
    await pause(CALM_MS);

    const [leader, server] = [await cluster.leader(), await cluster.natsLeader()];
    for (const { pid } of [leader, server]) process.kill(pid, 'SIGKILL');
    bothMs.push(await history.acknowledgedAfter(performance.now()));
    await pause(3 * CALM_MS);
  }
  await history.stop();
  await checkFaults(t, history, [
    { what: 'the leading engine killed: writes again after', ms: killedMs, goalMs: FAILOVER_MS },
    { what: 'the leading engine frozen', ms: frozenMs, goalMs: FAILOVER_MS },
    { what: 'the leading engine stepped down', ms: steppedDownMs, goalMs: FAILOVER_MS },
    { what: "engine and the stream's NATS leader killed together", ms: bothMs, goalMs: BOTH_MS },
    { what: 'a NATS server killed, at random', ms: natsMs, goalMs: null },
  ]);
  t.ok(history.acknowledged.length > 50);

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
