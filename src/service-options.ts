import type { Logger } from 'pino';
import type { KeyStore } from './auth/key-store.js';
import type { ChainSide, ChainSideOptions } from './chain/chain-side-options.js';
import type { Profile } from './chain/contracts/deployments.js';
import type { OperatorAccount } from './chain/wallet/open-wallets.js';
import type { Limits } from './config/limits.js';
import type { ChainRole } from './engine/command.js';
import type { Engine } from './engine/engine.js';
import type { Clock, Journal, KeptValues, Random, Rpc } from './engine/ports.js';
import type { EventHistory } from './feed/event-history.js';
import type { HttpSide } from './http-side.js';
import type { PageOptions } from './http/static-routes.js';
import type { Metrics } from './metrics/metrics.js';
import type { NetServer } from './net/net.js';
import type { ServerChoice } from './net/open-server.js';
import type { QuotaTable } from './quota/rate-limits.js';

/** What a service is put together from. */
export interface ServiceOptions extends ServerChoice {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, Rpc>>;
  /** What talks to the chains; the benches put one there that answers at once. */
  readonly openChains?: (options: ChainSideOptions) => ChainSide;
  /** Null: the service reads and does not publish. */
  readonly operator: OperatorAccount | null;
  /** As recovery left it. */
  readonly engine: Engine;
  readonly journal: Journal;
  /** 16 hex digits that tell the engine's log from every other. */
  readonly epoch: string;
  /** Events from before this start; null: none are kept. */
  readonly history: EventHistory | null;
  readonly keys: KeyStore;
  /** Where it is kept what keys and wallets have used of their days; absent: it is forgotten with the process. */
  readonly budgets?: KeptValues;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  /** What keys of each tier may use. */
  readonly tierQuotas: QuotaTable;
  readonly host: string;
  readonly port: number;
  /** File descriptors that the process may still open; absent: nobody knows. */
  readonly spareDescriptors?: () => number;
  readonly corsOrigins: readonly string[];
  /** Proxies whose X-Forwarded-For names the client; none by default. */
  readonly trustedProxies?: readonly string[];
  /** What is served at /; none by default. */
  readonly page?: Omit<PageOptions, 'chainId'>;
  readonly logger: Logger;
  /** Null: nothing is measured. */
  readonly metrics: Metrics | null;
  /** A chain reorganised deeper than is followed: reading has stopped, and no later start may continue this log. */
  readonly onDeepReorg?: (why: string) => void;
  /** State and log may differ from here on: the process has to end. */
  readonly onFault: (error: unknown) => void;
}

export interface Service {
  readonly port: number;
  readonly backend: string;
  readonly library: NetServer['library'];
  readonly routes: HttpSide['routes'];
  /** Resolves when both chains have been read to their heads. */
  readonly ready: Promise<void>;
  /** Other quotas from now on; sockets beyond them are closed. */
  adoptQuotas(table: QuotaTable): void;
  /** Takes nothing new, finishes what is under way, closes sockets with 1012, and resolves when all is still. */
  stop(): Promise<void>;
}
