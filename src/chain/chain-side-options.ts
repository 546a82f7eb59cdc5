import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignatureChecks } from '../auth/signature-pool.js';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import type { Clock, KeptValues, Random, Rpc } from '../engine/ports.js';
import type { Order } from '../engine/quote.js';
import type { BlockHead, BlockId, ChainLog } from './contracts/blocks-and-logs.js';
import { ChainReader } from './contracts/chain-reader.js';
import type { Profile } from './contracts/deployments.js';
import type { FollowedBook } from './follow/book-port.js';
import { ChainHealth } from './follow/chain-health.js';
import { BookFollower, type FollowListener } from './follow/follower.js';
import { PoolAddresses } from './follow/pool-addresses.js';
import type { StreamRefusal } from './follow/published-quotes.js';
import { QuoteStates } from './follow/quote-states.js';
import type { IgnoredEvent } from './follow/settlement-events.js';
import { Publisher } from './publish/publisher.js';
import type { OperatorAccount, WalletNumbers } from './wallet/open-wallets.js';
import { WalletBalance, type WalletSpending } from './wallet/spending.js';
import type { OnTxTrouble } from './wallet/tx-tracker.js';
import type { Wallet } from './wallet/wallet.js';

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
  readonly publisher: Pick<Publisher, 'foresee' | 'has' | 'publish' | 'room' | 'walletAddress'> | null;
  readonly settlementWallet: Wallet | null;
  /** What each chain's wallet spends; null without one. */
  readonly spending: Readonly<Record<ChainRole, WalletSpending>> | null;
  /** What it has there; null without one. */
  readonly balances: Readonly<Record<ChainRole, Pick<WalletBalance, 'wei'>>> | null;
  /**
   * The last block that was read of each chain; the book may have been told of an earlier one, with nothing in between.
   */
  readTo(role: ChainRole): BlockId | null;
  /** Orders that a settlement block up to there has touched are still to be asked about. */
  hasWaiting(): boolean;
  /** No command comes from the chains any more when it resolves. */
  stop(): Promise<void>;
}

/** The numbers of `config/limits.ts` that reading and writing the chains are bound by. */
export interface ChainSideLimits extends WalletNumbers {
  readonly reorgDepth: number;
  readonly logRangeBlocks: number;
  readonly lowerHeadMs: number;
  readonly rereadMs: number;
  readonly verifyBlocks: number;
  readonly verifyMs: number;
  readonly rememberedLogs: number;
  readonly positionEveryBlocks: number;
  readonly checksPerTurn: number;
  readonly journalRetryMs: number;
  readonly chainPollMs: number;
  readonly chainBackoffMs: number;
  readonly chainMaxBackoffMs: number;
  readonly chainSilenceMs: number;
  readonly sweepMs: number;
  readonly sweepSlice: number;
  readonly chainStopMs: number;
  readonly rpcCallsPerBatch: number;
  readonly rpcBatchesInFlight: number;
  readonly rpcGasPerCall: number;
  readonly rpcGasPerCheck: number;
  readonly rpcGasPerDeployment: number;
  readonly rehearsedDeployments: number;
  readonly trippedContracts: number;
  readonly contractPauseMs: number;
  readonly contractMaxPauseMs: number;
  readonly contractProbeGapMs: number;
  readonly rpcBlocksInFlight: number;
  readonly statesPerSlice: number;
  readonly stateSlicesInFlight: number;
  readonly restatedPerCommand: number;
  readonly touchedSlice: number;
  readonly earlyEvents: number;
  readonly poolCache: number;
  readonly walletBalanceMs: number;
  readonly maxTxBytes: number;
  readonly publishQueue: number;
  readonly publishTxInFlight: number;
  readonly publishSettleMs: number;
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
  readonly budgets?: KeptValues;
  readonly book: FollowedBook;
  readonly known: () => Iterable<Order>;
  readonly readSoFar: ReadSoFar;
  readonly signatures: Pick<QuoteSignature, 'quoteId'>;
  readonly checks: Pick<SignatureChecks, 'verifyAll'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: ChainSideLimits;
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
