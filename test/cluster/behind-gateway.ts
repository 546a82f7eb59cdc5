import pino from 'pino';
import { runEngine } from '../../src/app/engine-process.js';
import { startGateway } from '../../src/app/gateway-process.js';
import { PAGE_DIRECTORY, readPageFiles } from '../../src/app/page-files.js';
import type { Service } from '../../src/app/service.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { type Profile, readIdentity } from '../../src/chain/contracts/deployments.js';
import type { HttpRpc } from '../../src/chain/rpc/rpc-client.js';
import { ClusterKeyFiles } from '../../src/cluster/kept-values.js';
import { effectiveQuotas } from '../../src/config/effective-limits.js';
import type { Limits } from '../../src/config/limits.js';
import {
  type Settings,
  settingNames,
  settingTable,
  tierSettingName,
  type QuotaName,
} from '../../src/config/setting-table.js';
import type { ChainRole } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Hex } from '../../src/engine/quote.js';
import { TIERS } from '../../src/auth/key-file.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { spareDescriptors, systemClock, systemRandom } from '../../src/system/clock.js';
import type { TestServiceOptions } from '../e2e/running-service.js';
import { connectTo, natsServers } from './nats-servers.js';

export interface BehindGatewayOptions {
  readonly options: TestServiceOptions;
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, HttpRpc>>;
  readonly walletKey: Hex | null;
  readonly limits: Limits;
  readonly dataDir: string;
}

export interface BehindGateway {
  readonly httpUrl: string;
  readonly wsUrl: string;
  readonly containerAt: string | null;
  readonly apiKey: string;
  readonly engine: Engine;
  readonly keys: KeyStore;
  readonly service: Service;
  stop(): Promise<void>;
}

/** Defaults, changed as the test wants. */
export function settingsOf({ tierQuotas: table, ...options }: TestServiceOptions, dataDir: string): Settings {
  const defaults = Object.fromEntries(settingNames.map((name) => [name, settingTable[name].default]));
  const quotas = TIERS.flatMap((tier) =>
    Object.entries(table?.[tier] ?? {}).map(([quota, value]): [string, number] => [
      tierSettingName(tier, quota as QuotaName),
      value as number,
    ]),
  );
  const {
    corsOrigins = ['*'],
    trustedProxies = [],
    netBackend = 'auto',
    port = 0,
    containerPort = null,
    privacy = 'open',
    selfService = 'no',
  } = options;
  const own = { dataDir, corsOrigins, trustedProxies, netBackend, port, containerPort, privacy, selfService };
  return { ...defaults, ...Object.fromEntries(quotas), ...own } as Settings;
}

/** A cluster in this process: one NATS server, an engine that leads, and the gateway whose URLs it gives. */
export async function startBehindGateway(given: BehindGatewayOptions): Promise<BehindGateway> {
  const { options, profile, rpc, walletKey, dataDir } = given;
  // Nobody else would lead: a machine that stands still for seconds does not end a test that is of something else.
  const limits = { ...given.limits, clusterLeaseMs: 30_000 };
  const ends: (() => Promise<void> | void)[] = [];
  const t = { teardown: (end: () => Promise<void> | void) => void ends.push(end) };
  const servers = await natsServers(t, { servers: 1 });
  const connect = (member: string) =>
    connectTo(t, servers, { member, deployment: profile.name, unsafe: true, monitors: [] });
  const settings = settingsOf(options, dataDir);
  const logger = options.logger ?? pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });
  const onFault = (error: unknown): void => {
    throw error;
  };
  let stopEngine = (): void => undefined;
  const stopping = new Promise<void>((resolve) => (stopEngine = resolve));
  const engineCluster = await connect('engine-1');
  const standby = new Promise<void>((resolve, reject) => {
    const running = readIdentity(profile, rpc).then((identity) =>
      runEngine({
        settings,
        profile,
        rpc,
        limits,
        logger,
        metrics: null,
        cluster: engineCluster,
        identity,
        walletKey,
        quotas: new Quotas(effectiveQuotas(settings), limits.answerBurstSeconds, () => undefined),
        version: 'test',
        onFault,
        stopping,
        onStandby: resolve,
      }),
    );
    running.catch(reject);
    ends.push(() => running);
  });
  await standby;
  const keys = await KeyStore.open({
    files: await ClusterKeyFiles.open(await connect('admin')),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
  });
  const { key: apiKey } = await keys.create('paid', 'test', ['operator']);
  const gateway = await startGateway({
    settings,
    profile,
    rpc,
    limits,
    logger,
    metrics: options.metrics ?? null,
    cluster: await connect('gateway-1'),
    version: 'test',
    page: {
      files: options.page === undefined ? [] : await readPageFiles(PAGE_DIRECTORY),
      localKey: options.page?.givesKey === true ? apiKey : null,
    },
    spareDescriptors,
    onFault,
  });
  await gateway.service.ready;
  const authority = `127.0.0.1:${gateway.service.port}`;
  return {
    httpUrl: `http://${authority}`,
    wsUrl: `ws://${authority}`,
    containerAt: gateway.service.containerPort === null ? null : `127.0.0.1:${gateway.service.containerPort}`,
    apiKey,
    engine: gateway.engine,
    keys,
    service: gateway.service,
    async stop() {
      await gateway.stop();
      keys.close();
      stopEngine();
      for (const end of ends.reverse()) await end();
    },
  };
}
