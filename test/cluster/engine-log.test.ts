import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errors } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { EngineLog, type EngineLogOptions } from '../../src/cluster/engine-log.js';
import { type NatsLogStream, openLogStream } from '../../src/cluster/log-stream.js';
import { restoreStream } from '../../src/cluster/restore-stream.js';
import type { Command } from '../../src/engine/command.js';
import type { Hex } from '../../src/engine/quote.js';
import type { Disk } from '../../src/persistence/disk/disk.js';
import { nodeDiskAt, openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { logIn } from '../cli/log-fixture.js';
import { silent } from '../simulation/simulated-log.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo, natsServers } from './nats-servers.js';

const common = { clock: systemClock, random: systemRandom, logger: silent, limits: CLUSTER_LIMITS };
const IDENTITY = { chainId: 421_613 };

async function directory(t: Pick<Test, 'teardown'>): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'quotebook-engine-log-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

const ADDRESS: Hex = `0x${'cd'.repeat(20)}`;

/** What only a deposed leader's log has. */
const otherRecord = (n: number): Command => ({
  type: 'PUBLISH_RFQ',
  rfq: { poolAddress: ADDRESS, side: 'ask', size: 2n, taker: ADDRESS, body: `{"other":${n}}` },
});

/** Appends what the stream lacks of a log. */
async function publish(stream: NatsLogStream, from: string): Promise<void> {
  await restoreStream(stream, nodeDiskAt(from), { ...common, member: 'leader', bytesAhead: 1 << 16 });
}

async function openEngineLog(
  stream: NatsLogStream,
  at: string,
  options: Partial<EngineLogOptions>,
): Promise<EngineLog> {
  const own = { member: 'engine-1', identity: IDENTITY, reorgDepth: 64, epochBytes: 8 };
  const onFault = (error: Error): never => {
    throw error;
  };
  return EngineLog.open({ ...common, ...own, stream, disk: await openNodeDisk(at), onFault, ...options });
}

/** A stream, and the directory of a leader that was cut off: it has `shared` groups of the stream, and some of its own. */
async function deposed(t: Test, shared: number) {
  const [own, next] = [await directory(t), await directory(t)];
  await logIn(own, shared, 1);
  await cp(own, next, { recursive: true });
  const stream = await openLogStream(await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true }));
  await publish(stream, own);
  await logIn(own, 3, 1, { recordOf: otherRecord });
  const { index, stateHash } = await logIn(next, 5, 1);
  await publish(stream, next);
  return { stream, own, index, stateHash };
}

t.test('a deposed leader of a long log cuts off its own groups, and no other', async (t) => {
  const { stream, own, index, stateHash } = await deposed(t, 100);
  const log = await openEngineLog(stream, own, { comparedGroups: 16 });
  t.teardown(() => log.close());
  t.equal(log.at.point.index, 100, 'the shared records are there');
  await log.catchUp();
  t.match({ index: log.engine.index, stateHash: log.engine.stateHash() }, { index, stateHash });
});

t.test('a log whose compared groups are all its own is refused, and stays as it is', async (t) => {
  const { stream, own } = await deposed(t, 100);
  await logIn(own, 40, 1, { recordOf: otherRecord });
  const message = "the last 16 groups of this log are not the cluster's: move it away";
  await t.rejects(openEngineLog(stream, own, { comparedGroups: 16 }), { code: 'FOREIGN', message });
  const log = await openEngineLog(stream, own, { comparedGroups: 1_000 });
  t.equal(log.at.point.index, 100, 'none of the shared records was cut off');
  await log.close();
});

t.test('a standby catches up once the servers have elected a leader of the stream', async (t) => {
  const own = await directory(t);
  const stream = await openLogStream(await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true }));
  const log = await openEngineLog(stream, own, {});
  t.teardown(() => log.close());
  const lastSequence = stream.lastSequence.bind(stream);
  let unanswered = 2;
  stream.lastSequence = () => {
    unanswered -= 1;
    return unanswered >= 0 ? Promise.reject(new errors.TimeoutError()) : lastSequence();
  };
  await log.catchUp();
  t.equal(log.at.seq, 1);
});

/** Makes a disk's syncs wait from `hold` on until `release`. */
function holdable(disk: Disk) {
  let held: Promise<void> | null = null;
  let release = (): void => undefined;
  const open = disk.open.bind(disk);
  disk.open = async (...how) => {
    const file = await open(...how);
    const sync = file.sync.bind(file);
    file.sync = async () => {
      await held;
      await sync();
    };
    return file;
  };
  return {
    hold: () => (held = new Promise((resolve) => (release = resolve))),
    release: () => release(),
  };
}

t.test('a standby whose disk stands still reads no more of the stream than it may keep', async (t) => {
  const [source, own] = [await directory(t), await directory(t)];
  await logIn(source, 200, 1);
  const stream = await openLogStream(await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true }));
  const disk = await openNodeDisk(own);
  const { hold, release } = holdable(disk);
  await publish(stream, source);
  const limits = { ...CLUSTER_LIMITS, clusterQueueBytes: 1_000 };
  const log = await openEngineLog(stream, own, { disk, limits });
  t.teardown(() => log.close());
  await log.catchUp();
  const { index } = await logIn(source, 200, 1);
  hold();
  // As republished messages, and as messages that are read.
  await publish(stream, source);
  const isCaughtUp = await Promise.race([log.catchUp().then(() => true), pause(300, false)]);
  t.notOk(isCaughtUp);
  t.ok(log.engine.index < index, `it has ${log.engine.index} of ${index} records`);
  release();
  await log.catchUp();
  t.equal(log.engine.index, index);
});
