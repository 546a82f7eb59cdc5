import { randomInt } from 'node:crypto';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { nodeDiskAt } from '../../src/persistence/disk/node-disk.js';
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
  const gatewayMs: number[] = [];
  const standbyMs: number[] = [];
  const leaderlessMs: number[] = [];
  const quorumMs: number[] = [];
  /** Freezes them until every gateway says that it is stale and writes are refused; then milliseconds until writes go on. */
  const writesAfter = async (pids: readonly number[]): Promise<number> => {
    const sinceMs = performance.now();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await until(() => history.pageReaders.every(({ staleMs }) => staleMs.some((ms) => ms > sinceMs)));
    const staleMs = performance.now();
    await until(() => history.refused.some(({ status, atMs }) => status === 503 && atMs > staleMs));
    await pause(CALM_MS);
    t.notOk(
      history.acknowledged.some(({ endMs }) => endMs > staleMs),
      'no write is acknowledged',
    );
    t.ok(
      history.pageReaders.every((reader) => reader.staleMs.some((ms) => ms > staleMs)),
      'reads go on',
    );
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    return history.acknowledgedAfter(performance.now());
  };

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

    const gatewayStartMs = performance.now();
    await cluster.restartGateway(round % cluster.ready.gateways.length, 'SIGKILL');
    gatewayMs.push(await history.acknowledgedAfter(gatewayStartMs));

    const leading = await cluster.leader();
    const standby = cluster.ready.engines.find((engine) => engine.member !== leading.member);
    const standbyStartMs = performance.now();
    await cluster.restartStandby(standby?.member ?? '', 'SIGKILL');
    standbyMs.push(await history.acknowledgedAfter(standbyStartMs));
    t.equal((await cluster.leader()).term, leading.term, 'without a standby the leader goes on');

    leaderlessMs.push(await writesAfter(cluster.ready.engines.map(({ pid }) => pid)));
    await pause(CALM_MS);
    quorumMs.push(
      await writesAfter(
        cluster.ready.nats
          .slice(round % 2)
          .slice(0, 2)
          .map(({ pid }) => pid),
      ),
    );
    if (round + 1 < ROUNDS) await pause(3 * CALM_MS);
  }
  await history.stop();
  await checkFaults(t, cluster, history, [
    { what: 'the leading engine killed: writes again after', ms: killedMs, goalMs: FAILOVER_MS },
    { what: 'the leading engine frozen', ms: frozenMs, goalMs: FAILOVER_MS },
    { what: 'the leading engine stepped down', ms: steppedDownMs, goalMs: FAILOVER_MS },
    { what: "engine and the stream's NATS leader killed together", ms: bothMs, goalMs: BOTH_MS },
    { what: 'a NATS server killed, at random', ms: natsMs, goalMs: null },
    { what: 'a gateway killed: a write at another', ms: gatewayMs, goalMs: null },
    { what: 'the standby killed', ms: standbyMs, goalMs: null },
    { what: 'both engines frozen, and back', ms: leaderlessMs, goalMs: null },
    { what: 'two NATS servers of three frozen, and back', ms: quorumMs, goalMs: null },
  ]);
  t.ok(history.acknowledged.length > 50);

  const { member = '' } = cluster.ready.engines[0] ?? {};
  await cluster.stop();
  const { stateHash } = await verifyLog(nodeDiskAt(cluster.engineDirectory(member)), silent);

  // All that NATS held is gone: new servers get it from one engine's directory.
  const servers = await natsServers(t);
  const { code, stdout, stderr } = await cluster.run(
    ['cluster', 'restore', '--from', path.join(cluster.dataDir, member)],
    servers,
  );
  t.equal(code, 0, stderr);
  t.match(stdout, `stateHash ${stateHash}`);
});
