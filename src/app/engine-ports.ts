import { QuoteDigest, QuoteSignature } from '../auth/quote-signature.js';
import { loadSecp256k1 } from '../auth/secp256k1.js';
import { InlineSignatureChecks, SignatureCache, SignaturePool } from '../auth/signature-pool.js';
import { unlessChainFails } from '../chain/contracts/contract-errors.js';
import type { BookPort } from '../chain/follow/book-port.js';
import { QuoteDryRun } from '../chain/publish/dry-run.js';
import { QuoteIntake } from '../chain/publish/quote-intake.js';
import { QuoteValidation, QuoteRules } from '../chain/publish/quote-validation.js';
import type { Engine } from '../engine/engine.js';
import type { Clock } from '../engine/ports.js';
import type { Hex, Order, Pool, PoolKey } from '../engine/quote.js';
import type { EngineTime, Sequencer } from '../engine/sequencer.js';
import type { TimedEvent } from '../feed/event-history.js';
import { Feed, type FeedOptions } from '../feed/feed.js';
import { readPastFills } from '../feed/past-fills.js';
import type { TradeVolume } from '../feed/trade-volume.js';
import type { CoverQueries } from '../http/cover-route.js';
import type { PastQueries } from '../past/questions.js';
import type { PastThread } from '../past/past-thread.js';
import type { RfqDesk } from '../rfq/rfq-desk.js';
import type { CoreRfqs } from './core.js';
import type { ServiceOptions, CoreOptions } from './service-options.js';
import type { Chains } from './chains.js';
import type { TimeStep } from './post-traces.js';

function* deployedPools(engine: Engine): Iterable<Pool> {
  for (const { pool } of engine.pools()) yield pool;
}

/** A live or invalid order; what is gone is kept for reorgs alone. */
function knownOrder(engine: Engine, quoteId: Hex): Order | undefined {
  const order = engine.get(quoteId);
  return order?.state === 'gone' ? undefined : order;
}

/** A pool that is deployed, or that a quote of the book names; undefined: the engine knows none at this address. */
export function knownPool(engine: Pick<Engine, 'pool' | 'ordersIn'>, poolAddress: Hex): Pool | undefined {
  const deployed = engine.pool(poolAddress)?.pool;
  if (deployed !== undefined) return deployed;
  for (const { quote } of engine.ordersIn(poolAddress)) return quote.pool;
  return undefined;
}

/** The book as the readers of the chains see and change it. */
export function followedBook(engine: Engine, sequencer: Sequencer): BookPort {
  return {
    submit: (command) => sequencer.submit(command).refusal === null,
    get: (quoteId) => knownOrder(engine, quoteId),
    isKnown: (quoteId) => engine.get(quoteId) !== undefined,
    hasPool: (poolAddress) => engine.hasPool(poolAddress),
    pool: (poolAddress) => knownPool(engine, poolAddress),
    ordersOf: (provider) => engine.ordersOf(provider),
    ordersIn: (poolAddress) => engine.ordersIn(poolAddress),
    quotedPools: () => engine.quotedPools(),
    providers: () => engine.providers(),
    touchedSince: (blockNumber) => engine.touchedSince(blockNumber),
  };
}

/** Ports that requests for quotes need of the chains and the engine. */
export function rfqPorts(
  { pools }: Pick<Chains, 'pools'>,
  desk: Pick<RfqDesk, 'publish' | 'open' | 'cancel'>,
): CoreRfqs {
  return {
    async poolAddressOf(poolKey: PoolKey) {
      const found = await unlessChainFails(() => pools.resolve([poolKey]), null);
      return found === null ? 'UNAVAILABLE' : (found[0]?.poolAddress ?? 'IMPOSSIBLE');
    },
    publish: (rfq, owner) => desk.publish(rfq, owner),
    open: (request) => desk.open(request),
    cancel: (owner, id) => desk.cancel(owner, id),
  };
}

export interface IntakeOptions {
  readonly sequencer: Sequencer;
  readonly chains: Chains;
  readonly signing: SignatureParts;
  /** Engine time, Unix seconds. */
  readonly nowSeconds: () => number;
  /** Of those who wait for their quotes. */
  readonly requestClock: Clock;
}

/** Handlers of posted quotes. */
export interface IntakeParts {
  /** Null without a wallet. */
  readonly intake: QuoteIntake | null;
  /** Everything but the publication. */
  readonly dryRun: QuoteDryRun;
}

/** Puts together the checks of posted quotes, and with a wallet their publication. */
export function openIntake({ engine, clock, limits, traces }: CoreOptions, parts: IntakeOptions): IntakeParts {
  const { sequencer, nowSeconds, requestClock } = parts;
  const { pools, states, publisher } = parts.chains;
  const { digests, signatures, signatureChecks } = parts.signing;
  const { checksPerTurn } = limits;
  const known = { get: (quoteId: Hex) => knownOrder(engine, quoteId), whenDurable: () => sequencer.whenDurable() };
  const checks = new QuoteRules(signatures, nowSeconds, limits);
  const dryRun = new QuoteDryRun(known, pools, digests, signatures, checks, states, clock, checksPerTurn);
  if (publisher === null) return { intake: null, dryRun };
  const validation = (around: TimeStep): QuoteValidation => {
    const timedSignatures: Pick<SignatureCache, 'verifyAll'> = {
      verifyAll: (claimed) => around('verify signatures', () => signatureChecks.verifyAll(claimed)),
    };
    const timedStates: typeof states = { read: (...args) => around('ask the pools', () => states.read(...args)) };
    return new QuoteValidation(known, pools, checks, timedSignatures, timedStates, clock, checksPerTurn);
  };
  const intakeChecks =
    traces?.checks(validation) ??
    new QuoteValidation(known, pools, checks, signatureChecks, states, clock, checksPerTurn);
  return { intake: new QuoteIntake(known, intakeChecks, publisher, requestClock, limits), dryRun };
}

/** Parts that compute quote ids and check signatures. */
export interface SignatureParts {
  readonly digests: QuoteDigest;
  /** On this thread, one at a time. */
  readonly signatures: QuoteSignature;
  /** Of many, on threads of their own where these pay; what was found lately is remembered. */
  readonly signatureChecks: SignatureCache;
}

export async function openSignatures(
  { profile, clock, limits, logger }: CoreOptions,
  onFault: (error: unknown) => void,
): Promise<SignatureParts> {
  const secp256k1 = await loadSecp256k1();
  logger.info({ library: secp256k1.library }, 'signature library loaded');
  const digests = new QuoteDigest(profile.settlement.chainId, limits.poolCache);
  const signatures = new QuoteSignature(digests, secp256k1);
  const inlineChecks = new InlineSignatureChecks(signatures, clock, limits.checksPerTurn);
  const pool = new SignaturePool(inlineChecks, limits, onFault);
  return { digests, signatures, signatureChecks: new SignatureCache(pool, limits.rememberedSignatures) };
}

/** Parts that the feed needs besides the engine as it is now; `recent`: the events just before. */
export interface FeedParts extends Pick<FeedOptions, 'chainId' | 'quoteJson' | 'keccak256' | 'publish'> {
  readonly recent: readonly TimedEvent[];
}

/** Opens the feed at the engine's present state; from then on it must get every event that the engine commits. */
export function openFeed({ engine, epoch, history, limits }: ServiceOptions, parts: FeedParts): Feed {
  const { recent, ...given } = parts;
  return new Feed({
    ...given,
    epoch,
    start: {
      index: engine.index,
      seq: engine.seq,
      tsMs: engine.tsMs,
      orders: engine.known(),
      pools: deployedPools(engine),
      recent,
    },
    older: history,
    limits,
  });
}

/** The feed's book as GET /quotes/cover reads it. */
export function coverQueries(feed: Feed, pools: Pick<CoverQueries, 'isDeployed' | 'poolNamed'>): CoverQueries {
  return {
    epoch: feed.epoch,
    at: () => ({ seq: feed.seq, tsMs: feed.tsMs }),
    cover: (request) => feed.covers.coverOf(request),
    ...pools,
  };
}

/**
 * Counts into the tickers, while the service goes on, what was filled in the day before this start. Rejects when the
 * log cannot be read; resolves early when the service has stopped. `trades`: those of that day, if not from the log.
 */
export async function countPastFills(
  { engine, history, clock, limits }: ServiceOptions,
  { tickers }: Feed,
  isStopped: () => boolean,
  trades: Promise<TradeVolume> | undefined,
): Promise<void> {
  if (history === null) return;
  const start = { index: engine.index, tsMs: engine.tsMs };
  const { pastGroupsPerTurn: groupsPerTurn, recentFills, tradesKept } = limits;
  const ofTrades = { tradesKept, ...(trades !== undefined && { trades }) };
  await readPastFills({ history, tickers, start, clock, groupsPerTurn, recentFills, ...ofTrades, isStopped });
}

/**
 * Answers from the log what is durable. An answer waits for what is applied when it is asked for: a gateway may show an
 * event a moment before this process has it back from the cluster's log.
 */
export function pastQueries(
  past: Pick<PastThread, 'ask'>,
  sequencer: Pick<Sequencer, 'whenDurable' | 'handedIndex'>,
  time: Pick<EngineTime, 'nowMs'>,
): PastQueries {
  return {
    async ask(request) {
      await sequencer.whenDurable();
      return past.ask({ ...request, throughIndex: sequencer.handedIndex, nowMs: time.nowMs() });
    },
  };
}
