import type { ProofStore } from '../auth/proof-store.js';
import type { ChainReader } from '../chain/contracts/chain-reader.js';
import type { ChainHealth } from '../chain/follow/chain-health.js';
import type { ChainSeconds } from '../chain/options/option-series.js';
import type { ChainRole } from '../engine/command.js';
import type { Clock, JournalRecord } from '../engine/ports.js';
import type { EngineTime } from '../engine/sequencer.js';
import type { QuotePublishing } from '../http/publish-route.js';
import type { AccountQueries } from '../http/account-routes.js';
import type { PastQueries } from '../past/questions.js';
import type { Hex } from '../engine/quote.js';
import type { RfqDesk } from '../rfq/rfq-desk.js';
import type { RfqPorts } from '../ws/ports.js';
import type { PoolDeployments, Settlements } from '../http/options-routes.js';
import type { OperatorTrading } from '../http/trading-routes.js';
import type { VaultPrices } from '../http/vault-routes.js';
import type { ReplicaView } from '../http/router.js';
import type { QuoteProtections } from '../protection/quote-protection.js';
import type { QuoteWithdrawals } from '../protection/quote-withdrawals.js';
import type { Heartbeat } from '../wire/feed-messages.js';
import type { Chains } from './chains.js';

/** A source of committed records. */
export interface CommittedRecords {
  /**
   * `listener(records)`: durable records in order, each once. Called in one tick for all that one commit made durable.
   */
  onEvents(listener: (records: readonly JournalRecord[]) => void): void;
  /** Null when all that the book shows is durable; else resolves when what it shows by now is, and listeners had it. */
  whenDurable(): Promise<void> | null;
}

/** How the chains look from the book: what answers and heartbeats say of them. */
export interface ChainsView extends Pick<Chains, 'spending' | 'balances' | 'readTo'> {
  readonly health: Readonly<Record<ChainRole, Pick<ChainHealth, 'stale' | 'status' | 'failure'>>>;
  readonly follower: Pick<Chains['follower'], 'caughtUp'>;
}

/** Where requests for quotes go. */
export type CoreRfqs = RfqPorts & Pick<RfqDesk, 'open' | 'cancel'>;

/** Services that need the operator's wallet. */
export interface OptionServices {
  readonly deployments: PoolDeployments;
  readonly settlements: Settlements;
  readonly vaults: VaultPrices;
  readonly trading: OperatorTrading;
}

/**
 * All that the network's edge (http, ws, feed) knows of the book's owner: where committed records come from, and where
 * what clients want goes. In the same process it is this process's own engine; in a gateway it is the cluster's leader.
 */
export interface Core {
  readonly records: CommittedRecords;
  readonly time: Pick<EngineTime, 'nowMs' | 'nowSeconds'>;
  readonly chains: ChainsView;
  readonly publishing: QuotePublishing;
  readonly withdrawals: QuoteWithdrawals;
  readonly protections: QuoteProtections;
  /** Null without a wallet: a gateway learns from its leader whether there is one. */
  readonly optionServices: () => OptionServices | null;
  readonly rfqs: CoreRfqs;
  /** View calls of the settlement chain at its newest block, on behalf of clients. */
  readonly settlement: Pick<ChainReader, 'multicall'>;
  readonly accounts: AccountQueries;
  /** Answers about the past, from the log; null where no past is kept. */
  readonly past: PastQueries | null;
  /** Where nonces are spent and proofs are kept; null: in this process. */
  readonly proofs: ProofStore | null;
  /** Of the wallet that acts for clients on the settlement chain; null without one. */
  operatorAddress(): Hex | null;
  /** Resolves when both chains have been read to their heads. */
  readonly ready: Promise<void>;
  /** Where the book follows another process's; null: it is this one's. */
  readonly replica: ReplicaView | null;
  /** Why the log takes nothing now; null: it does. */
  refusal(): string | null;
  /** Starts everything that runs on its own. */
  start(): void;
  /** Ends the waits of requests for something that continues without them, such as a transaction. */
  endWaits(): void;
  /** Resolves when nothing changes any more. */
  stop(): Promise<void>;
}

/** Why what the book shows may be behind the chains; null when it is not. Called with every request. */
export function staleness({ health, follower }: ChainsView, nowMs: number): string | null {
  const first = health.settlement.stale(nowMs);
  const second = health.stream.stale(nowMs);
  if (first !== null && second !== null) return `${first}; ${second}`;
  // Blocks not read yet may hold the transaction that a request asks for: it must not be paid for twice.
  return first ?? second ?? (follower.caughtUp ? null : UNREAD);
}

/** Why the service is not ready for clients; empty when it is. */
export function reasonsNotReady(core: Pick<Core, 'chains' | 'refusal'>): string[] {
  const { health, follower } = core.chains;
  const { settlement, stream } = health;
  const refusal = core.refusal();
  const reasons = [
    ...(follower.caughtUp ? [] : [UNREAD]),
    ...[settlement, stream].flatMap((chain) => chain.stale() ?? []),
    ...(refusal === null ? [] : [`the log takes nothing: ${refusal}`]),
  ];
  // A failure that the next try cures is no reason of its own.
  return reasons.length === 0 ? [] : [...reasons, ...[settlement, stream].flatMap(({ failure }) => failure ?? [])];
}

/** Since the start of the process. */
export const UNREAD = 'the chains have not been read to their heads yet';

/** Engine time, which follows the settlement chain's; null until a block of that chain was read. */
export function chainSeconds(
  { health }: { readonly health: { readonly settlement: Pick<ChainHealth, 'status'> } },
  { nowSeconds }: Pick<EngineTime, 'nowSeconds'>,
): ChainSeconds {
  return () => (health.settlement.status().head === null ? null : nowSeconds());
}

/**
 * Both chains for a heartbeat: the newest block of each, how old it is by this machine's clock, why it is stale, and up
 * to which block the book has its events.
 */
export function chainsJson(chains: Pick<ChainsView, 'health' | 'readTo'>, clock: Clock): Heartbeat['chains'] {
  const of = (role: ChainRole): Heartbeat['chains']['stream'] => {
    const { head, stale } = chains.health[role].status();
    const readTo = chains.readTo(role)?.blockNumber ?? null;
    if (head === null) return { block: null, lateMs: null, stale, readTo };
    const { number: blockNumber, hash: blockHash, timestamp } = head;
    const lateMs = Math.max(0, Math.round(clock.wallMs()) - timestamp * 1000);
    return { block: { blockNumber, blockHash, timestamp }, lateMs, stale, readTo };
  };
  return { settlement: of('settlement'), stream: of('stream') };
}
