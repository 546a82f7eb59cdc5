import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { adoptSettings } from './app/adopt-settings.js';
import { multicallLimits, rpcOptions } from './app/chain-wiring.js';
import { acceptsMissing, openDataDirectory } from './app/data-directory.js';
import { operatorAccount } from './app/local-core.js';
import { greeting, localApiKey, type LocalSetup, openLocalSetup, writeReadyFile } from './app/local-setup.js';
import { PAGE_DIRECTORY, readPageFiles } from './app/page-files.js';
import type { StatusLine } from './app/progress.js';
import type { OpenTraces } from './app/otlp-traces.js';
import { measureStorage } from './app/metrics-wiring.js';
import { startService } from './app/service.js';
import { endAll, untilSignal } from './app/shutdown.js';
import { openLogger, openStatusLine } from './app/text-log.js';
import { endpointTroubles } from './app/trouble-log.js';
import { awaitChains } from './app/wait-for-chains.js';
import { DiskKeyFiles } from './auth/disk-key-files.js';
import { KeyStore, LEDGER } from './auth/key-store.js';
import { type ChainIdentity, type ChainProfile, type Profile, readIdentity } from './chain/contracts/deployments.js';
import { checkProfile } from './chain/contracts/profile-check.js';
import { HttpRpc } from './chain/rpc/rpc-client.js';
import { effectiveLimits, effectiveQuotas } from './config/effective-limits.js';
import type { Limits } from './config/limits.js';
import { profileNamed, withEndpoints } from './config/profile-file.js';
import type { Settings } from './config/setting-table.js';
import { watchSettings } from './config/settings-watch.js';
import { explainFileError, type ReadSettings } from './config/settings.js';
import { readWalletKey } from './config/wallet-key.js';
import type { ChainRole } from './engine/command.js';
import { Metrics, serveMetrics } from './metrics/metrics.js';
import { LogEvents } from './past/log-event-history.js';
import { PastThread } from './past/past-thread.js';
import { lockFile } from './persistence/disk/file-lock.js';
import { Quotas } from './quota/rate-limits.js';
import { spareDescriptors, systemClock, systemRandom } from './system/clock.js';
import { makeDirectory, modeBeyondOwner } from './system/make-directory.js';
import { PACKAGE_VERSION } from './system/package-version.js';
import { logProgress, openServiceManager, type ServiceManager } from './system/systemd.js';

/** Beside the build, in a clone and in the package; images have none. */
async function examplesDirectory(): Promise<string | null> {
  const directory = fileURLToPath(new URL('../../examples/', import.meta.url));
  return (await stat(directory).catch(() => null)) === null ? null : directory;
}

const readText = (file: string): Promise<string> => readFile(file, 'utf8');

/** Parts that a process of any role has. */
interface ProcessContext {
  readonly settings: Settings;
  /** The settings as they are by then. */
  readonly reread: () => Promise<ReadSettings>;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly stopping: Promise<NodeJS.Signals>;
  readonly manager: ServiceManager | null;
  readonly status: StatusLine | null;
  /** Ends of the parts that have begun: if the start fails, none of them may keep the process alive. */
  readonly ends: (() => Promise<void> | void)[];
}

/** The deployment that is served, and the clients of its nodes. */
interface Deployment {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, HttpRpc>>;
}

/** Assembles the service that the settings describe, runs it until a signal ends it, and stops in reverse order. */
export async function runService(settings: Settings, reread: () => Promise<ReadSettings>): Promise<void> {
  const limits = effectiveLimits(settings);
  const { sameSignalMs } = limits;
  const stopping = untilSignal({ source: process, clock: systemClock, sameSignalMs, endNow: () => process.exit(1) });
  const status = openStatusLine(settings.logFormat);
  const logger = openLogger(settings.logLevel, settings.logFormat, undefined, status);
  const manager = openServiceManager(process.env, systemClock, (error) => {
    logger.error({ reason: error.message }, 'service manager not notified');
  });
  void stopping.then(() => manager?.stopping());
  const ends: ProcessContext['ends'] = [];
  try {
    await serveFromDirectory({ settings, reread, limits, logger, stopping, manager, status, ends });
  } catch (error) {
    throw explainFileError(error, settings);
  } finally {
    await manager?.close();
  }
}

async function serveFromDirectory(context: ProcessContext): Promise<void> {
  const { settings, logger, status, ends } = context;
  const { dataDir, role } = settings;
  await makeDirectory(dataDir);
  // Not changed: it may be a directory that others use, too, such as /tmp.
  const mode = await modeBeyondOwner(dataDir);
  if (mode !== null) logger.warn({ dataDir, mode }, 'data directory open to others');
  try {
    const local = settings.profile === 'local' ? await openLocal(context) : null;
    if (local !== null) ends.push(() => local.stop());
    ends.push(() => status?.show(''));
    const profile = withEndpoints(local?.chain.profile ?? (await profileNamed(settings.profile, readText)), settings);
    const rpc = { settlement: openRpc(context, profile.settlement), stream: openRpc(context, profile.stream) };
    if (role === 'all') await serveAlone(context, { profile, rpc }, local);
    else if (role === 'engine') await serveEngine(context, { profile, rpc });
    else await serveGateway(context, { profile, rpc });
  } finally {
    await endAll(ends);
  }
}

function openLocal({ settings, limits, logger }: ProcessContext): Promise<LocalSetup> {
  const { dataDir, blockTime, liveMarket: seed } = settings;
  const onError = (error: unknown): void => logger.warn({ err: error }, 'live market step failed');
  return openLocalSetup(dataDir, {
    ...(blockTime !== null && { blockTimeSeconds: blockTime }),
    ...(seed !== null && { liveMarket: { seed, everyMs: limits.liveMarketMs, clock: systemClock, onError } }),
  });
}

/** The whole service in one process. */
async function serveAlone(context: ProcessContext, deployment: Deployment, local: LocalSetup | null): Promise<void> {
  const { settings, limits, logger, manager, status, ends } = context;
  const { profile, rpc } = deployment;
  const keys = await openKeys(context);
  const walletKey = (await readWalletKey(settings, readText)) ?? local?.operatorKey ?? null;
  manager?.status('asks the chains who they are');
  const identity = await awaitIdentity(context, deployment);
  if (identity === null) return;
  manager?.status('recovers the log');
  const log = await openDataDirectory({
    settings,
    limits,
    name: profile.name,
    identity,
    beginAnew: local !== null,
    logger,
    onFatal: (error) => failStop(logger, error, 'log'),
    showStatus: status?.show,
  });
  ends.push(() => log.close());
  // An earlier run's file names a service that is gone. Remove it only once this process holds the log's lock.
  const readyFile = settings.readyFile ?? (local === null ? null : path.join(settings.dataDir, 'ready.json'));
  if (readyFile !== null) await rm(readyFile, { force: true });
  const operator =
    walletKey === null
      ? null
      : await operatorAccount(walletKey, profile, settings, (chainId, address) => log.openIntents(chainId, address));
  const metrics = await openMetrics(context);
  if (metrics !== null) measureStorage(metrics, () => log.storage(), systemClock);
  const traces = await openTracesFor(context, metrics);
  const history = await LogEvents.open(log.history, systemClock, limits);
  ends.push(() => history.close());
  const past = new PastThread(
    { directory: log.directory, chainId: String(profile.settlement.chainId), profile, limits },
    systemClock,
    limits,
  );
  ends.push(() => past.close());
  const localKey = local === null ? null : await localApiKey(keys, settings.dataDir);
  const pageFiles = await readPageFiles(PAGE_DIRECTORY);
  if (pageFiles.length === 0) logger.warn('page not built');
  const service = await startService({
    ...settings,
    page: { files: pageFiles, localKey, localRpcUrl: local?.chain.rpcUrl ?? null },
    profile,
    rpc,
    operator,
    engine: log.engine,
    journal: log.journal,
    epoch: log.epoch,
    history,
    tradeFiles: log.tradeFiles,
    past,
    keys,
    budgets: log.budgets,
    spareDescriptors,
    clock: systemClock,
    random: systemRandom,
    limits: { ...limits, reorgDepth: log.reorgDepth },
    metrics,
    ...(traces !== null && { traces: traces.posts }),
    tierQuotas: effectiveQuotas(settings),
    logger,
    showStatus: status?.show,
    onFault: (error) => failStop(logger, error, 'engine'),
    onDeepReorg: (why) => void log.noteDeepReorg(why).catch((error: unknown) => failStop(logger, error, 'manifest')),
  });
  ends.push(() => keys.close());
  ends.push(() => service.stop());
  followSettings(context, service);
  const { backend, library, port, containerPort } = service;
  logger.info({ backend, ...library, port, ...containerPortOf(service), profile: profile.name }, 'listening');
  let durable = log.engine.index;
  log.journal.onCommit((index) => (durable = index));
  manager?.ready(
    logProgress({
      applied: () => log.engine.index,
      durable: () => durable,
      isRefusing: () => log.journal.refusal() === 'STORAGE_FULL',
    }),
  );
  manager?.status('reads the chains to their heads');
  await untilStopped(context, service.ready, async () => {
    if (readyFile === null) return;
    const at = { host: settings.host, port, containerPort };
    if (local !== null && localKey !== null) {
      const ready = await writeReadyFile(readyFile, at, { local, apiKey: localKey });
      process.stdout.write(greeting(ready, readyFile, await examplesDirectory()));
    } else await writeReadyFile(readyFile, at, null);
  });
}

/** Keys in the data directory. */
function openKeys({ settings, limits }: ProcessContext): Promise<KeyStore> {
  return KeyStore.open({
    files: new DiskKeyFiles(settings.dataDir, systemClock, limits.keyUpdateMs, lockFile),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
    acceptMissing: acceptsMissing(settings, LEDGER),
    selfKeyUnusedDays: limits.selfKeyUnusedDays,
  });
}

/** An engine of a cluster. */
async function serveEngine(context: ProcessContext, deployment: Deployment): Promise<void> {
  const { settings, limits, logger, manager, stopping, ends } = context;
  const { readyFile } = settings;
  const { clusterOptions } = await import('./app/cluster-options.js');
  const { runEngine } = await import('./app/engine-process.js');
  const { connectCluster } = await import('./cluster/connection.js');
  if (readyFile !== null) await rm(readyFile, { force: true });
  const metrics = await openMetrics(context);
  const connection = await clusterOptions(settings, deployment.profile.name, limits, readText);
  const identity = await awaitIdentity(context, deployment);
  if (identity === null) return;
  const cluster = await connectCluster(connection);
  ends.push(() => cluster.close());
  const quotas = new Quotas(effectiveQuotas(settings), limits.answerBurstSeconds, (quota, tier) =>
    metrics?.refusedByQuota.labels(quota, tier).inc(),
  );
  followSettings(context, { adoptQuotas: (table) => quotas.adopt(table) });
  await runEngine({
    ...deployment,
    settings,
    limits,
    quotas,
    cluster,
    identity,
    walletKey: await readWalletKey(settings, readText),
    logger,
    metrics,
    version: PACKAGE_VERSION,
    stopping,
    async onStandby() {
      manager?.ready(() => true);
      if (readyFile !== null) await writeWhole(readyFile, `${JSON.stringify({ pid: process.pid })}\n`);
    },
    onFault: (error) => failStop(logger, error, 'engine'),
  });
}

/** A gateway of a cluster. */
async function serveGateway(context: ProcessContext, deployment: Deployment): Promise<void> {
  const { settings, limits, logger, manager, ends } = context;
  const { host, readyFile } = settings;
  const { clusterOptions } = await import('./app/cluster-options.js');
  const { startGateway } = await import('./app/gateway-process.js');
  const { connectCluster } = await import('./cluster/connection.js');
  if (readyFile !== null) await rm(readyFile, { force: true });
  const metrics = await openMetrics(context);
  const cluster = await connectCluster(await clusterOptions(settings, deployment.profile.name, limits, readText));
  ends.push(() => cluster.close());
  const gateway = await startGateway({
    ...deployment,
    settings,
    limits,
    cluster,
    logger,
    metrics,
    version: PACKAGE_VERSION,
    page: { files: await readPageFiles(PAGE_DIRECTORY), localKey: null },
    spareDescriptors,
    onFault: (error) => failStop(logger, error, 'gateway'),
  });
  const { service } = gateway;
  ends.push(() => gateway.stop());
  followSettings(context, service);
  const { backend, port, containerPort, ready } = service;
  const { name } = deployment.profile;
  logger.info({ backend, port, ...containerPortOf(service), profile: name }, 'gateway listening');
  manager?.ready(() => true);
  await untilStopped(context, ready, async () => {
    if (readyFile !== null) await writeReadyFile(readyFile, { host, port, containerPort }, null);
  });
}

/** Null: they are off. */
async function openMetrics({ settings, limits, logger, ends }: ProcessContext): Promise<Metrics | null> {
  const { metricsHost, metricsPort } = settings;
  if (metricsPort === null) return null;
  const metrics = new Metrics();
  metrics.build.labels(PACKAGE_VERSION, process.version).set(1);
  const server = await serveMetrics(metrics, metricsHost, metricsPort, limits);
  ends.push(() => server.close());
  logger.info({ port: server.port }, 'metrics listening');
  return metrics;
}

/** Takes over the settings that may change while the process runs. */
function followSettings(
  { settings, reread, limits, logger, ends }: ProcessContext,
  service: Parameters<typeof adoptSettings>[0],
): void {
  ends.push(
    watchSettings(settings, {
      clock: systemClock,
      periodMs: limits.settingsWatchMs,
      reread,
      onChange: (now, changes) => adoptSettings(service, now, changes, logger),
      onProblems: (problems) => logger.warn({ problems }, 'settings rejected'),
    }),
  );
}

/** Resolves at the signal that stops the process. `onReady`: before that, once the service is ready for clients. */
async function untilStopped(
  { stopping, manager, logger }: ProcessContext,
  ready: Promise<void>,
  onReady: () => Promise<void>,
): Promise<void> {
  const isReady = await Promise.race([ready.then(() => true), stopping.then(() => false)]);
  if (isReady) {
    manager?.status('ready');
    await onReady();
  }
  const signal = await stopping;
  logger.info({ signal }, 'stopping');
}

/** Nothing without a second listener. */
function containerPortOf({ containerPort }: { readonly containerPort: number | null }): { containerPort?: number } {
  return containerPort === null ? {} : { containerPort };
}

/** In one piece: a program that waits for the file never reads half of it. */
async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

/** Null: they are off; the libraries are loaded only where they are on. */
async function openTracesFor(
  { settings, limits, logger, ends }: ProcessContext,
  metrics: Metrics | null,
): Promise<OpenTraces | null> {
  const { otlpTracesUrl: url } = settings;
  if (url === null) return null;
  const { openTraces } = await import('./app/otlp-traces.js');
  const traces = openTraces({ url, version: PACKAGE_VERSION, clock: systemClock, limits, logger, metrics });
  ends.push(() => traces.close());
  return traces;
}

/** Null if a signal stopped the wait. */
function awaitIdentity(
  { settings, limits, logger, stopping }: ProcessContext,
  { profile, rpc }: Deployment,
): Promise<ChainIdentity | null> {
  const ask = async (): Promise<ChainIdentity> => {
    const identity = await readIdentity(profile, rpc);
    await checkProfile(profile, rpc, multicallLimits(limits));
    return identity;
  };
  return awaitChains({ ...settings, ask, limits, clock: systemClock, random: systemRandom, logger, stopping });
}

/** Logs one line and exits: no answer or push may follow, and recovery starts from what is on the disk. */
function failStop(logger: Logger, error: unknown, component: string): never {
  logger.fatal({ err: error, component }, 'process failed');
  process.exit(1);
}

function openRpc({ limits, logger }: ProcessContext, { chainId, rpcUrls }: ChainProfile): HttpRpc {
  const { onError, onAnswer } = endpointTroubles(logger, systemClock, limits.troubleCalmMs);
  return new HttpRpc(rpcUrls, chainId, rpcOptions(limits), systemClock, systemRandom, onError, onAnswer);
}
