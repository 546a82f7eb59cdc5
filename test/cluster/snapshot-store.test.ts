import t, { type Test } from 'tap';
import { EngineLog } from '../../src/cluster/engine-log.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import type { LogStream } from '../../src/cluster/log-stream.js';
import { type SnapshotSource, SnapshotStore } from '../../src/cluster/snapshot-store.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { silent } from '../simulation/simulated-log.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo, natsServers } from './nats-servers.js';
import { counted, streamWithSnapshot } from './stream-with-snapshot.js';

const EPOCH_BYTES = 8;
const common = { clock: systemClock, logger: silent, limits: CLUSTER_LIMITS };

async function replicaFrom(t: Test, stream: LogStream, snapshots: SnapshotSource | null): Promise<GatewayReplica> {
  const onFault = (error: Error): void => void t.error(error);
  const replica = await GatewayReplica.open({ ...common, stream, snapshots, onFault });
  t.teardown(() => replica.stop());
  return replica;
}

t.test('a gateway starts from the newest snapshot, reads what follows, and still has the events before', async (t) => {
  const { stream, store, state, at, bytes, epoch } = await streamWithSnapshot(t);
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
  const { stream, store, state, at, bytes, epoch } = await streamWithSnapshot(t);
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
  const { disk, stream, store, state, at, bytes, epoch } = await streamWithSnapshot(t);
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
