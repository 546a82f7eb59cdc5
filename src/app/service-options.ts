import type { Logger } from 'pino';
import type { KeyStore } from '../auth/key-store.js';
import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignatureChecks } from '../auth/signature-pool.js';
import type { BlockHead, BlockId, ChainLog } from '../chain/contracts/blocks-and-logs.js';
import { ChainReader } from '../chain/contracts/chain-reader.js';
import type { Profile } from '../chain/contracts/deployments.js';
import type { BookPort } from '../chain/follow/book-port.js';
import { ChainHealth } from '../chain/follow/chain-health.js';
import { BookFollower, type FollowListener } from '../chain/follow/follower.js';
import { PoolAddresses } from '../chain/follow/pool-addresses.js';
import type { StreamRefusal } from '../chain/follow/published-quotes.js';
import { QuoteStates } from '../chain/follow/quote-states.js';
import type { IgnoredEvent } from '../chain/follow/settlement-events.js';
import { QuotePublisher } from '../chain/publish/publisher.js';
import type { OperatorAccount } from '../chain/wallet/open-wallets.js';
import { WalletBalance, type WalletSpending } from '../chain/wallet/spending.js';
import type { OnTxTrouble } from '../chain/wallet/tx-tracker.js';
import type { Wallet } from '../chain/wallet/wallet.js';
import type { Limits } from '../config/limits.js';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { Clock, Journal, Random } from '../engine/ports.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import type { Rpc } from '../chain/rpc/rpc-client.js';
import type { Order } from '../engine/quote.js';
import type { EventHistory } from '../feed/event-history.js';
import type { PageOptions } from '../http/static-routes.js';
import type { Metrics } from '../metrics/metrics.js';
import type { ServerChoice } from '../net/open-server.js';
import type { Quotas, QuotaTable } from '../quota/rate-limits.js';
import type { Core } from './core.js';
import type { ListenerPorts } from './listeners.js';

/** What a service is put together from. */
export interface ServiceOptions extends ServerChoice, ListenerPorts {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, Rpc>>;
  /** What talks to the chains; the benches put one there that answers at once. */
  readonly openChains?: (options: ChainSideOptions) => ChainSide;
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
  readonly keys: KeyStore;
  /** Where it is kept what keys and wallets have used of their days; absent: it is forgotten with the process. */
  readonly budgets?: KeyValueStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  /** What keys of each tier may use. */
  readonly tierQuotas: QuotaTable;
  /** File descriptors that the process may still open; absent: nobody knows. */
  readonly spareDescriptors?: () => number;
  readonly corsOrigins: readonly string[];
  /** Proxies whose X-Forwarded-For names the client; none by default. */
  readonly trustedProxies?: readonly string[];
  /** What is served at /; none by default. */
  readonly page?: Pick<PageOptions, 'files' | 'localKey'> & Partial<Pick<PageOptions, 'localRpcUrl'>>;
  readonly logger: Logger;
  /** Null: nothing is measured. */
  readonly metrics: Metrics | null;
  /** A chain reorganised deeper than is followed: reading has stopped, and no later start may continue this log. */
  readonly onDeepReorg?: (why: string) => void;
  /** State and log may differ from here on: the process has to end. */
  readonly onFault: (error: unknown) => void;
}

/** Everything that talks to the two chains. */
export interface ChainSide {
  readonly follower: Pick<BookFollower, 'start' | 'wake' | 'caughtUp'>;
  readonly health: Readonly<Record<ChainRole, ChainHealth>>;
  /** What a subscription told of a chain's newest block. */
  hear(role: ChainRole, head: BlockHead): void;
  readonly settlement: ChainReader;
  readonly pools: Pick<PoolAddresses, 'resolve'>;
  readonly states: Pick<QuoteStates, 'read'>;
  /** Null without a wallet. */
  readonly publisher: Pick<QuotePublisher, 'prefetch' | 'has' | 'publish' | 'room' | 'walletAddress'> | null;
  readonly settlementWallet: Wallet | null;
  /** What each chain's wallet spends; null without one. */
  readonly spending: Readonly<Record<ChainRole, WalletSpending>> | null;
  /** What it has there; null without one. */
  readonly balances: Readonly<Record<ChainRole, Pick<WalletBalance, 'wei'>>> | null;
  /** The last block that was read of each chain; the book may stand at an earlier one, with no events in between. */
  readTo(role: ChainRole): BlockId | null;
  /** Orders that a settlement block up to there has touched are still to be asked about. */
  hasWaiting(): boolean;
  /** No command comes from the chains any more when it resolves. */
  stop(): Promise<void>;
}

/** What the engine remembers of its reading. */
export interface ReadSoFar {
  position(chain: ChainRole): ChainPosition | null;
  trail(chain: ChainRole): readonly BlockId[];
}

export interface ChainSideOptions {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, Rpc>>;
  /** Null: nothing is published. */
  readonly operator: OperatorAccount | null;
  /** Where it is kept what wallets spend; absent: it is forgotten with the process. */
  readonly budgets?: KeyValueStore;
  readonly book: BookPort;
  readonly known: () => Iterable<Order>;
  readonly readSoFar: ReadSoFar;
  readonly signatures: Pick<QuoteSignature, 'quoteId'>;
  readonly checks: Pick<SignatureChecks, 'verifyAll'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  /** Timestamp of the newest settlement block, Unix seconds: what engine time follows. */
  readonly onSettlementTime: (timestamp: number) => void;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  /** On the stream chain. */
  readonly onRefusedEvent: (why: StreamRefusal, log: ChainLog) => void;
  /** On the settlement chain. */
  readonly onIgnoredEvent: (why: IgnoredEvent, log: ChainLog) => void;
  /** Events that a chain's node gave after the rest of their block. */
  readonly onLateLogs: (chain: ChainRole, events: number) => void;
  readonly onTxTrouble: OnTxTrouble;
  readonly listener: FollowListener;
}
