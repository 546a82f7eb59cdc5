import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { EngineLife } from '../../bench/workload/engine-life.js';
import { benchLogOptions, silent } from '../../bench/workload/log.js';
import { START_SECONDS } from '../../bench/workload/quotes.js';
import { EngineLog, type LedLog } from '../../src/cluster/engine-log.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { openLogStream } from '../../src/cluster/log-stream.js';
import { limits } from '../../src/config/limits.js';
import type { Command, Stamp } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { EPOCH_BYTES } from '../../src/persistence/format/header.js';
import { SnapshotProcess } from '../../src/persistence/snapshot/snapshot-process.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { connectTo, natsServers } from './nats-servers.js';

const isLong = process.env.QUOTEBOOK_ROUNDS !== undefined;
const RECORDS = isLong ? 600_000 : 60_000;
const RESTING = 1_000;
/** Records that wait for their commit. */
const IN_FLIGHT = 8_000;
const PER_TURN = 200;
/** Goals are of an idle machine; a busy one may be slower here, and the rates are printed. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const COMMITTED_PER_SECOND = 20_000;
const CAUGHT_UP_PER_SECOND = 50_000;

function* commands(): Generator<Command> {
  const life = new EngineLife();
  for (let n = 0; n < RESTING; n += 1) yield life.arrival();
  for (;;) yield* life.replacement();
}

/** Resolves when as many records are committed, on this process's disk and by a quorum of the servers. */
async function commit({ journal }: LedLog, engine: Engine, count: number): Promise<void> {
  const source = commands();
  let committed = engine.index;
  journal.onCommit((index) => (committed = index));
  const last = engine.index + count;
  while (committed < last) {
    for (let n = 0; n < PER_TURN && engine.index < last && engine.index - committed < IN_FLIGHT; n += 1) {
      const command = source.next().value as Command;
      const stamp: Stamp = { index: engine.index + 1, tsMs: START_SECONDS * 1000 };
      journal.append({ stamp, command, events: engine.apply(command, stamp) });
    }
    await nextTurn();
  }
}

async function startLeader(t: Test) {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-throughput-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const servers = await natsServers(t);
  const onFault = (error: Error): never => {
    throw error;
  };
  const common = { clock: systemClock, logger: silent, limits, onFault };
  const stream = await openLogStream(await connectTo(t, servers));
  const log = await EngineLog.open({
    ...common,
    stream,
    disk: await openNodeDisk(directory),
    member: 'engine-1',
    identity: {},
    reorgDepth: limits.reorgDepth,
    epochBytes: EPOCH_BYTES,
    random: systemRandom,
  });
  const maker = new SnapshotProcess(directory, limits.snapshotMs, silent);
  const led = await log.lead({ ...benchLogOptions(maker, false), identity: {} }, () => true, onFault);
  if (led === null) throw new Error('nobody else leads');
  const gatewayStream = await openLogStream(await connectTo(t, servers, { member: 'gateway-1' }));
  const openReplica = () =>
    GatewayReplica.open({ ...common, stream: gatewayStream, snapshots: null, onTerm: () => undefined });
  return { engine: log.engine, led, openReplica };
}

t.test('records are committed through three servers, and a gateway catches up with them', async (t) => {
  t.setTimeout(480_000);
  const { engine, led, openReplica } = await startLeader(t);
  // The first are the compiler's.
  await commit(led, engine, RECORDS / 10);
  let startMs = performance.now();
  await commit(led, engine, RECORDS);
  const committed = Math.round((1000 * RECORDS) / (performance.now() - startMs));
  const first = await openReplica();
  first.stop();
  startMs = performance.now();
  const replica = await openReplica();
  const caughtUp = Math.round((1000 * replica.engine.index) / (performance.now() - startMs));
  replica.stop();
  t.comment(`${committed} records/s committed, ${caughtUp} records/s caught up with, of ${engine.index} records`);
  t.equal(replica.engine.index, engine.index);
  t.equal(replica.engine.stateHash(), engine.stateHash());
  t.ok(committed >= COMMITTED_PER_SECOND / PATIENCE, `${committed} committed records/s`);
  t.ok(caughtUp >= CAUGHT_UP_PER_SECOND / PATIENCE, `${caughtUp} records/s caught up with`);
  led.publisher.stop();
  await led.log.close();
});
