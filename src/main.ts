import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { privateKeyToAddress } from 'viem/accounts';
import { adoptSettings } from './app/adopt-settings.js';
import { multicallLimits } from './app/chain-wiring.js';
import { acceptsMissing, type DataDirectory, openDataDirectory } from './app/data-directory.js';
import { greeting, localApiKey, type LocalSetup, openLocalSetup, writeReadyFile } from './app/local-setup.js';
import { LogEvents } from './app/log-event-history.js';
import {
  endAll,
  endpointTroubles,
  openLogger,
  openStatusLine,
  PAGE_DIRECTORY,
  readPageFiles,
  untilSignal,
} from './app/process.js';
import type { StatusLine } from './app/progress.js';
import type { OpenTraces } from './app/otlp-traces.js';
import { measureStorage } from './app/metrics-wiring.js';
import { startService } from './app/service.js';
import { awaitChains } from './app/wait-for-chains.js';
import { DiskKeyFiles } from './auth/key-file.js';
import { KeyStore, LEDGER } from './auth/key-store.js';
import { type ChainIdentity, type ChainProfile, type Profile, readIdentity } from './chain/contracts/deployments.js';
import { checkProfile } from './chain/contracts/profile-check.js';
import { HttpRpc } from './chain/rpc/rpc-client.js';
import type { OperatorAccount } from './chain/wallet/open-wallets.js';
import { effectiveLimits, effectiveQuotas } from './config/effective-limits.js';
import type { Limits } from './config/limits.js';
import { profileNamed, withEndpoints } from './config/profile-file.js';
import type { Settings } from './config/setting-table.js';
import { watchSettings } from './config/settings-watch.js';
import { explainFileError, type ReadSettings } from './config/settings.js';
import { readWalletKey, walletTerms } from './config/wallet-key.js';
import type { ChainRole } from './engine/command.js';
import type { Hex } from './engine/quote.js';
import { Metrics, serveMetrics } from './metrics/metrics.js';
import { PastThread } from './past/past-thread.js';
import { lockFile } from './persistence/disk/file-lock.js';
import { spareDescriptors, systemClock, systemRandom } from './system/clock.js';
import { makeDirectory, modeBeyondOwner } from './system/make-directory.js';
import { PACKAGE_VERSION } from './system/package-version.js';
import { logProgress, openServiceManager, type ServiceManager } from './system/systemd.js';

/** Beside the build, in a clone and in the package; images have none. */
async function examplesDirectory(): Promise<string | null> {
  const directory = fileURLToPath(new URL('../../examples/', import.meta.url));
  return (await stat(directory).catch(() => null)) === null ? null : directory;
}

function openMetrics(): Metrics {
  const metrics = new Metrics();
  metrics.build.labels(PACKAGE_VERSION, process.version).set(1);
  return metrics;
}

const readText = (file: string): Promise<string> => readFile(file, 'utf8');

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
  try {
    await serveFromDirectory(settings, reread, limits, logger, stopping, manager, status);
  } catch (error) {
    throw explainFileError(error, settings);
  } finally {
    await manager?.close();
  }
}

async function serveFromDirectory(
  settings: Settings,
  reread: () => Promise<ReadSettings>,
  limits: Limits,
  logger: Logger,
  stopping: Promise<NodeJS.Signals>,
  manager: ServiceManager | null,
  status: StatusLine | null,
): Promise<void> {
  const { dataDir } = settings;
  await makeDirectory(dataDir);
  // Not changed: it may be a directory that others use, too, such as /tmp.
  const mode = await modeBeyondOwner(dataDir);
  if (mode !== null) logger.warn({ dataDir, mode }, 'data directory open to others');
  const local = settings.profile === 'local' ? await openLocal(settings, limits, logger) : null;
  try {
    await serve(settings, reread, limits, logger, local, stopping, manager, status);
  } finally {
    status?.show('');
    await local?.stop();
  }
}

function openLocal(
  { dataDir, blockTime, liveMarket: seed }: Settings,
  limits: Limits,
  logger: Logger,
): Promise<LocalSetup> {
  const onError = (error: unknown): void => logger.warn({ err: error }, 'live market step failed');
  return openLocalSetup(dataDir, {
    ...(blockTime !== null && { blockTimeSeconds: blockTime }),
    ...(seed !== null && { liveMarket: { seed, everyMs: limits.liveMarketMs, clock: systemClock, onError } }),
  });
}

async function serve(
  settings: Settings,
  reread: () => Promise<ReadSettings>,
  limits: Limits,
  logger: Logger,
  local: LocalSetup | null,
  stopping: Promise<NodeJS.Signals>,
  manager: ServiceManager | null,
  status: StatusLine | null,
): Promise<void> {
  const profile = withEndpoints(local?.chain.profile ?? (await profileNamed(settings.profile, readText)), settings);
  if (settings.role !== 'all') {
    return serveInCluster(settings, reread, limits, logger, profile, stopping, manager);
  }
  const keys = await KeyStore.open({
    files: new DiskKeyFiles(settings.dataDir, systemClock, limits.keyUpdateMs, lockFile),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
    acceptMissing: acceptsMissing(settings, LEDGER),
    selfKeyUnusedDays: limits.selfKeyUnusedDays,
  });
  const walletKey = (await readWalletKey(settings, readText)) ?? local?.operatorKey ?? null;
  const rpcOf = (chain: ChainProfile): HttpRpc => openRpc(chain, limits, logger);
  const rpc = { settlement: rpcOf(profile.settlement), stream: rpcOf(profile.stream) };
  manager?.status('asks the chains who they are');
  const identity = await awaitIdentity(settings, profile, rpc, limits, logger, stopping);
  if (identity === null) return;
  manager?.status('recovers the log');
  // Ends of the parts that have begun: if the start fails, none of them may keep the process alive.
  const ends: (() => Promise<void> | void)[] = [];
  try {
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
    const operator = walletKey === null ? null : await operatorAccount(log, profile, walletKey, settings);
    const { metricsHost, metricsPort } = settings;
    const metrics = metricsPort === null ? null : openMetrics();
    const metricsServer = metrics && (await serveMetrics(metrics, metricsHost, metricsPort ?? 0, limits));
    if (metricsServer !== null) {
      ends.push(() => metricsServer.close());
      logger.info({ port: metricsServer.port }, 'metrics listening');
    }
    if (metrics !== null) measureStorage(metrics, () => log.storage(), systemClock);
    const traces = await tracesOf(settings, limits, logger, metrics);
    if (traces !== null) ends.push(() => traces.close());
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
    const stopWatch = watchSettings(settings, {
      clock: systemClock,
      periodMs: limits.settingsWatchMs,
      reread,
      onChange: (now, changes) => adoptSettings(service, now, changes, logger),
      onProblems: (problems) => logger.warn({ problems }, 'settings rejected'),
    });
    ends.push(stopWatch);
    logger.info(
      {
        backend: service.backend,
        ...service.library,
        port: service.port,
        ...containerPortOf(service),
        profile: profile.name,
      },
      'listening',
    );
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
    const at = { host: settings.host, port: service.port, containerPort: service.containerPort };
    const isReady = await Promise.race([service.ready.then(() => true), stopping.then(() => false)]);
    if (isReady) manager?.status('ready');
    if (isReady && readyFile !== null) {
      if (local !== null && localKey !== null) {
        const ready = await writeReadyFile(readyFile, at, { local, apiKey: localKey });
        process.stdout.write(greeting(ready, readyFile, await examplesDirectory()));
      } else await writeReadyFile(readyFile, at, null);
    }
    const signal = await stopping;
    logger.info({ signal }, 'stopping');
  } finally {
    await endAll(ends);
  }
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

/** As an engine or a gateway of a cluster. */
async function serveInCluster(
  settings: Settings,
  reread: () => Promise<ReadSettings>,
  limits: Limits,
  logger: Logger,
  profile: Profile,
  stopping: Promise<NodeJS.Signals>,
  manager: ServiceManager | null,
): Promise<void> {
  const { runEngine, startGateway, clusterOptions, connectCluster } = await import('./app/cluster-roles.js');
  const rpcOf = (chain: ChainProfile): HttpRpc => openRpc(chain, limits, logger);
  const rpc = { settlement: rpcOf(profile.settlement), stream: rpcOf(profile.stream) };
  const { metricsHost, metricsPort, readyFile } = settings;
  const ends: (() => Promise<void> | void)[] = [];
  try {
    if (readyFile !== null) await rm(readyFile, { force: true });
    const metrics = metricsPort === null ? null : openMetrics();
    const metricsServer = metrics && (await serveMetrics(metrics, metricsHost, metricsPort ?? 0, limits));
    if (metricsServer !== null) ends.push(() => metricsServer.close());
    const connection = await clusterOptions(settings, profile.name, limits, readText);
    if (settings.role === 'engine') {
      const identity = await awaitIdentity(settings, profile, rpc, limits, logger, stopping);
      if (identity === null) return;
      const cluster = await connectCluster(connection);
      ends.push(() => cluster.close());
      const privateKey = await readWalletKey(settings, readText);
      await runEngine({
        settings,
        limits,
        profile,
        rpc,
        cluster,
        identity,
        wallet: privateKey === null ? null : { privateKey, address: privateKeyToAddress(privateKey) },
        logger,
        metrics,
        version: PACKAGE_VERSION,
        stopping,
        onStandby: () => {
          manager?.ready(() => true);
          if (readyFile !== null) void writeWhole(readyFile, `${JSON.stringify({ pid: process.pid })}\n`);
        },
        onFault: (error) => failStop(logger, error, 'engine'),
      });
      return;
    }
    const cluster = await connectCluster(connection);
    ends.push(() => cluster.close());
    const pageFiles = await readPageFiles(PAGE_DIRECTORY);
    const gateway = await startGateway({
      settings,
      limits,
      profile,
      rpc,
      cluster,
      logger,
      metrics,
      version: PACKAGE_VERSION,
      page: { files: pageFiles, localKey: null },
      spareDescriptors,
      onFault: (error) => failStop(logger, error, 'gateway'),
    });
    ends.push(() => gateway.stop());
    ends.push(
      watchSettings(settings, {
        clock: systemClock,
        periodMs: limits.settingsWatchMs,
        reread,
        onChange: (now, changes) => adoptSettings(gateway.service, now, changes, logger),
        onProblems: (problems) => logger.warn({ problems }, 'settings rejected'),
      }),
    );
    const { backend, port, containerPort, ready } = gateway.service;
    logger.info({ backend, port, ...containerPortOf({ containerPort }), profile: profile.name }, 'gateway listening');
    manager?.ready(() => true);
    const isReady = await Promise.race([ready.then(() => true), stopping.then(() => false)]);
    if (isReady && readyFile !== null) {
      await writeReadyFile(readyFile, { host: settings.host, port, containerPort }, null);
    }
    const signal = await stopping;
    logger.info({ signal }, 'stopping');
  } finally {
    await endAll(ends);
  }
}

/** The libraries are loaded only where traces are on. */
async function tracesOf(
  { otlpTracesUrl: url }: Settings,
  limits: Limits,
  logger: Logger,
  metrics: Metrics | null,
): Promise<OpenTraces | null> {
  if (url === null) return null;
  const { openTraces } = await import('./app/otlp-traces.js');
  return openTraces({ url, version: PACKAGE_VERSION, clock: systemClock, limits, logger, metrics });
}

/** Null if a signal stopped the wait. */
function awaitIdentity(
  settings: Settings,
  profile: Profile,
  rpc: Readonly<Record<ChainRole, HttpRpc>>,
  limits: Limits,
  logger: Logger,
  stopping: Promise<NodeJS.Signals>,
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

/** Two chains have two lines of nonces; where both roles are one chain they share it. */
async function operatorAccount(
  directory: DataDirectory,
  { settlement, stream }: Profile,
  privateKey: Hex,
  settings: Settings,
): Promise<OperatorAccount> {
  const address = privateKeyToAddress(privateKey);
  const ofSettlement = await directory.openIntents(settlement.chainId, address);
  const isOneChain = stream.chainId === settlement.chainId;
  const ofStream = isOneChain ? ofSettlement : await directory.openIntents(stream.chainId, address);
  return { privateKey, intents: { settlement: ofSettlement, stream: ofStream }, ...walletTerms(settings) };
}

function openRpc({ chainId, rpcUrls }: ChainProfile, limits: Limits, logger: Logger): HttpRpc {
  const patience = {
    timeoutMs: limits.rpcTimeoutMs,
    attempts: limits.rpcAttempts,
    backoffMs: limits.rpcBackoffMs,
    returnAfterMs: limits.rpcReturnAfterMs,
    maxAnswerBytes: limits.rpcAnswerBytes,
    maxCallAnswerBytes: limits.rpcCallAnswerBytes,
  };
  const { onError, onAnswer } = endpointTroubles(logger, systemClock, limits.troubleCalmMs);
  return new HttpRpc(rpcUrls, chainId, patience, systemClock, systemRandom, onError, onAnswer);
}
