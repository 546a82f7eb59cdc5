import path from 'node:path';
import type { KeyStore } from '../auth/key-store.js';
import { LocalProofStore } from '../auth/proof-store.js';
import { IntentLog } from '../chain/wallet/intent-log.js';
import { CallServer } from '../cluster/calls.js';
import type { ClusterConnection } from '../cluster/connection.js';
import { EngineLog } from '../cluster/engine-log.js';
import { ClusterKeyFiles, LeaderValues } from '../cluster/kept-values.js';
import { type Leadership, openLeaseStore, waitToLead } from '../cluster/leadership.js';
import { openLogStream } from '../cluster/log-stream.js';
import { answerRoll, type ChainNews, hearNews, hearStepDown, publishNews } from '../cluster/members.js';
import { SnapshotStore } from '../cluster/snapshot-store.js';
import type { Limits } from '../config/limits.js';
import type { Settings } from '../config/setting-table.js';
import type { ChainRole } from '../engine/command.js';
import type { Hex } from '../engine/quote.js';
import { PastThread } from '../past/past-thread.js';
import { openNodeDisk } from '../persistence/disk/node-disk.js';
import { type Disk, type Logger, readWhole } from '../persistence/disk/disk.js';
import type { Identity } from '../persistence/format/manifest.js';
import { EPOCH_BYTES } from '../persistence/format/header.js';
import type { SnapshotRequest } from '../persistence/snapshot/snapshot-process.js';
import { scanInThread } from '../persistence/recovery/scan-thread.js';
import type { Quotas } from '../quota/rate-limits.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { openClusterKeyStore } from './cluster-options.js';
import { openSnapshots, openLogOptions } from './data-directory.js';
import { leaderCalls } from './leader-calls.js';
import { measuredOptions, measureEngine } from './metrics-wiring.js';
import { endAll } from './shutdown.js';
import type { CoreOptions } from './service-options.js';
import { type LocalCore, openLocalCore, operatorAccount } from './local-core.js';

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
  /** It follows the log. A rejection ends the engine. */
  readonly onStandby: () => Promise<void> | void;
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
  let isServing = false;
  // A leader has closed it by then.
  const ends: (() => Promise<void> | void)[] = [() => log.close()];
  ends.push(
    answerRoll(cluster, () => ({
      member,
      role: isServing ? 'leader' : 'standby',
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
  const uploads = new SnapshotUploads(store, disk, limits.snapshotsKept, logger);
  ends.push(() => uploads.settled());
  try {
    await log.catchUp();
    logger.info({ member, index: log.engine.index, term: log.at.term }, 'standby ready');
    await options.onStandby();
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
          if (led !== null) await uploads.add(led, request);
          return made;
        },
      },
      onFault,
      isStopped: () => isStopped,
    });
    if (led !== null) await lead(options, led, () => (isServing = true));
  } finally {
    await endAll(ends);
  }
}

/** Uploads a leader's snapshots, one after another. Gateways can do without one: they read more of the stream then. */
class SnapshotUploads {
  #storing = Promise.resolve();

  constructor(
    private readonly store: SnapshotStore,
    private readonly disk: Disk,
    private readonly kept: number,
    private readonly logger: Logger,
  ) {}

  /** Resolves when the draft was read, which may be removed then. */
  async add({ term, publisher }: Leadership, { epoch, point, draft }: SnapshotRequest): Promise<void> {
    const bytes = await readWhole(this.disk, draft);
    const at = { seq: publisher.placeBefore(point.group), term, point };
    this.#storing = this.#storing
      .then(() => this.store.put(epoch, at, bytes, this.kept))
      .catch((error: unknown) => this.logger.warn({ err: error }, 'snapshot upload failed'));
  }

  /** Resolves when all are stored, or have failed. */
  settled(): Promise<void> {
    return this.#storing;
  }
}

/** Services that a leader runs beside its log. */
interface Leader {
  readonly core: LocalCore;
  readonly past: PastThread;
  readonly server: CallServer;
  readonly stopNews: () => void;
}

async function lead(options: EngineProcessOptions, led: Leadership, onServing: () => void): Promise<void> {
  const values = await openValues(options, led);
  if (values === null) return endLog(options, led);
  const leader = await openLeader(options, led, values);
  onServing();
  await Promise.race([options.stopping, stepDownRequested(options, led)]);
  await endLeadership(options, led, leader);
}

/** Null: a signal ended the wait for the servers, which may elect no leader of the bucket. */
async function openValues(
  { cluster, limits, logger, stopping, onFault }: EngineProcessOptions,
  { term }: Leadership,
): Promise<LeaderValues | null> {
  const { options, names } = cluster;
  const opening = LeaderValues.open(cluster, term, systemClock, limits.clusterRetryMs, onFault);
  const cancel = systemClock.after(limits.clusterServerMs, () => {
    logger.warn({ member: options.member, term, bucket: names.stateBucket }, 'waiting for a bucket');
  });
  return Promise.race([opening, stopping.then(() => null)]).finally(cancel);
}

/** Reads the chains, answers the gateways' calls and tells all members the news from then on. */
async function openLeader(options: EngineProcessOptions, led: Leadership, values: LeaderValues): Promise<Leader> {
  const { settings, profile, limits, logger, metrics, cluster } = options;
  const { term, log, publisher, times, took } = led;
  const { member } = cluster.options;
  const directory = path.join(settings.dataDir, profile.name);
  const past = new PastThread(
    { directory, chainId: String(profile.settlement.chainId), profile, limits },
    systemClock,
    limits,
  );
  logger.info({ member, term, index: log.engine.index, ...took, ...times.end('state') }, 'leading');
  const keys = keysOnUse(cluster, limits);
  const core = await openLeaderCore(options, led, { values, past, keys });
  if (metrics !== null) {
    const isReady = (): boolean => core.chains.follower.caughtUp && core.refusal() === null;
    measureEngine(metrics, { engine: log.engine, ...core, clock: systemClock, isReady });
  }
  core.start();
  void core.ready.then(() => {
    const { totalMs } = times;
    logger.info({ member, term, ...times.end('chains'), totalMs }, 'takeover complete');
  });
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
    onFault: faultLog(logger),
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
  return { core, past, server, stopNews };
}

interface LeaderParts extends Pick<CoreOptions, 'keys'> {
  readonly values: LeaderValues;
  readonly past: PastThread;
}

/** The chains' readers and the wallet over the log that this engine leads. */
async function openLeaderCore(
  { settings, profile, limits, logger, metrics, rpc, quotas, walletKey, onFault }: EngineProcessOptions,
  { journal, log }: Leadership,
  { values, past, keys }: LeaderParts,
): Promise<LocalCore> {
  const openIntents = (chainId: number, address: Hex): IntentLog =>
    new IntentLog(values.of(`intents-${chainId}-${address.toLowerCase()}`));
  const measured = measuredOptions({ journal, clock: systemClock, rpc }, metrics);
  return openLocalCore(
    {
      profile,
      ...measured,
      operator: walletKey === null ? null : await operatorAccount(walletKey, profile, settings, openIntents),
      engine: log.engine,
      budgets: values.of('budgets'),
      past,
      keys,
      random: systemRandom,
      limits: { ...limits, reorgDepth: log.reorgDepth },
      logger,
      metrics,
      onFault,
      onDeepReorg: (why) => void log.noteDeepReorg(why).catch(onFault),
    },
    quotas,
    faultLog(logger),
  );
}

/** The keys of the cluster, read with the first call that needs them: a cluster begins without, and engines make none. */
function keysOnUse(
  cluster: ClusterConnection,
  limits: Limits,
): Pick<KeyStore, 'prove' | 'signOut' | 'addSelfKey' | 'noteUses' | 'missing'> {
  const openKeys = openedOnce(async () => openClusterKeyStore(await ClusterKeyFiles.open(cluster), limits));
  return {
    prove: async (...proof) => (await openKeys()).prove(...proof),
    signOut: async (...session) => (await openKeys()).signOut(...session),
    addSelfKey: async (...key) => (await openKeys()).addSelfKey(...key),
    noteUses: async (...uses) => (await openKeys()).noteUses(...uses),
    missing: async (ids) => (await openKeys()).missing(ids),
  };
}

/** Resolves when somebody asks the leader to step down. */
function stepDownRequested(
  { cluster, logger }: Pick<EngineProcessOptions, 'cluster' | 'logger'>,
  { term }: Leadership,
): Promise<void> {
  const { member } = cluster.options;
  return new Promise((resolve) => {
    hearStepDown(cluster, () => {
      logger.warn({ member, term }, 'step-down requested');
      resolve();
    });
  });
}

/** Answers what is under way, and ends the log. */
async function endLeadership(
  options: Pick<EngineProcessOptions, 'limits' | 'logger' | 'cluster'>,
  led: Leadership,
  { core, past, server, stopNews }: Leader,
): Promise<void> {
  core.endWaits();
  // Where no quorum answers, what waits for it stays unacknowledged.
  const cancel = systemClock.after(options.limits.stopPatienceMs, () => led.publisher.stop());
  await server.stop();
  stopNews();
  await past.close();
  await core.stop().catch(faultLog(options.logger));
  await endLog(options, led);
  cancel();
}

/** Gives the lease back once a quorum has all that was written. */
async function endLog(
  { limits, logger, cluster }: Pick<EngineProcessOptions, 'limits' | 'logger' | 'cluster'>,
  { term, log, lease, publisher }: Leadership,
): Promise<void> {
  const logFault = faultLog(logger);
  const cancel = systemClock.after(limits.stopPatienceMs, () => publisher.stop());
  await log.close().catch(logFault);
  await publisher.drain().catch(() => undefined);
  publisher.stop();
  cancel();
  await lease.release();
  logger.info({ member: cluster.options.member, term }, 'leadership ended');
}

function faultLog(logger: Logger): (error: unknown) => void {
  return (error) => logger.error({ err: error }, 'internal error');
}

function chainNews({ chains }: LocalCore, role: ChainRole): ChainNews {
  const { head, stale } = chains.health[role].status();
  return { head, stale, failure: chains.health[role].failure, readTo: chains.readTo(role) };
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
