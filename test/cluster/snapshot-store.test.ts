import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t, { type Test } from 'tap';
import { EngineLog } from '../../src/cluster/engine-log.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { type LogStream, type NatsLogStream, openLogStream } from '../../src/cluster/log-stream.js';
import { restoreStream } from '../../src/cluster/restore-stream.js';
import { type SnapshotSource, SnapshotStore } from '../../src/cluster/snapshot-store.js';
import { readWhole } from '../../src/persistence/disk/disk.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { snapshotIndexes, snapshotName } from '../../src/persistence/format/file-names.js';
import { readSnapshotBytes } from '../../src/persistence/snapshot/snapshot-file.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { logIn } from '../cli/log-fixture.js';
import { silent } from '../simulation/simulated-log.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo, natsServers } from './nats-servers.js';

const EPOCH_BYTES = 8;
const common = { clock: systemClock, logger: silent, limits: CLUSTER_LIMITS };

/** A cluster's stream and one engine's directory, with a snapshot of record 300 or so, and records behind it. */
async function fixture(t: Test) {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-snapshots-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await logIn(directory, 300, 3);
  const disk = await openNodeDisk(directory);
  const [index = 0] = snapshotIndexes(await disk.list());
  const bytes = await readWhole(disk, snapshotName(index));
  const { header } = readSnapshotBytes(bytes, 'snapshot');
  const state = await logIn(directory, 60, 3);
  const cluster = await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true });
  const stream = await openLogStream(cluster);
  await restoreStream(stream, disk, { ...common, member: 'm', random: systemRandom, groupsAhead: 64 });
  // Its groups follow on the TERM of the restore. Some groups earlier, as a leader's marks are.
  const seq = 1 + header.group - 5;
  const { seq: eventSeq, group, chain } = header;
  const store = await SnapshotStore.open(cluster);
  const at = { seq, term: 1, point: { index, seq: eventSeq, group, chain } };
  return { disk, stream, store, state, at, bytes, epoch: header.epoch };
}

/** The stream, and how many of its messages were read. */
function counted(stream: NatsLogStream): { readonly stream: LogStream; readonly messages: () => number } {
  let messages = 0;
  const counting: LogStream = {
    appendGroup: (...given) => stream.appendGroup(...given),
    appendTerm: (...given) => stream.appendTerm(...given),
    lastSequence: () => stream.lastSequence(),
    get: (seq) => stream.get(seq),
    async read(seq, most) {
      const read = await stream.read(seq, most);
      messages += read.length;
      return read;
    },
    subscribe: (...given) => stream.subscribe(...given),
  };
  return { stream: counting, messages: () => messages };
}

async function replicaFrom(t: Test, stream: LogStream, snapshots: SnapshotSource | null): Promise<GatewayReplica> {
  const onFault = (error: Error): void => void t.error(error);
  const replica = await GatewayReplica.open({ ...common, stream, snapshots, onTerm: () => undefined, onFault });
  t.teardown(() => replica.stop());
  return replica;
}

t.test('a gateway starts from the newest snapshot, reads what follows, and still has the events before', async (t) => {
  const { stream, store, state, at, bytes, epoch } = await fixture(t);
  await store.put(epoch, at, bytes, 2);
  const reading = counted(stream);
  const replica = await replicaFrom(t, reading.stream, store);
  t.match({ index: replica.engine.index, stateHash: replica.engine.stateHash() }, state);
  const last = await stream.lastSequence();
  t.ok(reading.messages() < last / 2, `${reading.messages()} of ${last} messages were read`);
  const whole = await replicaFrom(t, stream, null);
  const page = await replica.history().read(10, 20, replica.engine.index);
  t.strictSame(page, await whole.history().read(10, 20, whole.engine.index));
});

t.test('a damaged snapshot is passed over, and older ones are removed', async (t) => {
  const { stream, store, state, at, bytes, epoch } = await fixture(t);
  const broken = Buffer.from(bytes);
  broken[broken.length >> 1] = (broken[broken.length >> 1] ?? 0) ^ 1;
  await store.put(epoch, at, broken, 2);
  const replica = await replicaFrom(t, stream, store);
  t.match({ index: replica.engine.index, stateHash: replica.engine.stateHash() }, state);
  const later = (index: number) => ({ ...at, point: { ...at.point, index } });
  for (const index of [400, 500]) await store.put(epoch, later(index), bytes, 2);
  t.strictSame(
    (await store.list(epoch)).map(({ name }) => name),
    ['snapshot-500', 'snapshot-400'],
  );
  t.strictSame(await store.list(Buffer.alloc(EPOCH_BYTES)), [], 'another log has none');
});

t.test('an engine compares its own log with the stream from the snapshot on', async (t) => {
  const { disk, stream, store, state, at, bytes, epoch } = await fixture(t);
  await store.put(epoch, at, bytes, 2);
  const reading = counted(stream);
  const log = await EngineLog.open({
    ...common,
    stream: reading.stream,
    snapshots: store,
    disk,
    member: 'engine-1',
    identity: { chainId: 421_613 },
    reorgDepth: 64,
    epochBytes: EPOCH_BYTES,
    random: systemRandom,
    onFault: (error) => t.error(error),
  });
  await log.catchUp();
  t.match({ index: log.engine.index, stateHash: log.engine.stateHash() }, state);
  const last = await stream.lastSequence();
  t.ok(reading.messages() < last / 2, `${reading.messages()} of ${last} messages were read`);
  await log.close();
});

t.test('a store that cannot be asked for is not one that no engine has made', async (t) => {
  const cluster = await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true });
  t.equal(await SnapshotStore.attach(cluster), null);
  await SnapshotStore.open(cluster);
  t.not(await SnapshotStore.attach(cluster), null);
  await cluster.close();
  await t.rejects(SnapshotStore.attach(cluster), /closed/i);
});
