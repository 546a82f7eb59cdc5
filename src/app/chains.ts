import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignatureChecks } from '../auth/signature-pool.js';
import type { BlockId, ChainLog } from '../chain/contracts/blocks-and-logs.js';
import type { ChainReader } from '../chain/contracts/chain-reader.js';
import type { Profile } from '../chain/contracts/deployments.js';
import type { BookPort } from '../chain/follow/book-port.js';
import type { ChainHealth } from '../chain/follow/chain-health.js';
import type { BookFollower, FollowListener } from '../chain/follow/follower.js';
import type { HeardHeads } from '../chain/follow/heard-heads.js';
import type { PoolAddresses } from '../chain/follow/pool-addresses.js';
import type { StreamRefusal } from '../chain/follow/published-quotes.js';
import type { QuoteStates } from '../chain/follow/quote-states.js';
import type { IgnoredEvent } from '../chain/follow/settlement-events.js';
import type { PublicationWatch, QuotePublisher } from '../chain/publish/publisher.js';
import type { OperatorAccount } from '../chain/wallet/open-wallets.js';
import type { WalletBalance, WalletSpending } from '../chain/wallet/spending.js';
import type { OnTxTrouble } from '../chain/wallet/tx-tracker.js';
import type { Wallet } from '../chain/wallet/wallet.js';
import type { Limits } from '../config/limits.js';
import type { ChainPosition, ChainRole } from '../engine/command.js';
import type { Clock, Random } from '../engine/ports.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import type { Rpc } from '../chain/rpc/rpc-client.js';
import type { Order } from '../engine/quote.js';

/** Everything that talks to the two chains. */
export interface Chains {
  readonly follower: Pick<BookFollower, 'start' | 'wake' | 'caughtUp'>;
  readonly health: Readonly<Record<ChainRole, ChainHealth>>;
  /** Blocks of each chain that subscriptions announced. */
  readonly heads: Readonly<Record<ChainRole, Pick<HeardHeads, 'open' | 'add' | 'close'>>>;
  readonly settlement: ChainReader;
  readonly pools: Pick<PoolAddresses, 'resolve'>;
  readonly states: Pick<QuoteStates, 'read'>;
  /** Null without a wallet. */
  readonly publisher: Pick<QuotePublisher, 'prefetch' | 'has' | 'publish' | 'room' | 'walletAddress'> | null;
  readonly settlementWallet: Wallet | null;
  /** Spending of each chain's wallet; null without one. */
  readonly spending: Readonly<Record<ChainRole, WalletSpending>> | null;
  /** Its balance there; null without one. */
  readonly balances: Readonly<Record<ChainRole, Pick<WalletBalance, 'wei'>>> | null;
  /** The last block that was read of each chain; the book may stand at an earlier one, with no events in between. */
  readTo(role: ChainRole): BlockId | null;
  /** Orders that a settlement block up to there has touched are still to be asked about. */
  hasWaiting(): boolean;
  /** No command comes from the chains any more when it resolves. */
  stop(): Promise<void>;
}

/** Progress of the readers, as the engine remembers it. */
export interface ReadSoFar {
  position(chain: ChainRole): ChainPosition | null;
  trail(chain: ChainRole): readonly BlockId[];
}

export interface ChainsOptions {
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
  readonly signatureChecks: Pick<SignatureChecks, 'verifyAll'>;
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
  /** The chain took blocks back that were read. */
  readonly onReorg?: (chain: ChainRole) => void;
  /** Events that a chain's node gave after the rest of their block. */
  readonly onLateLogs: (chain: ChainRole, events: number) => void;
  readonly onTxTrouble: OnTxTrouble;
  /** Hears of transactions that publish quotes; absent: nobody does. */
  readonly publications?: PublicationWatch;
  readonly listener: FollowListener;
}
