import type { Logger } from 'pino';
import type { KeyStore } from '../auth/key-store.js';
import type { Privacy } from '../auth/taker-access.js';
import type { Profile } from '../chain/contracts/deployments.js';
import type { OperatorAccount } from '../chain/wallet/open-wallets.js';
import type { Limits } from '../config/limits.js';
import type { ChainRole } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { Clock, Journal, Random } from '../engine/ports.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import type { Rpc } from '../chain/rpc/rpc-client.js';
import type { EventHistory } from '../feed/event-history.js';
import type { PageOptions } from '../http/static-routes.js';
import type { Metrics } from '../metrics/metrics.js';
import type { ServerChoice } from '../net/open-server.js';
import type { PastThread } from '../past/past-thread.js';
import type { TradeFiles } from '../persistence/trades/trade-files.js';
import type { Quotas, QuotaTable } from '../quota/rate-limits.js';
import type { Chains, ChainsOptions } from './chains.js';
import type { Core } from './core.js';
import type { PostTraces } from './post-traces.js';
import type { ListenerPorts } from './listeners.js';

/** Parts and settings of a service. */
export interface ServiceOptions extends ServerChoice, ListenerPorts {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, Rpc>>;
  /** Opens the chain clients; the benches pass one that answers at once. */
  readonly openChains?: (options: ChainsOptions) => Chains;
  /** The book that is served; absent: that of this process's own engine. */
  readonly openCore?: (
    options: ServiceOptions,
    quotas: Quotas,
    onFault: (error: unknown) => void,
  ) => Core | Promise<Core>;
  /** Null: the service reads and does not publish. */
  readonly operator: OperatorAccount | null;
  /** As recovery left it. */
  readonly engine: Engine;
  readonly journal: Journal;
  /** 16 hex digits that tell the engine's log from every other. */
  readonly epoch: string;
  /** Events from before this start; null: none are kept. */
  readonly history: EventHistory | null;
  /** Where its trades are kept besides; null: these cannot be used. Absent: they are in the log alone. */
  readonly tradeFiles?: TradeFiles | null;
  /** Reads the log's past beside the writer; absent: no log is kept. */
  readonly past?: Pick<PastThread, 'ask'>;
  readonly keys: KeyStore;
  /** Where it is kept what keys and wallets have used of their days; absent: it is forgotten with the process. */
  readonly budgets?: KeyValueStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  /** Quotas of the keys of each tier. */
  readonly tierQuotas: QuotaTable;
  /** File descriptors that the process may still open; absent: nobody knows. */
  readonly spareDescriptors?: () => number;
  readonly corsOrigins: readonly string[];
  /** As the setting of that name; absent: open. */
  readonly privacy?: Privacy;
  /** Hosts that people sign in at; none: this machine alone. */
  readonly signInDomains?: readonly string[];
  /** Absent: no. */
  readonly selfService?: 'no' | 'yes';
  /** Proxies whose X-Forwarded-For names the client; none by default. */
  readonly trustedProxies?: readonly string[];
  /** The page that is served at /; none by default. */
  readonly page?: Pick<PageOptions, 'files' | 'localKey'> & Partial<Pick<PageOptions, 'localRpcUrl'>>;
  readonly logger: Logger;
  /** Null: nothing is measured. */
  readonly metrics: Metrics | null;
  /** Of a terminal, as `ProgressOutput` has it; absent: progress goes to the logger. */
  readonly showStatus?: ((text: string) => void) | undefined;
  /** Follows requests that post quotes; absent: none is traced. */
  readonly traces?: PostTraces;
  /** A chain reorganised deeper than is followed: reading has stopped, and no later start may continue this log. */
  readonly onDeepReorg?: (why: string) => void;
  /** State and log may differ from here on: the process has to end. */
  readonly onFault: (error: unknown) => void;
}

/** Parts and settings of a core with an engine of its own. */
export type CoreOptions = Pick<
  ServiceOptions,
  | 'profile'
  | 'rpc'
  | 'openChains'
  | 'operator'
  | 'engine'
  | 'journal'
  | 'past'
  | 'budgets'
  | 'clock'
  | 'random'
  | 'limits'
  | 'logger'
  | 'metrics'
  | 'traces'
  | 'showStatus'
  | 'onFault'
  | 'onDeepReorg'
> & { readonly keys: Pick<KeyStore, 'missing'> };
