import { CallClient, type CallOptions, NoLeader } from '../cluster/calls.js';
import type { ClusterConnection } from '../cluster/connection.js';
import { UsageExchange } from '../cluster/usage.js';
import type { GatewayReplica } from '../cluster/gateway-replica.js';
import { type ChainNews, hearNews, type LeaderNews } from '../cluster/members.js';
import type { BlockId } from '../chain/contracts/blocks-and-logs.js';
import type { ChainStatus } from '../chain/follow/chain-health.js';
import { RpcUnreachable } from '../chain/rpc/rpc-errors.js';
import type { ChainRole } from '../engine/command.js';
import type { Clock } from '../engine/ports.js';
import { EngineTime } from '../engine/sequencer.js';
import type { QuotePublishing } from '../http/publish-route.js';
import type { CountedKind, Quotas } from '../quota/rate-limits.js';
import type { QuoteWithdrawals } from '../http/withdrawal-routes.js';
import { delayCode } from '../wire/error-codes.js';
import type { ChainsView, Core, CoreRfqs, OptionServices } from './core.js';
import { answerMs, type LeaderCalls, receivedAnswer } from './leader-calls.js';
import type { ServiceOptions } from './service-options.js';

/** What the leader last said, and how long ago: what a gateway knows of the chains and of the leader itself. */
export class LeaderWatch {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #news: LeaderNews | null = null;
  /** The newest news that the book here has caught up with. */
  #reached: LeaderNews | null = null;
  #heardMs: number;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#heardMs = clock.monotonicMs();
  }

  get news(): LeaderNews | null {
    return this.#news;
  }

  /** Ignores news of a deposed leader. */
  heard(news: LeaderNews): void {
    if (news.term < (this.#news?.term ?? 0)) return;
    this.#news = news;
    this.#heardMs = this.#clock.monotonicMs();
  }

  /** The last block whose events a book at `seq` has. What the leader read later may not have come here yet. */
  readTo(role: ChainRole, seq: number): BlockId | null {
    if (this.#news !== null && this.#news.seq <= seq) this.#reached = this.#news;
    return this.#reached?.chains[role].readTo ?? null;
  }

  /** Null: there is a leader. */
  missing(nowMs: number): string | null {
    if (this.#news === null) return 'the cluster has had no leader yet';
    const silentMs = nowMs - this.#heardMs;
    return silentMs > this.#leaseMs ? `the cluster has no leader: no news for ${Math.floor(silentMs / 1000)} s` : null;
  }

  /** As a member's own chains have it. */
  chain(role: ChainRole): ChainsView['health'][ChainRole] {
    const of = (): ChainNews | null => this.#news?.chains[role] ?? null;
    const stale = (nowMs = this.#clock.monotonicMs()): string | null => this.missing(nowMs) ?? of()?.stale ?? null;
    return {
      stale,
      status: (): ChainStatus => ({ head: of()?.head ?? null, stale: stale() }),
      get failure() {
        return of()?.failure ?? null;
      },
    };
  }
}

const COUNTED: readonly string[] = ['requests', 'quotes', 'messages', 'rows', 'bytes'] satisfies CountedKind[];

function isCounted(kind: string): kind is CountedKind {
  return COUNTED.includes(kind);
}

function unlessNoLeader(error: unknown): 'UNAVAILABLE' {
  if (error instanceof NoLeader) return 'UNAVAILABLE';
  throw error;
}

/** Calls that are idempotent. */
const REPEATABLE = true;

/** A gateway's core: the book is a replica of the cluster's, and what clients want goes to its leader. */
export function openGatewayCore(
  { clock, random, limits }: Pick<ServiceOptions, 'clock' | 'random' | 'limits'>,
  quotas: Quotas,
  cluster: ClusterConnection,
  replica: GatewayReplica,
  onTerm: (listener: () => void) => void,
): Core {
  const watch = new LeaderWatch(clock, limits.clusterLeaseMs);
  const time = new EngineTime(clock, replica.engine.tsMs);
  // Before every other listener: what these make of a record is of its time, or later.
  replica.onRecords((records) => time.reach(records.at(-1)?.stamp.tsMs ?? 0));
  let isReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (isReady = resolve));
  const stopNews = hearNews(cluster, (news) => {
    watch.heard(news);
    replica.heardOf(news.seq);
    time.follow(news.engineMs);
    if (news.caughtUp && replica.at.seq >= news.seq) isReady();
  });
  const usage = new UsageExchange(cluster, clock, limits.clusterUsageMs, ({ id, tier, kind, amount }) => {
    if (isCounted(kind)) quotas.usedElsewhere({ id, tier }, kind, amount);
  });
  quotas.onUsed = ({ id, tier }, kind, amount) => usage.add(id, tier, kind, amount);
  const calls = new CallClient(cluster, {
    clock,
    random,
    retryMs: limits.clusterRetryMs,
    resendMs: limits.clusterResendMs,
    term: () => replica.at.term,
    isLeaderMissing: () => watch.missing(clock.monotonicMs()) !== null,
    shows: (index) => replica.shows(index),
    onEngineTime: (engineMs) => time.reach(engineMs),
  });
  onTerm(() => calls.termBegan());
  const chains: ChainsView = {
    health: { settlement: watch.chain('settlement'), stream: watch.chain('stream') },
    follower: {
      get caughtUp() {
        return watch.news?.caughtUp ?? false;
      },
    },
    readTo: (role) => watch.readTo(role, replica.at.seq),
    spending: null,
    balances: null,
  };
  const call = <Name extends keyof LeaderCalls>(
    name: Name,
    args: Readonly<Parameters<LeaderCalls[Name]>>,
    isRepeatable: boolean,
  ): Promise<Awaited<ReturnType<LeaderCalls[Name]>>> => {
    const retryForMs = isRepeatable ? limits.clusterFailoverMs : 0;
    return calls.call(name, args, { timeoutMs: answerMs(name, limits), retryForMs } satisfies CallOptions);
  };
  /** Nobody knows whether it was carried out: the client may ask again. */
  const orUnreachable = async <Result>(
    asked: Promise<Result>,
  ): Promise<Result | { readonly type: 'CHAIN_UNREACHABLE' }> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof NoLeader) return { type: 'CHAIN_UNREACHABLE' };
      throw error;
    }
  };
  /** As `orUnreachable`, for what the chain has no part in. */
  const orNotNow = async <Result>(
    asked: Promise<Result>,
  ): Promise<Result | { readonly type: 'NOT_NOW'; readonly refusal: string }> => {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof NoLeader)) throw error;
      return { type: 'NOT_NOW', refusal: watch.missing(clock.monotonicMs()) ?? error.message };
    }
  };
  const refusal = (): string | null => watch.missing(clock.monotonicMs()) ?? watch.news?.refusal ?? null;

  const publishing: QuotePublishing = {
    mostQuotes: ({ tier }) => quotas.of(tier).quoteBurst,
    takeQuotes: (caller, count) => quotas.takeQuotes(caller, count),
    refusal() {
      const missing = watch.missing(clock.monotonicMs());
      if (missing !== null) return { code: 'chain_unavailable', message: missing };
      if (watch.news?.wallet == null) {
        return {
          code: 'no_wallet',
          message: 'No wallet is configured to publish with: set walletKey or walletKeyFile',
        };
      }
      const { news } = watch;
      const stale = news.chains.settlement.stale ?? news.chains.stream.stale ?? news.refusal;
      return stale === null ? null : { code: delayCode(stale), message: stale };
    },
    submit: (caller, quotes, areOperators = false) =>
      orUnreachable(call('publish', [caller, quotes, areOperators], REPEATABLE)),
    dryRun: (quotes) => orUnreachable(call('dryRun', [quotes], REPEATABLE)),
  };
  const hasWallet = (): boolean => watch.news?.wallet !== null;
  const optionServices: OptionServices = {
    deployments: {
      refusal,
      hasWallet,
      deploy: (caller, terms) => orUnreachable(call('deploy', [caller, terms], REPEATABLE)),
    },
    settlements: {
      refusal,
      hasWallet,
      settle: (caller, terms) => orUnreachable(call('settle', [caller, terms], REPEATABLE)),
      exercise: (caller, terms) => orUnreachable(call('exercise', [caller, terms], REPEATABLE)),
      annihilate: (caller, terms) => orUnreachable(call('annihilate', [caller, terms], REPEATABLE)),
    },
    trading: {
      refusal,
      hasWallet,
      // Whether a fill or a trade was carried out, nobody knows after a failover: it is not repeated.
      fill: (caller, fills) => orUnreachable(call('fillQuotes', [caller, fills], false)),
      cancel: (caller, quoteIds) => orUnreachable(call('cancelQuotes', [caller, quoteIds], REPEATABLE)),
      approve: (caller, approvals) => orUnreachable(call('approve', [caller, approvals], REPEATABLE)),
      tradeWithVault: (caller, order) => orUnreachable(call('vaultTrade', [caller, order], false)),
      sign: (quotes) => orUnreachable(call('signQuotes', [quotes], REPEATABLE)),
    },
    vaults: { hasWallet, quote: (trade) => orUnreachable(call('vaultQuote', [trade], REPEATABLE)) },
  };
  const rfqs: CoreRfqs = {
    poolAddressOf: (poolKey) => call('poolAddressOf', [poolKey], REPEATABLE).catch(() => 'UNAVAILABLE'),
    publish: (rfq, owner) => call('publishRfq', [rfq, owner], false).catch(() => 'BUSY'),
    open: (request) => call('openRfq', [request], false).catch(() => ({ type: 'REFUSED', why: 'BUSY' })),
    cancel: (owner, id) => call('cancelRfq', [owner, id], REPEATABLE).catch(() => 'BUSY'),
  };
  /** A signature is sent to one leader alone: the next one would refuse the nonce, if the first has carried it out. */
  const withdrawing =
    (name: 'withdrawQuotes' | 'restoreQuotes'): QuoteWithdrawals['withdraw'] =>
    (request) =>
      orNotNow(call(name, [request], request.consent === 'PROVEN'));
  return {
    records: { onEvents: (listener) => replica.onRecords(listener), whenDurable: () => null },
    time,
    chains,
    publishing,
    protections: {
      // A signature counts once, so that it is sent to one leader alone; a timer is set the same each time.
      ask: (request) => orNotNow(call('protect', [request], request.type === 'TIMER')),
    },
    withdrawals: { withdraw: withdrawing('withdrawQuotes'), restore: withdrawing('restoreQuotes') },
    optionServices,
    rfqs,
    settlement: {
      async multicall(calls) {
        const answers = await call('multicall', [calls], REPEATABLE).catch((error: unknown) => {
          if (error instanceof NoLeader) return null;
          throw error;
        });
        if (answers === null) throw new RpcUnreachable('the leader of the cluster has no answer of the chain');
        return answers;
      },
    },
    accounts: {
      collateral: (wallet) => orUnreachable(call('collateralBalances', [wallet], REPEATABLE)),
      native: (wallet) => orUnreachable(call('nativeBalance', [wallet], REPEATABLE)),
      options: (wallet) => orUnreachable(call('optionBalances', [wallet], REPEATABLE)),
    },
    past: {
      ask: (request) => call('past', [request], REPEATABLE).then(receivedAnswer, () => ({ type: 'BUSY' })),
    },
    proofs: {
      // After a failover a nonce may be spent or not: the client asks for another.
      spend: (use) => call('spendNonce', [use], false).catch(unlessNoLeader),
      prove: (keyId, address) => call('proveAddress', [keyId, address], REPEATABLE).catch(unlessNoLeader),
      signOut: (session) => call('signOut', [session], REPEATABLE).catch(unlessNoLeader),
      addSelfKey: (added) => call('addSelfKey', [added], REPEATABLE).catch(unlessNoLeader),
      noteUses: (uses) => call('noteKeyUses', [uses], REPEATABLE).catch(unlessNoLeader),
    },
    operatorAddress: () => watch.news?.wallet ?? null,
    ready,
    replica: {
      seq: () => replica.engine.seq,
      reaches: (seq) => replica.showsEvent(seq),
    },
    refusal,
    start: () => undefined,
    endWaits: () => undefined,
    stop() {
      stopNews();
      usage.stop();
      replica.stop();
      return Promise.resolve();
    },
  };
}
