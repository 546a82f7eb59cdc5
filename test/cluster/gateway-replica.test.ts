import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { restoreStream } from '../../src/cluster/restore-stream.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { afterMicrotasks } from '../../src/system/timers.js';
import { logIn } from '../cli/log-fixture.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { silent } from '../simulation/simulated-log.js';
import { ManualClock } from '../system/manual-clock.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { SimConnection, SimStream } from './sim-stream.js';

const MOST = 3;
const WAIT_MS = 5_000;

/** A replica of a log of which it has only the beginning of the first term yet; `deliver` gives it the rest. */
async function replicaOf(t: Test) {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-replica-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await logIn(directory, 60, 3);
  const disk = await openNodeDisk(directory);
  const clock = new ManualClock();
  const random = new SeededRandom(1);
  const common = { clock, logger: silent };
  const limits = { ...CLUSTER_LIMITS, clusterMinSeqMs: WAIT_MS, clusterMinSeqWaits: MOST };
  const connect = (stream: SimStream) => new SimConnection(stream, clock, clock, random);
  /** Resolves as `made` does, for which time passes. */
  const settled = async <Value>(made: Promise<Value>): Promise<Value> => {
    const running = { isOver: false };
    const end = (): void => void (running.isOver = true);
    made.then(end, end);
    while (!running.isOver) {
      clock.advance(1);
      await nextTurn();
    }
    return made;
  };
  const whole = new SimStream(clock, random);
  const options = { ...common, limits, member: 'engine-1', random, bytesAhead: 1 << 16 };
  await settled(restoreStream(connect(whole), disk, options));
  const [term, ...groups] = whole.messages;
  const stream = new SimStream(clock, random);
  if (term !== undefined) stream.append(() => term, 0);
  const replica = await settled(
    GatewayReplica.open({
      ...common,
      limits,
      stream: connect(stream),
      snapshots: null,
      onFault: (error) => void t.error(error),
    }),
  );
  t.teardown(() => replica.stop());
  const deliver = (): void => {
    for (const message of groups) stream.append(() => message, message.seq - 1);
  };
  return { clock, replica, settled, deliver };
}

t.test('only so many wait for an event, each for so long', async (t) => {
  const { clock, replica } = await replicaOf(t);
  t.equal(await replica.showsEvent(0), true);
  for (let round = 0; round < 3; round += 1) {
    const answers: boolean[] = [];
    for (let n = 0; n < MOST + 2; n += 1) void replica.showsEvent(1).then((isThere) => answers.push(isThere));
    await afterMicrotasks();
    t.strictSame(answers, [false, false], 'those beyond the limit have their answer at once');
    clock.advance(WAIT_MS - 1);
    await afterMicrotasks();
    t.equal(answers.length, 2);
    clock.advance(1);
    await afterMicrotasks();
    t.strictSame(answers, [false, false, false, false, false]);
  }
});

t.test('a wait ends with the event', async (t) => {
  const { replica, settled, deliver } = await replicaOf(t);
  const early = [1, 2].map((seq) => replica.showsEvent(seq));
  const record = replica.shows(3);
  deliver();
  t.strictSame(await settled(Promise.all(early)), [true, true]);
  await settled(record);
  t.ok(replica.engine.seq >= 2);
  t.equal(await replica.showsEvent(replica.engine.seq), true);
});
