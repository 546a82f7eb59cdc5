import path from 'node:path';
import { type ClusterConnection, connectCluster, readServers, type ServerState } from '../cluster/connection.js';
import { ClusterKeyFiles } from '../cluster/kept-values.js';
import { Lease, openLeaseStore } from '../cluster/leadership.js';
import { openLogStream } from '../cluster/log-stream.js';
import { callRoll, type MemberInfo } from '../cluster/members.js';
import { type RestoreReport, restoreStream } from '../cluster/restore-stream.js';
import type { Limits } from '../config/limits.js';
import { BUILT_IN_PROFILES, readProfileFile } from '../config/profile-file.js';
import type { Settings } from '../config/setting-table.js';
import type { Logger } from '../persistence/disk/disk.js';
import { nodeDiskAt } from '../persistence/disk/node-disk.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { clusterOptions } from './cluster-options.js';

/** Text of a file that a setting names. */
type ReadText = (file: string) => Promise<string>;

/** The name of a built-in profile, or of that in a file: a cluster goes by it. */
async function profileName(nameOrFile: string, readText: ReadText): Promise<string> {
  if (BUILT_IN_PROFILES.includes(nameOrFile)) return nameOrFile;
  const read = await readProfileFile(nameOrFile, readText);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.profile.name;
}

/** A command's connection to the cluster that the settings name. */
export async function connectByName(
  settings: Settings,
  limits: Limits,
  readText: ReadText,
): Promise<ClusterConnection> {
  const name = await profileName(settings.profile, readText);
  return connectCluster(await clusterOptions(settings, name, limits, readText));
}

export interface ClusterStatus {
  readonly members: readonly MemberInfo[];
  /** Null: not created yet. */
  readonly stream: {
    readonly messages: number;
    readonly bytes: number;
    readonly lastSeq: number;
    readonly replicas: number;
    readonly currentReplicas: number;
    readonly natsLeader: string;
  } | null;
  /** Those whose monitoring ports are given. */
  readonly servers: readonly ServerState[];
}

/** `monitors`: URLs of monitoring ports. `waitMs`: how long members and servers have to answer. */
export async function clusterStatus(
  cluster: ClusterConnection,
  monitors: readonly string[],
  waitMs: number,
): Promise<ClusterStatus> {
  const { jsm, names } = cluster;
  const [members, servers, info] = await Promise.all([
    callRoll(cluster, waitMs),
    readServers(monitors, waitMs),
    jsm.streams.info(names.stream).catch(() => null),
  ]);
  if (info === null) return { members, stream: null, servers };
  const { state, config } = info;
  const peers = info.cluster?.replicas ?? [];
  return {
    members,
    stream: {
      messages: state.messages,
      bytes: state.bytes,
      lastSeq: state.last_seq,
      replicas: config.num_replicas,
      currentReplicas: 1 + peers.filter(({ current }) => current).length,
      natsLeader: info.cluster?.leader ?? 'unknown',
    },
    servers,
  };
}

/** Rebuilds a cluster's log stream from the log of one of its engines. No engine may run meanwhile. */
export async function restoreCluster(
  cluster: ClusterConnection,
  limits: Limits,
  dataDir: string,
  logger: Logger,
): Promise<RestoreReport> {
  const { member, deployment } = cluster.options;
  const stream = await openLogStream(cluster);
  const lease = new Lease(await openLeaseStore(cluster, limits.clusterLeaseMs), {
    member,
    ttlMs: limits.clusterLeaseMs,
    renewMs: limits.clusterRenewMs,
    clock: systemClock,
    // If an engine takes the lease meanwhile, its first record is a TERM, which ends this restore.
    onLost: () => undefined,
  });
  if (!(await lease.take())) throw new Error('an engine leads: stop the engines of the cluster first');
  try {
    return await restoreStream(stream, nodeDiskAt(path.join(dataDir, deployment)), {
      member,
      random: systemRandom,
      clock: systemClock,
      logger,
      limits,
      bytesAhead: limits.clusterQueueBytes,
    });
  } finally {
    await lease.release();
  }
}

/** The keys of a cluster, for `quotebook keys`. */
export async function openClusterKeys(
  settings: Settings,
  limits: Limits,
  readText: ReadText,
): Promise<{ readonly files: ClusterKeyFiles; close(): Promise<void> }> {
  const cluster = await connectByName(settings, limits, readText);
  try {
    return { files: await ClusterKeyFiles.open(cluster), close: () => cluster.close() };
  } catch (error) {
    await cluster.close();
    throw error;
  }
}
