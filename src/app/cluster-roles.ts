import { hostname } from 'node:os';
import path from 'node:path';
import type { KeyFiles } from '../auth/key-file.js';
import { KeyStore } from '../auth/key-store.js';
import { LocalProofStore } from '../auth/proof-store.js';
import { IntentLog } from '../chain/wallet/intent-log.js';
import { CallServer } from '../cluster/calls.js';
import {
  type ClusterConnection,
  type ClusterOptions,
  connectCluster,
  readServers,
  type ServerState,
} from '../cluster/connection.js';
import { EngineLog } from '../cluster/engine-log.js';
import { GatewayReplica } from '../cluster/gateway-replica.js';
import { ClusterKeyFiles, LeaderValues } from '../cluster/kept-values.js';
import { Lease, type Leadership, openLeaseStore, waitToLead } from '../cluster/leadership.js';
import { NatsLogStream, openLogStream } from '../cluster/log-stream.js';
import {
  answerRoll,
  callRoll,
  type ChainNews,
  hearNews,
  hearStepDown,
  type MemberInfo,
  publishNews,
} from '../cluster/members.js';
import { type RestoreReport, restoreStream } from '../cluster/restore-stream.js';
import { SnapshotStore } from '../cluster/snapshot-store.js';
import { effectiveQuotas } from '../config/effective-limits.js';
import type { Limits } from '../config/limits.js';
import { BUILT_IN_PROFILES, readProfileFile } from '../config/profile-file.js';
import type { Settings } from '../config/setting-table.js';
import type { ChainRole } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { Hex } from '../engine/quote.js';
import { PastThread } from '../past/past-thread.js';
import { nodeDiskAt, openNodeDisk } from '../persistence/disk/node-disk.js';
import { type Logger, readWhole } from '../persistence/disk/disk.js';
import type { Identity } from '../persistence/format/manifest.js';
import { EPOCH_BYTES } from '../persistence/format/header.js';
import type { SnapshotRequest } from '../persistence/snapshot/snapshot-process.js';
import { scanInThread } from '../persistence/recovery/scan-thread.js';
import type { Quotas } from '../quota/rate-limits.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { openSnapshots, openLogOptions } from './data-directory.js';
import { openGatewayCore } from './gateway-core.js';
import { leaderCalls } from './leader-calls.js';
import { endAll } from './process.js';
import { type Service, startService } from './service.js';
import type { ServiceOptions, CoreOptions } from './service-options.js';
import { type LocalCore, openLocalCore, operatorAccount } from './local-core.js';

/** Text of a file that a setting names. */
type ReadText = (file: string) => Promise<string>;

/** How this process connects to its cluster. */
export async function clusterOptions(
  settings: Settings,
  profileName: string,
  limits: Limits,
  readText: ReadText,
): Promise<ClusterOptions> {
  const { cluster, clusterMonitors, clusterMember, clusterUser, clusterPassword, clusterNkeyFile, clusterCaFile } =
    settings;
  if (cluster === null)
    throw new Error(`the role ${settings.role} needs a cluster: set cluster to the URLs of its NATS servers`);
  return {
    servers: cluster,
    // Engines have to ask; others do where they are given the ports.
    monitors: settings.role !== 'engine' && clusterMonitors.length === 0 ? null : clusterMonitors,
    deployment: profileName,
    member:
      clusterMember ?? `${settings.role}-${hostname()}-${process.pid}`.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 64),
    unsafe: settings.clusterUnsafe === 'yes',
    callMs: limits.clusterServerMs,
    ...(clusterUser !== null && { user: clusterUser }),
    ...(clusterPassword !== null && { password: clusterPassword }),
    ...(clusterNkeyFile !== null && { nkeySeed: (await readText(clusterNkeyFile)).trim() }),
    ...(clusterCaFile !== null && { tls: { ca: await readText(clusterCaFile) } }),
  };
}

export interface EngineProcessOptions extends Pick<CoreOptions, 'profile' | 'rpc' | 'limits' | 'logger' | 'metrics'> {
  readonly settings: Settings;
  readonly cluster: ClusterConnection;
  readonly identity: Identity;
  /** Null: the service reads and does not publish. */
  readonly walletKey: Hex | null;
  /** The leader takes the day budgets of keys from it. May adopt other numbers meanwhile. */
  readonly quotas: Quotas;
  readonly version: string;
  /** The process has to end. */
  readonly onFault: (error: unknown) => void;
  readonly stopping: Promise<unknown>;
  /** It follows the log. */
  readonly onStandby: () => void;
}

/** An engine of a cluster: follows the log as a standby until it leads, and leads until the process ends. */
export async function runEngine(options: EngineProcessOptions): Promise<void> {
  const { settings, limits, profile, cluster, identity, logger, stopping, onFault, version } = options;
  const { member } = cluster.options;
  if (settings.sync !== 'always') {
    throw new Error('an engine of a cluster acknowledges what is on its disk: set sync to always');
  }
  const stream = await openLogStream(cluster);
  await ClusterKeyFiles.open(cluster);
  const directory = path.join(settings.dataDir, profile.name);
  const disk = await openNodeDisk(directory);
  const store = await SnapshotStore.open(cluster);
  let isStopped = false;
  void stopping.then(() => (isStopped = true));
  const log = await EngineLog.open({
    stream,
    snapshots: store,
    disk,
    member,
    identity,
    reorgDepth: limits.reorgDepth,
    epochBytes: EPOCH_BYTES,
    random: systemRandom,
    clock: systemClock,
    logger,
    limits,
    startScan: scanInThread(directory),
    onFault,
  });
  let led: Leadership | null = null;
  // A leader has closed it by then.
  const ends: (() => Promise<void> | void)[] = [() => log.close()];
  ends.push(
    answerRoll(cluster, () => ({
      member,
      role: led === null ? 'standby' : 'leader',
      term: led?.term ?? log.at.term,
      index: log.engine.index,
      lag: led === null ? log.lag : 0,
      version,
    })),
    hearNews(cluster, ({ seq }) => {
      if (led === null) log.heardOf(seq);
    }),
  );
  const snapshots = openSnapshots(directory, limits, logger);
  ends.push(() => snapshots.end());
  let storing = Promise.resolve();
  ends.push(() => storing);
  /** Gateways can do without it: they read more of the stream then. */
  const storeSnapshot = async ({ epoch, point, draft }: SnapshotRequest): Promise<void> => {
    if (led === null) return;
    const { term, publisher } = led;
    const bytes = await readWhole(disk, draft);
    const at = { seq: publisher.placeBefore(point.group), term, point };
    storing = storing
      .then(() => store.put(epoch, at, bytes, limits.snapshotsKept))
      .catch((error: unknown) => logger.warn({ err: error }, 'snapshot upload failed'));
  };
  try {
    await log.catchUp();
    logger.info({ member, index: log.engine.index, term: log.at.term }, 'standby ready');
    options.onStandby();
    led = await waitToLead({
      store: await openLeaseStore(cluster, limits.clusterLeaseMs),
      member,
      ttlMs: limits.clusterLeaseMs,
      renewMs: limits.clusterRenewMs,
      pollMs: limits.clusterPollMs,
      clock: systemClock,
      log,
      openOptions: {
        ...openLogOptions({
          settings,
          limits: { ...limits, logQueueBytes: limits.clusterGroupBytes },
          identity,
          logger,
          onFatal: onFault,
          snapshots,
        }),
        async make(request) {
          const made = await snapshots.make(request);
          await storeSnapshot(request);
          return made;
        },
      },
      onFault,
      isStopped: () => isStopped,
    });
    if (led !== null) await lead(options, led);
  } finally {
    await endAll(ends);
  }
}

async function lead(options: EngineProcessOptions, led: Leadership): Promise<void> {
  const { settings, profile, limits, logger, metrics, rpc, cluster, quotas, walletKey, onFault, stopping } = options;
  const { term, journal, log, lease, publisher, times, took } = led;
  const { member } = cluster.options;
  const directory = path.join(settings.dataDir, profile.name);
  const past = new PastThread(
    { directory, chainId: String(profile.settlement.chainId), profile, limits },
    systemClock,
    limits,
  );
  const values = await LeaderValues.open(cluster, term, systemClock, limits.clusterRetryMs, onFault);
  logger.info({ member, term, index: log.engine.index, ...took, ...times.end('state') }, 'leading');
  const logFault = (error: unknown): void => logger.error({ err: error }, 'internal error');
  const openIntents = (chainId: number, address: Hex): IntentLog =>
    new IntentLog(values.of(`intents-${chainId}-${address.toLowerCase()}`));
  const core = await openLocalCore(
    {
      profile,
      rpc,
      operator: walletKey === null ? null : await operatorAccount(walletKey, profile, settings, openIntents),
      engine: log.engine,
      journal,
      budgets: values.of('budgets'),
      past,
      clock: systemClock,
      random: systemRandom,
      limits: { ...limits, reorgDepth: log.reorgDepth },
      logger,
      metrics,
      onFault,
      onDeepReorg: (why) => void log.noteDeepReorg(why).catch(onFault),
    },
    quotas,
    logFault,
  );
  core.start();
  void core.ready.then(() => {
    const { totalMs } = times;
    logger.info({ member, term, ...times.end('chains'), totalMs }, 'takeover complete');
  });
  // A cluster begins without keys, and engines make none.
  const openKeys = openedOnce(async () => openKeyStore(await ClusterKeyFiles.open(cluster), limits));
  const keys = {
    prove: async (...proof: Parameters<KeyStore['prove']>) => (await openKeys()).prove(...proof),
    signOut: async (...session: Parameters<KeyStore['signOut']>) => (await openKeys()).signOut(...session),
    addSelfKey: async (...key: Parameters<KeyStore['addSelfKey']>) => (await openKeys()).addSelfKey(...key),
    noteUses: async (...uses: Parameters<KeyStore['noteUses']>) => (await openKeys()).noteUses(...uses),
  };
  const proofs = new LocalProofStore(keys, systemClock, limits);
  const server = new CallServer(cluster, {
    term,
    handlers: leaderCalls(core, cluster.maxPayload, proofs),
    index: () => log.engine.index,
    engineMs: () => core.time.nowMs(),
    maxCalls: limits.clusterCalls,
    answerKeptMs: limits.clusterFailoverMs,
    drainMs: limits.drainMs,
    clock: systemClock,
    onFault: logFault,
  });
  const stopNews = publishNews(cluster, systemClock, limits.clusterNewsMs, () => ({
    member,
    term,
    seq: publisher.acknowledgedSeq,
    group: log.journal.durable.group,
    engineMs: core.time.nowMs(),
    caughtUp: core.chains.follower.caughtUp,
    refusal: core.refusal(),
    chains: { settlement: chainNews(core, 'settlement'), stream: chainNews(core, 'stream') },
    wallet: core.operatorAddress(),
  }));
  const steppedDown = new Promise<void>((resolve) => {
    hearStepDown(cluster, () => {
      logger.warn({ member, term }, 'step-down requested');
      resolve();
    });
  });
  await Promise.race([stopping, steppedDown]);
  core.endWaits();
  // Where no quorum answers, what waits for it stays unacknowledged.
  const cancel = systemClock.after(limits.stopPatienceMs, () => publisher.stop());
  await server.stop();
  stopNews();
  await past.close();
  await core.stop().catch(logFault);
  await log.close().catch(logFault);
  await publisher.drain().catch(() => undefined);
  publisher.stop();
  cancel();
  await lease.release();
  logger.info({ member, term }, 'leadership ended');
}

function chainNews({ chains }: LocalCore, role: ChainRole): ChainNews {
  const { head, stale } = chains.health[role].status();
  return { head, stale, failure: chains.health[role].failure, readTo: chains.readTo(role) };
}

export interface GatewayProcessOptions extends Pick<
  ServiceOptions,
  'profile' | 'rpc' | 'limits' | 'logger' | 'metrics' | 'page' | 'spareDescriptors'
> {
  readonly settings: Settings;
  readonly cluster: ClusterConnection;
  readonly version: string;
  readonly onFault: (error: unknown) => void;
}

export interface GatewayProcess {
  readonly service: Service;
  /** The replica's: it applies what the cluster has committed. */
  readonly engine: Engine;
  stop(): Promise<void>;
}

/** A gateway of a cluster: serves clients from a replica of the book, and hands what they want to the leader. */
export async function startGateway(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const { settings, cluster, limits, logger, onFault, version } = options;
  const { member } = cluster.options;
  const stream = new NatsLogStream(cluster);
  let onTerm = (): void => undefined;
  const replica = await GatewayReplica.open({
    stream,
    snapshots: await SnapshotStore.attach(cluster),
    clock: systemClock,
    limits,
    logger,
    onTerm: () => onTerm(),
    onFault,
  });
  logger.info({ member, index: replica.engine.index, term: replica.at.term }, 'replica caught up');
  const keys = await openKeyStore(await ClusterKeyFiles.attach(cluster), limits);
  const stopRoll = answerRoll(cluster, () => ({
    member,
    role: 'gateway',
    term: replica.at.term,
    index: replica.engine.index,
    lag: replica.lag,
    version,
  }));
  const service = await startService({
    ...settings,
    ...options,
    openCore: (given, quotas) => openGatewayCore(given, quotas, cluster, replica, (listener) => (onTerm = listener)),
    operator: null,
    engine: replica.engine,
    journal: NO_JOURNAL,
    epoch: replica.epoch,
    history: replica.history(),
    keys,
    clock: systemClock,
    random: systemRandom,
    tierQuotas: effectiveQuotas(settings),
  });
  return {
    service,
    engine: replica.engine,
    async stop() {
      await service.stop();
      keys.close();
      stopRoll();
      replica.stop();
      await cluster.close();
    },
  };
}

/** Opens it with the first use, once for all that use it meanwhile, and again after a failure. */
export function openedOnce<Opened>(open: () => Promise<Opened>): () => Promise<Opened> {
  let opening: Promise<Opened> | null = null;
  return () =>
    (opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    }));
}

function openKeyStore(files: KeyFiles, limits: Limits): Promise<KeyStore> {
  const { keyCache: cacheSize, selfKeyUnusedDays } = limits;
  return KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize, selfKeyUnusedDays });
}

/** A gateway's engine takes its records from the cluster's log. */
const NO_JOURNAL: ServiceOptions['journal'] = {
  append() {
    throw new Error('a gateway writes no log');
  },
  refusal: () => null,
  onCommit: () => undefined,
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** The name of a built-in profile, or of that in a file: a cluster goes by it. */
export async function profileName(nameOrFile: string, readText: ReadText): Promise<string> {
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
      groupsAhead: limits.clusterAheadMessages,
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
