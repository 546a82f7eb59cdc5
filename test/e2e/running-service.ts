import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino, { type Logger } from 'pino';
import { rpcOptions } from '../../src/app/chain-wiring.js';
import { openDataDirectory } from '../../src/app/data-directory.js';
import { LogEvents } from '../../src/past/log-event-history.js';
import { PAGE_DIRECTORY, readPageFiles } from '../../src/app/page-files.js';
import { endpointTroubles } from '../../src/app/trouble-log.js';
import type { PostTraces } from '../../src/app/post-traces.js';
import { type Service, startService } from '../../src/app/service.js';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import type { Privacy } from '../../src/auth/taker-access.js';
import { type ChainProfile, type Profile, readIdentity } from '../../src/chain/contracts/deployments.js';
import { type LocalChain, startLocalChain } from '../../src/chain/dev/local-chain.js';
import { HttpRpc } from '../../src/chain/rpc/rpc-client.js';
import { type Limits, limits as defaultLimits, tierQuotas } from '../../src/config/limits.js';
import { type Settings, settingNames, settingTable } from '../../src/config/setting-table.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Journal } from '../../src/engine/ports.js';
import type { KeyValueStore } from '../../src/persistence/disk/disk.js';
import type { Hex } from '../../src/engine/quote.js';
import type { Metrics } from '../../src/metrics/metrics.js';
import type { BackendChoice } from '../../src/net/open-server.js';
import { PastThread } from '../../src/past/past-thread.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import type { QuotaTable } from '../../src/quota/rate-limits.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { newOperator } from '../chain/following.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { newEngine } from '../engine/samples.js';

export interface TestServiceOptions {
  /** A chain of the test's own; without one a new one is started, and ended by `stop`. */
  readonly chain?: LocalChain;
  readonly profile?: Profile;
  /** Null: no wallet. */
  readonly walletKey?: Hex | null;
  readonly engine?: Engine;
  /** The engine's log, which `stop` leaves open; without one nothing is kept. */
  readonly journal?: Journal;
  /** The service writes a log into its directory, and answers questions about the past from it. */
  readonly keepsLog?: boolean;
  /** As the setting of that name. */
  readonly retainLogBytes?: number;
  /** Its directory, which `stop` leaves there: with `keepsLog` a later service goes on from its log. */
  readonly dataDir?: string;
  /** The log's name, 16 hex digits. */
  readonly epoch?: string;
  readonly limits?: Partial<Limits>;
  readonly metrics?: Metrics;
  readonly tierQuotas?: QuotaTable;
  /** Cap of what the wallet spends. */
  readonly spendPerDayWei?: bigint;
  readonly budgets?: KeyValueStore;
  /** As the setting `operatorTokensPerDay`. */
  readonly tokensPerDay?: readonly string[];
  /** As the setting `operatorReferrer`. */
  readonly referrer?: Hex;
  readonly netBackend?: BackendChoice;
  /** 0, the default, picks a free one. */
  readonly port?: number;
  /** Absent: there is no second listener. 0 picks a free one. */
  readonly containerPort?: number;
  /** Keys of the test's own, which `stop` leaves open. */
  readonly keys?: KeyStore;
  /** Serves the page that was built, and gives it the service's key as a local set-up does, or not. */
  readonly page?: { readonly givesKey: boolean };
  /** Hears what it says; without one nobody does. */
  readonly logger?: Logger;
  /** Absent: all. */
  readonly corsOrigins?: readonly string[];
  readonly trustedProxies?: readonly string[];
  /** Absent: open. */
  readonly privacy?: Privacy;
  /** As the setting of that name. Absent: `localhost` and 127.0.0.1. */
  readonly signInDomains?: readonly string[];
  readonly traces?: PostTraces;
  /** Absent: no. */
  readonly selfService?: 'no' | 'yes';
}

export interface TestService {
  /** Where its keys are; another process may change them there. */
  readonly dataDir: string;
  readonly httpUrl: string;
  readonly wsUrl: string;
  /** Host and port of the second listener; null without one. */
  readonly containerAt: string | null;
  readonly apiKey: string;
  readonly chain: LocalChain;
  readonly engine: Engine;
  readonly keys: KeyStore;
  readonly service: Service;
  stop(): Promise<void>;
}

/** Whether a cluster can be set up so: an engine of its own, a log or keys belong to one process. */
function isForGateways(options: TestServiceOptions): boolean {
  const { engine, journal, keys, budgets, spendPerDayWei, tokensPerDay, dataDir } = options;
  return [engine, journal, keys, budgets, spendPerDayWei, tokensPerDay, dataDir].every((own) => own === undefined);
}

/**
 * The real service on a real chain, in this process, on ports and in a directory of its own. Caught up when it
 * resolves. With QUOTEBOOK_TEST_THROUGH=gateway it is a gateway of a cluster, with the engine and a NATS server behind
 * it (test/cluster/conformance.test.ts).
 */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const chain = options.chain ?? (await startLocalChain());
  const profile = options.profile ?? chain.profile;
  const limits: Limits = { ...defaultLimits, chainPollMs: 50, ...options.limits };
  const dataDir = options.dataDir ?? (await mkdtemp(path.join(tmpdir(), 'quotebook-')));
  const keys =
    options.keys ??
    (await KeyStore.open({
      files: new DiskKeyFiles(dataDir, systemClock, limits.keyUpdateMs, lockFile),
      clock: systemClock,
      random: systemRandom,
      cacheSize: limits.keyCache,
      selfKeyUnusedDays: limits.selfKeyUnusedDays,
    }));
  const { key: apiKey } = await keys.create('paid', 'test', ['operator']);
  const { onError, onAnswer } = endpointTroubles(
    options.logger ?? pino({ level: 'silent' }),
    systemClock,
    limits.troubleCalmMs,
  );
  const rpc = ({ rpcUrls, chainId }: ChainProfile) =>
    new HttpRpc(rpcUrls, chainId, rpcOptions(limits), systemClock, systemRandom, onError, onAnswer);
  const walletKey = options.walletKey === undefined ? (chain.accounts[0]?.privateKey ?? null) : options.walletKey;
  if (process.env.QUOTEBOOK_TEST_THROUGH === 'gateway' && isForGateways(options)) {
    const { startBehindGateway } = await import('../cluster/behind-gateway.js');
    const behind = await startBehindGateway({
      options,
      profile,
      rpc: { settlement: rpc(profile.settlement), stream: rpc(profile.stream) },
      walletKey,
      limits,
      dataDir,
    });
    keys.close();
    return {
      ...behind,
      dataDir,
      chain,
      async stop() {
        await behind.stop();
        if (options.chain === undefined) await chain.stop();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  }
  const log =
    options.keepsLog === true ? await openTestLog(profile, rpc, dataDir, limits, options.retainLogBytes ?? null) : null;
  const engine = options.engine ?? log?.engine ?? newEngine(limits.reorgDepth);
  const cap = {
    ...(options.spendPerDayWei !== undefined && { spendPerDayWei: options.spendPerDayWei }),
    ...(options.tokensPerDay !== undefined && { tokensPerDay: options.tokensPerDay }),
    ...(options.referrer !== undefined && { referrer: options.referrer }),
  };
  const service = await startService({
    profile,
    rpc: { settlement: rpc(profile.settlement), stream: rpc(profile.stream) },
    operator: walletKey === null ? null : { ...newOperator(walletKey), ...cap },
    engine,
    journal: options.journal ?? log?.journal ?? new MemoryJournal(),
    epoch: options.epoch ?? log?.epoch ?? '00000000000000e2',
    history: log?.events ?? null,
    ...(log !== null && { past: log.past, tradeFiles: log.tradeFiles }),
    keys,
    ...(options.budgets === undefined ? {} : { budgets: options.budgets }),
    clock: systemClock,
    random: systemRandom,
    limits,
    metrics: options.metrics ?? null,
    tierQuotas: options.tierQuotas ?? tierQuotas,
    host: '127.0.0.1',
    port: options.port ?? 0,
    containerPort: options.containerPort ?? null,
    netBackend: options.netBackend ?? 'auto',
    corsOrigins: options.corsOrigins ?? ['*'],
    trustedProxies: options.trustedProxies ?? [],
    privacy: options.privacy ?? 'open',
    signInDomains: options.signInDomains ?? [],
    ...(options.traces !== undefined && { traces: options.traces }),
    selfService: options.selfService ?? 'no',
    page: {
      files: options.page === undefined ? [] : await readPageFiles(PAGE_DIRECTORY),
      localKey: options.page?.givesKey === true ? apiKey : null,
      localRpcUrl: options.page?.givesKey === true ? chain.rpcUrl : null,
    },
    logger: options.logger ?? pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' }),
    onFault(error) {
      throw error;
    },
  });
  await service.ready;
  const authority = `127.0.0.1:${service.port}`;
  return {
    httpUrl: `http://${authority}`,
    wsUrl: `ws://${authority}`,
    containerAt: service.containerPort === null ? null : `127.0.0.1:${service.containerPort}`,
    apiKey,
    dataDir,
    chain,
    engine,
    keys,
    service,
    async stop() {
      await service.stop();
      await log?.past.close();
      log?.events.close();
      await log?.close();
      if (options.keys === undefined) keys.close();
      if (options.chain === undefined) await chain.stop();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A log as a process has it, and what reads its past. */
async function openTestLog(
  profile: Profile,
  rpc: (chain: ChainProfile) => HttpRpc,
  dataDir: string,
  limits: Limits,
  retainLogBytes: number | null,
) {
  const logger = pino({ level: 'silent' });
  const defaults = Object.fromEntries(settingNames.map((name) => [name, settingTable[name].default])) as Settings;
  const log = await openDataDirectory({
    settings: { ...defaults, dataDir, retainLogBytes },
    limits,
    name: profile.name,
    identity: await readIdentity(profile, { settlement: rpc(profile.settlement), stream: rpc(profile.stream) }),
    beginAnew: false,
    logger,
    onFatal(error) {
      throw error;
    },
  });
  const work = { directory: log.directory, chainId: String(profile.settlement.chainId), profile, limits };
  const events = await LogEvents.open(log.history, systemClock, limits);
  return { ...log, events, past: new PastThread(work, systemClock, limits) };
}
