import { CallClient, type CallOptions, NoLeader, OutcomeUnknown } from '../cluster/calls.js';
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
import type { AccountQueries } from '../http/account-routes.js';
import { NO_PUBLISHING_WALLET, type QuotePublishing } from '../http/publish-route.js';
import type { CountedKind, Quotas } from '../quota/rate-limits.js';
import type { QuoteWithdrawals } from '../protection/quote-withdrawals.js';
import { delayCode } from '../wire/error-codes.js';
import { type ChainsView, type Core, type CoreRfqs, type OptionServices, staleness } from './core.js';
import { answerMs, type LeaderCalls, receivedAnswer } from './leader-calls.js';
import type { ServiceOptions } from './service-options.js';

/** The leader's last news and its age: a gateway's view of the chains and of the leader itself. */
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

  /** The last block whose events a book at `seq` has. Events of later blocks may not have come here yet. */
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

  /** Why the log takes nothing now; null: it does. */
  refusal(): string | null {
    return this.missing(this.#clock.monotonicMs()) ?? this.#news?.refusal ?? null;
  }

  /** True until the leader says otherwise. */
  hasWallet(): boolean {
    return this.#news?.wallet !== null;
  }

  get caughtUp(): boolean {
    return this.#news?.caughtUp ?? false;
  }

  /** The chains as the leader has them, for a book whose last message of the log stream is `seq()`. */
  chains(seq: () => number): ChainsView {
    return {
      health: { settlement: this.chain('settlement'), stream: this.chain('stream') },
      follower: this,
      readTo: (role) => this.readTo(role, seq()),
      spending: null,
      balances: null,
    };
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

const COUNTED: readonly string[] = ['requests', 'quotes', 'messages', 'rfqs', 'rows', 'bytes'] satisfies CountedKind[];

function isCounted(kind: string): kind is CountedKind {
  return COUNTED.includes(kind);
}

/** `otherwise` when no leader has answered, be it carried out or not. */
async function unlessNoLeader<Result, const Otherwise>(
  asked: Promise<Result>,
  otherwise: Otherwise,
): Promise<Result | Otherwise> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof NoLeader) return otherwise;
    throw error;
  }
}

/** For a call that the client may send again, whether it was carried out or not. */
function orUnreachable<Result>(asked: Promise<Result>): Promise<Result | { readonly type: 'CHAIN_UNREACHABLE' }> {
  return unlessNoLeader(asked, { type: 'CHAIN_UNREACHABLE' });
}

/** For a call that pays each time: CHAIN_UNREACHABLE, and with it another try, only if no leader may have it. */
function orPending<Result, const Pending>(
  asked: Promise<Result>,
  pending: Pending,
): Promise<Result | Pending | { readonly type: 'CHAIN_UNREACHABLE' }> {
  const known = asked.catch((error: unknown) => {
    if (error instanceof OutcomeUnknown) return pending;
    throw error;
  });
  return orUnreachable(known);
}

/** Calls the leader. `isRepeatable`: the call is idempotent, and is sent to the next leader as well. */
export type LeaderCall = <Name extends keyof LeaderCalls>(
  name: Name,
  args: Readonly<Parameters<LeaderCalls[Name]>>,
  isRepeatable: boolean,
) => Promise<Awaited<ReturnType<LeaderCalls[Name]>>>;

/** Calls that are idempotent. */
const REPEATABLE = true;

/** A gateway's core: the book is a replica of the cluster's, and what clients want goes to its leader. */
export function openGatewayCore(
  { clock, random, limits }: Pick<ServiceOptions, 'clock' | 'random' | 'limits'>,
  quotas: Quotas,
  cluster: ClusterConnection,
  replica: GatewayReplica,
): Core {
  const watch = new LeaderWatch(clock, limits.clusterLeaseMs);
  const time = new EngineTime(clock, replica.engine.tsMs);
  // The first listener: the others must see engine time at or past the record's.
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
  replica.onTerm(() => calls.termBegan());
  const call: LeaderCall = (name, args, isRepeatable) => {
    const retryForMs = isRepeatable ? limits.clusterFailoverMs : 0;
    return calls.call(name, args, { timeoutMs: answerMs(name, limits), retryForMs } satisfies CallOptions);
  };
  const chains = watch.chains(() => replica.at.seq);
  return {
    records: { onEvents: (listener) => replica.onRecords(listener), whenDurable: () => null },
    time,
    chains,
    publishing: remotePublishing(call, watch, chains, quotas, clock),
    ...remoteProtection(call, watch),
    optionServices: remoteOptions(call, watch),
    rfqs: remoteRfqs(call),
    settlement: {
      async multicall(calls) {
        const answers = await unlessNoLeader(call('multicall', [calls], REPEATABLE), null);
        if (answers === null) throw new RpcUnreachable('the leader of the cluster has no answer of the chain');
        return answers;
      },
    },
    accounts: remoteAccounts(call),
    past: {
      async ask(request) {
        const answer = await unlessNoLeader(call('past', [request], REPEATABLE), { type: 'BUSY' });
        return receivedAnswer(answer);
      },
    },
    proofs: {
      // After a failover a nonce may be spent or not: the client asks for another.
      spend: (use) => unlessNoLeader(call('spendNonce', [use], false), 'UNAVAILABLE'),
      prove: (keyId, address) => unlessNoLeader(call('proveAddress', [keyId, address], REPEATABLE), 'UNAVAILABLE'),
      signOut: (session) => unlessNoLeader(call('signOut', [session], REPEATABLE), 'UNAVAILABLE'),
      addSelfKey: (added) => unlessNoLeader(call('addSelfKey', [added], REPEATABLE), 'UNAVAILABLE'),
      noteUses: (uses) => unlessNoLeader(call('noteKeyUses', [uses], REPEATABLE), 'UNAVAILABLE'),
    },
    operatorAddress: () => watch.news?.wallet ?? null,
    ready,
    replica: {
      seq: () => replica.engine.seq,
      reaches: (seq) => replica.showsEvent(seq),
    },
    refusal: () => watch.refusal(),
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

/** Publishing by the leader's wallet. */
export function remotePublishing(
  call: LeaderCall,
  watch: LeaderWatch,
  chains: ChainsView,
  quotas: Pick<Quotas, 'of' | 'takeQuotes'>,
  clock: Pick<Clock, 'monotonicMs'>,
): QuotePublishing {
  return {
    mostQuotes: ({ tier }) => quotas.of(tier).quoteBurst,
    takeQuotes: (caller, count) => quotas.takeQuotes(caller, count),
    refusal() {
      const nowMs = clock.monotonicMs();
      const missing = watch.missing(nowMs);
      if (missing !== null) return { code: 'chain_unavailable', message: missing };
      if (!watch.hasWallet()) return NO_PUBLISHING_WALLET;
      const delay = staleness(chains, nowMs) ?? watch.refusal();
      return delay === null ? null : { code: delayCode(delay), message: delay };
    },
    submit: (caller, quotes, areOperators = false) =>
      orUnreachable(call('publish', [caller, quotes, areOperators], REPEATABLE)),
    dryRun: (quotes) => orUnreachable(call('dryRun', [quotes], REPEATABLE)),
  };
}

/** Services of the leader's wallet on the settlement chain; null while it has none. */
export function remoteOptions(call: LeaderCall, watch: LeaderWatch): () => OptionServices | null {
  const { stale } = watch.chain('settlement');
  /** For what has to be read from the chain before it counts. */
  const staleOrRefusal = (): string | null => stale() ?? watch.refusal();
  const services: OptionServices = {
    deployments: {
      refusal: staleOrRefusal,
      deploy: (caller, terms) => orUnreachable(call('deploy', [caller, terms], REPEATABLE)),
    },
    settlements: {
      refusal: () => watch.refusal(),
      settle: (caller, terms) => orUnreachable(call('settle', [caller, terms], REPEATABLE)),
      exercise: (caller, terms) => orUnreachable(call('exercise', [caller, terms], REPEATABLE)),
      annihilate: (caller, terms) => orUnreachable(call('annihilate', [caller, terms], REPEATABLE)),
    },
    trading: {
      refusal: staleOrRefusal,
      fill: (caller, fills) =>
        orPending(call('fillQuotes', [caller, fills], false), {
          type: 'ANSWERED',
          items: fills.map(() => ({ type: 'PENDING' })),
        }),
      cancel: (caller, quoteIds) => orUnreachable(call('cancelQuotes', [caller, quoteIds], REPEATABLE)),
      approve: (caller, approvals) => orUnreachable(call('approve', [caller, approvals], REPEATABLE)),
      tradeWithVault: (caller, order) =>
        orPending(call('vaultTrade', [caller, order], false), { type: 'NOT_CONFIRMED' }),
      sign: (quotes) => orUnreachable(call('signQuotes', [quotes], REPEATABLE)),
    },
    vaults: { quote: (trade) => orUnreachable(call('vaultQuote', [trade], REPEATABLE)) },
  };
  return () => (watch.hasWallet() ? services : null);
}

/** Holdings of accounts, which the leader reads. */
export function remoteAccounts(call: LeaderCall): AccountQueries {
  return {
    collateral: (wallet) => orUnreachable(call('collateralBalances', [wallet], REPEATABLE)),
    native: (wallet) => orUnreachable(call('nativeBalance', [wallet], REPEATABLE)),
    async options(wallet, work) {
      const read = await orUnreachable(call('optionBalances', [wallet], REPEATABLE));
      if ('calls' in read) work.charge(read.calls ?? 0, 0);
      return read;
    },
  };
}

/** Requests for quotes, which the leader writes. */
export function remoteRfqs(call: LeaderCall): CoreRfqs {
  return {
    poolAddressOf: (poolKey) => unlessNoLeader(call('poolAddressOf', [poolKey], REPEATABLE), 'UNAVAILABLE'),
    publish: (rfq, owner) => unlessNoLeader(call('publishRfq', [rfq, owner], false), 'BUSY'),
    open: (request) => unlessNoLeader(call('openRfq', [request], false), { type: 'REFUSED', why: 'BUSY' }),
    cancel: (owner, id) => unlessNoLeader(call('cancelRfq', [owner, id], REPEATABLE), 'BUSY'),
  };
}

/** Withdrawals and timers, which the leader writes. The chain has no part in them. */
function remoteProtection(call: LeaderCall, watch: LeaderWatch): Pick<Core, 'protections' | 'withdrawals'> {
  const orNotNow = async <Result>(
    asked: Promise<Result>,
  ): Promise<Result | { readonly type: 'NOT_NOW'; readonly refusal: string }> => {
    const result = await unlessNoLeader(asked, null);
    if (result !== null) return result;
    return { type: 'NOT_NOW', refusal: watch.refusal() ?? 'the leader of the cluster gives no answer' };
  };
  /** A signature is sent to one leader alone: the next one would refuse the nonce, if the first has carried it out. */
  const withdrawing =
    (name: 'withdrawQuotes' | 'restoreQuotes'): QuoteWithdrawals['withdraw'] =>
    (request) => {
      // A leader of before these calls says that it does not know the name.
      const known = 'ofPool' in request.quoteIds ? 'withdrawAllQuotes' : name;
      return orNotNow(call(known, [request], request.consent === 'PROVEN'));
    };
  return {
    // A signature counts once, so that it is sent to one leader alone; a timer is set the same each time.
    protections: { ask: (request) => orNotNow(call('protect', [request], request.type === 'TIMER')) },
    withdrawals: { withdraw: withdrawing('withdrawQuotes'), restore: withdrawing('restoreQuotes') },
  };
}
