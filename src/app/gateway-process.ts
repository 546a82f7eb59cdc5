import type { ClusterConnection } from '../cluster/connection.js';
import { GatewayReplica } from '../cluster/gateway-replica.js';
import { ClusterKeyFiles } from '../cluster/kept-values.js';
import { NatsLogStream } from '../cluster/log-stream.js';
import { answerRoll } from '../cluster/members.js';
import { SnapshotStore } from '../cluster/snapshot-store.js';
import { effectiveQuotas } from '../config/effective-limits.js';
import type { Settings } from '../config/setting-table.js';
import type { Engine } from '../engine/engine.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { openClusterKeyStore } from './cluster-options.js';
import { openGatewayCore } from './gateway-core.js';
import { type Service, startService } from './service.js';
import type { ServiceOptions } from './service-options.js';

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
  /** Leaves the connection to the cluster open. */
  stop(): Promise<void>;
}

/** A gateway of a cluster: serves clients from a replica of the book, and hands what they want to the leader. */
export async function startGateway(options: GatewayProcessOptions): Promise<GatewayProcess> {
  const { settings, cluster, limits, logger, onFault, version } = options;
  const { member } = cluster.options;
  const stream = new NatsLogStream(cluster);
  const replica = await GatewayReplica.open({
    stream,
    snapshots: await SnapshotStore.attach(cluster),
    clock: systemClock,
    limits,
    logger,
    onFault,
  });
  logger.info({ member, index: replica.engine.index, term: replica.at.term }, 'replica caught up');
  const keys = await openClusterKeyStore(await ClusterKeyFiles.attach(cluster), limits);
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
    openCore: (given, quotas) => openGatewayCore(given, quotas, cluster, replica),
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
    },
  };
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
