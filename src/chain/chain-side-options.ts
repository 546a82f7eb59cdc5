import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignatureChecks } from '../auth/signature-pool.js';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import type { Clock, KeptValues, Random, Rpc } from '../engine/ports.js';
import type { Order } from '../engine/quote.js';
import type { BlockId } from './block-head.js';
import type { FollowListener } from './book-follower.js';
import type { ChainLog } from './chain-log.js';
import type { FollowedBook } from './followed-book.js';
import type { OperatorAccount, WalletNumbers } from './open-wallets.js';
import type { Profile } from './profile.js';
import type { StreamRefusal } from './publication-check.js';
import type { OnTxTrouble } from './sent-txs.js';
import type { IgnoredEvent } from './settlement-events.js';

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
