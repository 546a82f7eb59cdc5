import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t, { type Test } from 'tap';
import { type NatsLogStream, openLogStream } from '../../src/cluster/log-stream.js';
import { type RestoreReport, restoreStream } from '../../src/cluster/restore-stream.js';
import { nodeDiskAt, openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { segmentName, snapshotName } from '../../src/persistence/format/file-names.js';
import { verifyLog } from '../../src/persistence/recovery/log-tools.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { logIn } from '../cli/log-fixture.js';
import { silent } from '../simulation/simulated-log.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo, natsServers } from './nats-servers.js';

async function directory(t: Pick<Test, 'teardown'>): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), 'quotebook-restore-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function emptyStream(t: Pick<Test, 'teardown'>): Promise<NatsLogStream> {
  return openLogStream(await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true }));
}

function restore(stream: NatsLogStream, from: string): Promise<RestoreReport> {
  return restoreStream(stream, nodeDiskAt(from), {
    member: 'restore',
    random: systemRandom,
    clock: systemClock,
    logger: silent,
    limits: CLUSTER_LIMITS,
    bytesAhead: 1 << 16,
  });
}

t.test('a lost stream is rebuilt from an engine log, and comes to the same state', async (t) => {
  const from = await directory(t);
  const { index, stateHash } = await logIn(from, 500, 5);
  const stream = await emptyStream(t);
  const report = await restore(stream, from);
  t.match(report, { lastIndex: index, found: 0, stateHash });
  t.ok(report.appended >= 100, `${report.appended} groups`);
  t.equal((await verifyLog(await openNodeDisk(from), silent)).stateHash, stateHash, 'the log is as it was');
});

t.test('a stream that holds a part of the log gets the rest of it', async (t) => {
  const from = await directory(t);
  await logIn(from, 100, 5);
  const stream = await emptyStream(t);
  const first = await restore(stream, from);
  const { index } = await logIn(from, 50, 5);
  t.match(await restore(stream, from), { lastIndex: index, found: first.appended });
  t.match(await restore(stream, from), { lastIndex: index, appended: 0 }, 'and nothing when it has all');
});

t.test('a stream of another log is refused, and so is one that is further on', async (t) => {
  const [one, other] = [await directory(t), await directory(t)];
  await logIn(one, 20, 5);
  await logIn(other, 20, 5);
  const stream = await emptyStream(t);
  await restore(stream, one);
  await t.rejects(restore(stream, other), { code: 'FOREIGN' });
  const older = await directory(t);
  await cp(one, older, { recursive: true });
  await logIn(one, 20, 5);
  await restore(stream, one);
  await t.rejects(restore(stream, older), { code: 'FOREIGN', message: /needs no restore/ });
});

t.test('a stream that goes another way than the log is refused, and gets none of its groups', async (t) => {
  const [one, other] = [await directory(t), await directory(t)];
  await logIn(one, 20, 5);
  await cp(one, other, { recursive: true });
  await logIn(one, 20, 5);
  await logIn(other, 40, 4);
  const stream = await emptyStream(t);
  await restore(stream, one);
  const before = await stream.lastSequence();
  await t.rejects(restore(stream, other), { code: 'FOREIGN', message: /has another group/ });
  t.equal(await stream.lastSequence(), before + 1, 'but a TERM');
});

t.test('a log whose first segments were dropped is no source', async (t) => {
  const from = await directory(t);
  await logIn(from, 16_000, 500);
  await rm(path.join(from, segmentName(1)));
  const { segments } = await verifyLog(await openNodeDisk(from), silent);
  t.ok(segments > 0, 'a snapshot stands for them');
  const stream = await emptyStream(t);
  const message = `${from} does not hold its log from the first record on: take another engine's directory`;
  await t.rejects(restore(stream, from), { code: 'FOREIGN', message });
  t.equal(await stream.lastSequence(), 0, 'nothing is appended');
});

t.test('neither is a log that has lost its end', async (t) => {
  const from = await directory(t);
  await logIn(from, 20, 5);
  const segment = path.join(from, segmentName(1));
  await cp(segment, `${segment}.older`);
  const { index } = await logIn(from, 20, 5);
  await rename(`${segment}.older`, segment);
  await rm(path.join(from, snapshotName(index)));
  const stream = await emptyStream(t);
  await t.rejects(restore(stream, from), {
    code: 'LOST_TAIL',
    message: /after record 20 .* the log was closed after group/,
  });
  t.equal(await stream.lastSequence(), 0, 'nothing is appended');
});
