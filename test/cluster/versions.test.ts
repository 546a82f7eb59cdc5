import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { headers } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import type { ClusterConnection } from '../../src/cluster/connection.js';
import { EngineLog } from '../../src/cluster/engine-log.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { type NatsLogStream, openLogStream, STREAM_FORMAT, type TermContent } from '../../src/cluster/log-stream.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { FILE_FORMAT } from '../../src/persistence/format/header.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { silent } from '../simulation/simulated-log.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';
import { connectTo, natsServers } from './nats-servers.js';

const common = { clock: systemClock, logger: silent, limits: CLUSTER_LIMITS };
const identity = { chainId: 1 };
const term: TermContent = {
  member: 'engine-9',
  nonce: 'first',
  epoch: '0011223344556677',
  reorgDepth: 8,
  identity,
  fileFormat: FILE_FORMAT,
};
const nothing = { index: 0, seq: 0, group: 0, chain: Buffer.alloc(0) };

type Append = (cluster: ClusterConnection, stream: NatsLogStream) => Promise<unknown>;

/** Faults that end a gateway and a standby when they meet what `append` puts behind the first TERM. */
async function faultsAfter(t: Test, append: Append): Promise<readonly unknown[]> {
  const cluster = await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true });
  const stream = await openLogStream(cluster);
  await stream.appendTerm(term, nothing, 0);
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-versions-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const disk = await openNodeDisk(directory);
  const gateway = new Promise((resolve) => {
    const options = { ...common, stream, snapshots: null, onFault: resolve };
    void GatewayReplica.open(options).catch(resolve);
  });
  const standby = new Promise((resolve) => {
    const own = { disk, member: 'engine-1', identity, reorgDepth: 8, epochBytes: 8, random: systemRandom };
    void EngineLog.open({ ...common, ...own, stream, onFault: resolve }).then(
      (log) => t.teardown(() => log.close()),
      resolve,
    );
  });
  await append(cluster, stream);
  return Promise.all([gateway, standby]);
}

t.test('members that are too old for the records of a new leader refuse, and say what to do', async (t) => {
  const newer = { ...term, nonce: 'newer', fileFormat: FILE_FORMAT + 1 };
  const faults = await faultsAfter(t, (_, stream) => stream.appendTerm(newer, nothing, 1));
  const message = new RegExp(`engine-9 leads with records of format ${FILE_FORMAT + 1}.*upgrade this member`);
  for (const fault of faults) t.match(fault, { code: 'NEWER_FORMAT', message });
});

t.test('so do members that are too old for the messages of the stream', async (t) => {
  const faults = await faultsAfter(t, ({ js, names }) => {
    const head = headers();
    head.set('Qb-Format', `${STREAM_FORMAT + 1}`);
    return js.publish(names.log, 'of another program', { headers: head });
  });
  for (const fault of faults) t.match(fault, { code: 'NEWER_FORMAT', message: /format 2.*upgrade it/ });
});
