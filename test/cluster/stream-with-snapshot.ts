import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Test } from 'tap';
import { type LogStream, openLogStream } from '../../src/cluster/log-stream.js';
import { restoreStream } from '../../src/cluster/restore-stream.js';
import { SnapshotStore } from '../../src/cluster/snapshot-store.js';
import { readWhole } from '../../src/persistence/disk/disk.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { snapshotIndexes, snapshotName } from '../../src/persistence/format/file-names.js';
import { readSnapshotBytes } from '../../src/persistence/snapshot/snapshot-file.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { logIn, type LogFixtureOptions } from '../cli/log-fixture.js';
import { silent } from '../simulation/simulated-log.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo, natsServers } from './nats-servers.js';

const GROUP_RECORDS = 3;
const LATER_RECORDS = 60;

/** A cluster's stream and one engine's directory, with a snapshot of the last of `records`, and 60 records behind it. */
export async function streamWithSnapshot(t: Pick<Test, 'teardown'>, records = 300, ofLog: LogFixtureOptions = {}) {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-snapshots-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await logIn(directory, records, GROUP_RECORDS, ofLog);
  const disk = await openNodeDisk(directory);
  const [index = 0] = snapshotIndexes(await disk.list());
  const bytes = await readWhole(disk, snapshotName(index));
  const { header } = readSnapshotBytes(bytes, 'snapshot');
  const state = await logIn(directory, LATER_RECORDS, GROUP_RECORDS, ofLog);
  const servers = await natsServers(t, { servers: 1 });
  const cluster = await connectTo(t, servers, { unsafe: true });
  const stream = await openLogStream(cluster);
  const restoring = { clock: systemClock, logger: silent, limits: CLUSTER_LIMITS, bytesAhead: 1 << 16 };
  await restoreStream(stream, disk, { ...restoring, member: 'm', random: systemRandom });
  // Its groups follow on the TERM of the restore. Some groups earlier, as a leader's marks are.
  const seq = 1 + header.group - 5;
  const { seq: eventSeq, group, chain } = header;
  const store = await SnapshotStore.open(cluster);
  const at = { seq, term: 1, point: { index, seq: eventSeq, group, chain } };
  return { servers, disk, stream, store, state, at, bytes, epoch: header.epoch };
}

/** The stream, and how many of its messages were read. */
export function counted(stream: LogStream): { readonly stream: LogStream; readonly messages: () => number } {
  let messages = 0;
  const counting: LogStream = {
    appendGroup: (...given) => stream.appendGroup(...given),
    appendTerm: (...given) => stream.appendTerm(...given),
    lastSequence: () => stream.lastSequence(),
    get(seq) {
      messages += 1;
      return stream.get(seq);
    },
    async read(seq, most) {
      const read = await stream.read(seq, most);
      messages += read.length;
      return read;
    },
    subscribe: (...given) => stream.subscribe(...given),
  };
  return { stream: counting, messages: () => messages };
}
