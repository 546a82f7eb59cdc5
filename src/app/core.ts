import type { ChainReader } from '../chain/contracts/chain-reader.js';
import type { ChainHealth } from '../chain/follow/chain-health.js';
import { ExpiryTimer } from '../engine/expiry-timer.js';
import type { ChainRole } from '../engine/command.js';
import type { JournalRecord } from '../engine/ports.js';
import { EngineTime, Sequencer } from '../engine/sequencer.js';
import type { QuotePublishing } from '../http/publish-route.js';
import { GasBudget } from '../quota/gas-budget.js';
import type { Quotas } from '../quota/rate-limits.js';
import type { AccountQueries } from '../http/account-routes.js';
import type { Hex } from '../engine/quote.js';
import type { RfqPorts } from '../ws/ports.js';
import { openFollowedChains, watchHeads } from './chain-wiring.js';
import { openIntake, openSignatures, rfqPorts } from './engine-ports.js';
import { openAccountQueries, type OptionServices, openOptionServices, readsForClients } from './options-wiring.js';
import { AskersClock, quotePublishing } from './quote-publishing.js';
import type { ChainSide, ServiceOptions } from './service-options.js';

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
export interface ChainsView extends Pick<ChainSide, 'spending' | 'balances'> {
  readonly health: Readonly<Record<ChainRole, Pick<ChainHealth, 'stale' | 'status' | 'failure'>>>;
  readonly follower: Pick<ChainSide['follower'], 'caughtUp'>;
}

/** How far a book that follows another process's has come. */
export interface ReplicaView {
  /** The last event that it shows. */
  seq(): number;
  /** Resolves to whether it shows that event in time. */
  reaches(seq: number): Promise<boolean>;
}

/**
 * All that the network's edge (http, ws, feed) knows of the book's owner: where committed records come from, and where
 * what clients want goes. In the same process it is this process's own engine; in a gateway it is the cluster's leader.
 */
export interface Core {
  readonly records: CommittedRecords;
  readonly time: Pick<EngineTime, 'nowMs'>;
  readonly chains: ChainsView;
  readonly publishing: QuotePublishing;
  /** Null without a wallet. */
  readonly optionServices: OptionServices | null;
  readonly rfqs: RfqPorts;
  /** View calls of the settlement chain at its newest block, on behalf of clients. */
  readonly settlement: Pick<ChainReader, 'multicall'>;
  readonly accounts: AccountQueries;
  /** Of the wallet that acts for clients on the settlement chain; null without one. */
  operatorAddress(): Hex | null;
  /** Resolves when both chains have been read to their heads. */
  readonly ready: Promise<void>;
  /** Where the book follows another process's; null: it is this one's. */
  readonly replica: ReplicaView | null;
  /** Why the log takes nothing now; null: it does. */
  refusal(): string | null;
  /** Whatever runs on its own begins. */
  start(): void;
  /** Requests that wait for something which continues without them, such as a transaction, are answered now. */
  timeIsUp(): void;
  /** Nothing changes any more when it resolves. */
  stop(): Promise<void>;
}

/** Why what the book shows may be behind the chains; null when it is not. Called with every request. */
export function staleness({ health, follower }: ChainsView, nowMs: number): string | null {
  const first = health.settlement.stale(nowMs);
  const second = health.stream.stale(nowMs);
  if (first !== null && second !== null) return `${first}; ${second}`;
  // What is on the chain already is not to be paid for again, and may be in what is still to be read.
  return first ?? second ?? (follower.caughtUp ? null : UNREAD);
}

/** Since the start of the process. */
export const UNREAD = 'the chains have not been read to their heads yet';

/** What a core with an engine of its own is put together from. */
export type CoreOptions = Pick<
  ServiceOptions,
  | 'profile'
  | 'rpc'
  | 'openChains'
  | 'operator'
  | 'engine'
  | 'journal'
  | 'budgets'
  | 'clock'
  | 'random'
  | 'limits'
  | 'logger'
  | 'metrics'
  | 'onFault'
  | 'onDeepReorg'
>;

/** A core whose engine is this process's own, with what reads and writes the chains. */
export interface LocalCore extends Core {
  readonly chains: ChainSide;
  readonly sequencer: Sequencer;
}

/** Puts it together; only the wallets run before `start`: they take up at once what an earlier run left. */
export async function openLocalCore(
  options: CoreOptions,
  quotas: Quotas,
  onFault: (error: unknown) => void,
): Promise<LocalCore> {
  const { engine, journal, clock, limits, metrics } = options;
  const time = new EngineTime(clock, engine.tsMs);
  const { expiredAtOnce } = limits;
  const sequencer = new Sequencer({ engine, journal, time, expiredAtOnce, onFault: options.onFault });
  const nowSeconds = (): number => Math.floor(time.nowMs() / 1000);
  const signing = await openSignatures(options, onFault);
  const { chains, ready } = openFollowedChains(options, { sequencer, time, nowSeconds, signing });
  const operatorGas = new GasBudget({
    of: (tier) => quotas.of(tier),
    nowMs: () => time.nowMs(),
    kept: options.budgets ?? null,
    onCharged({ id, tier }, quotes, gas) {
      metrics?.publishedQuotes.labels(id, tier).inc(quotes);
      metrics?.chargedGas.labels(id, tier).inc(gas);
    },
    onRefusal: ({ tier }) => quotas.refused('day', tier),
  });
  const askersClock = new AskersClock(clock);
  const reads = readsForClients(options, chains, askersClock);
  const parts = { ...options, sequencer, time, chains, operatorGas, askersClock, reads };
  const optionServices = openOptionServices(parts);
  const publishing = quotePublishing({
    ...openIntake(options, { sequencer, chains, signing, nowSeconds, askersClock }),
    quotas,
    operatorGas,
    journal,
    chains,
    staleness: () => staleness(chains, clock.monotonicMs()),
  });
  let expiry: ExpiryTimer | null = null;
  let watches: ReturnType<typeof watchHeads> = [];
  return {
    records: sequencer,
    sequencer,
    time,
    chains,
    publishing,
    optionServices,
    rfqs: rfqPorts(chains, sequencer),
    settlement: reads,
    accounts: openAccountQueries(parts),
    operatorAddress: () => chains.settlementWallet?.address ?? null,
    ready,
    replica: null,
    refusal: () => journal.refusal(),
    start() {
      expiry = new ExpiryTimer({ engine, sequencer, time, clock, retryMs: limits.journalRetryMs });
      watches = watchHeads(options, chains);
      chains.follower.start();
    },
    timeIsUp: () => askersClock.timeIsUp(),
    async stop() {
      for (const watch of watches) watch.stop();
      await chains.stop();
      await signing.signatureChecks.close();
      expiry?.stop();
      await journal.flush();
    },
  };
}
