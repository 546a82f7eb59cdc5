import type { BlockHead, BlockId } from '../chain/contracts/blocks-and-logs.js';
import { ChainReader } from '../chain/contracts/chain-reader.js';
import { isChainFailure, failureSummary } from '../chain/contracts/contract-errors.js';
import type { Profile } from '../chain/contracts/deployments.js';
import type { MulticallLimits } from '../chain/contracts/multicall.js';
import { withContractNames } from '../chain/contracts/profile-check.js';
import { CommandSubmitter, resumeAfter, resumeFrom } from '../chain/follow/book-port.js';
import { ChainHealth, EndpointSwitch } from '../chain/follow/chain-health.js';
import { ContractBreaker } from '../chain/follow/contract-breaker.js';
import { ChainCursor, type CursorListener, type CursorOptions } from '../chain/follow/cursor.js';
import { DeploymentDryRun } from '../chain/follow/deployment-dry-run.js';
import { EarlyEvents } from '../chain/follow/early-events.js';
import { BookFollower } from '../chain/follow/follower.js';
import { HeadTimestamps } from '../chain/follow/head-timestamps.js';
import { HeardHeads } from '../chain/follow/heard-heads.js';
import { HeadWatch } from '../chain/follow/head-watch.js';
import { LogWindow, type WatchedLogs } from '../chain/follow/log-window.js';
import { PoolAddresses } from '../chain/follow/pool-addresses.js';
import { PublicationCheck } from '../chain/follow/published-quotes.js';
import { QuoteStates, UndeployedPools } from '../chain/follow/quote-states.js';
import { SettlementFollower, watchedSettlement } from '../chain/follow/settlement-follower.js';
import { StatePrefetch } from '../chain/follow/state-prefetch.js';
import { StreamFollower, watchedStream } from '../chain/follow/stream-follower.js';
import { QuotePublisher } from '../chain/publish/publisher.js';
import { openWallets } from '../chain/wallet/open-wallets.js';
import { WalletBalance } from '../chain/wallet/spending.js';
import type { Wallet } from '../chain/wallet/wallet.js';
import type { RpcOptions } from '../chain/rpc/rpc-client.js';
import type { Limits } from '../config/limits.js';
import type { ChainRole } from '../engine/command.js';
import { dueSecond } from '../engine/order-book.js';
import type { Hex } from '../engine/quote.js';
import type { EngineTime, Sequencer } from '../engine/sequencer.js';
import { followedBook } from './book-views.js';
import type { SignatureParts } from './publishing-wiring.js';
import { briefly, TroubleLog } from './trouble-log.js';
import { CatchUpProgress, Progress, type ProgressState } from './progress.js';
import type { CoreOptions } from './service-options.js';
import type { Chains, ChainsOptions } from './chains.js';

export function openChains(options: ChainsOptions): Chains {
  const { profile, rpc, clock, random, limits, readSoFar } = options;
  const { contracts } = profile;
  const { settlement, stream, breaker } = openReaders(options, (contract) => {
    followers.settlement.recheck(contract);
    follower.wake();
  });
  const readers = { settlement, stream };
  const pools = new PoolAddresses(settlement, contracts.poolFactory.address, limits.poolCache);
  const states = openStates(options, settlement);
  const health = { settlement: openHealth(options, 'settlement'), stream: openHealth(options, 'stream') };
  const heads = { settlement: heardHeads(options), stream: heardHeads(options) };
  const windows = openWindows(options, readers, health);
  const wallets = openWallets(options);
  const balances = wallets && {
    settlement: openBalance(options, wallets, 'settlement'),
    stream: openBalance(options, wallets, 'stream'),
  };
  const publisher =
    wallets &&
    openPublisher(options, wallets.stream, {
      newest: () => health.stream.status().head?.number ?? -1,
      readTo: () => readTo('stream')?.blockNumber ?? -1,
      lookNow() {
        heads.stream.askAgain();
        follower.wake();
      },
      readAgain(blockNumber) {
        const isRead = windows.stream.readAgain(blockNumber);
        follower.wake();
        return isRead;
      },
    });
  const submitter = new CommandSubmitter(options.book, clock, limits.journalRetryMs);
  const followers = openFollowers(options, {
    readers,
    cursors: {
      settlement: openCursor('settlement', () => Promise.resolve(contracts.poolFactory.startBlock)),
      stream: openCursor('stream', () => firstStreamBlock(profile, stream)),
    },
    windows,
    pools,
    states,
    breaker,
    submitter,
    publisher,
  });
  const timing = {
    pollMs: limits.chainPollMs,
    backoffMs: limits.chainBackoffMs,
    maxBackoffMs: limits.chainMaxBackoffMs,
    sweepMs: limits.sweepMs,
    sweepSlice: limits.sweepSlice,
    stopGraceMs: limits.chainStopMs,
  };
  const refusing = new EndpointSwitch(rpc, readers, clock, limits.lowerHeadMs);
  const follower: BookFollower = new BookFollower({
    settlement: followers.settlement,
    stream: followers.stream,
    orders: options.known,
    submitter,
    clock,
    random,
    timing,
    listener: { ...options.listener, onFailure },
  });
  const settlementWallet = wallets?.settlement ?? null;
  const spending = wallets && { settlement: wallets.settlement.spending, stream: wallets.stream.spending };
  const hasWaiting = (): boolean => followers.settlement.hasWaiting;
  const ofWallets = { publisher, settlementWallet, spending, balances };
  return { follower, health, heads, settlement, pools, states, ...ofWallets, readTo, hasWaiting, stop };

  function onFailure(error: Error, failures: number): void {
    refusing.onFailure(error, failures);
    // Contracts that quotes are checked by are on the settlement chain, whichever reader asks them.
    const why = isChainFailure(error) ? failureSummary(error) : 'an internal error';
    health[stream.hasGiven(error) ? 'stream' : 'settlement'].onFailure(withContractNames(why, profile));
    options.listener.onFailure(error, failures);
  }

  function readTo(role: ChainRole): BlockId | null {
    return followers[role].position;
  }

  function openCursor(role: ChainRole, firstBlock: () => Promise<number>): ChainCursor {
    const { reorgDepth, logRangeBlocks: maxRange, lowerHeadMs, rpcBlocksInFlight: blocksInFlight } = limits;
    const { confirmations, rereadBlocks } = profile[role];
    const ranges = { reorgDepth, maxRange, nearBlocks: Math.max(1, rereadBlocks), blocksInFlight };
    const cursor: CursorOptions = { firstBlock, confirmations, lowerHeadMs, ...ranges };
    const resume = resumeFrom(readSoFar.position(role), readSoFar.trail(role));
    const listener = headListener(options, role, {
      health: health[role],
      wallet: wallets?.[role] ?? null,
      balance: balances?.[role] ?? null,
      publisher: role === 'stream' ? publisher : null,
      position: () => readTo(role),
    });
    return new ChainCursor(readers[role], cursor, resume, clock, listener, heads[role]);
  }

  async function stop(): Promise<void> {
    publisher?.stop();
    wallets?.settlement.stop();
    wallets?.stream.stop();
    breaker.stop();
    await follower.stop();
  }
}

type OfRoles<T> = Readonly<Record<ChainRole, T>>;

/** The readers ask the nodes. `onAnswering`: a contract that was left alone for a while is answering again. */
function openReaders({ profile, rpc, clock, limits }: ChainsOptions, onAnswering: (contract: Hex) => void) {
  const multicall = multicallLimits(limits);
  const breaker = new ContractBreaker(
    clock,
    {
      contracts: limits.trippedContracts,
      pauseMs: limits.contractPauseMs,
      maxPauseMs: limits.contractMaxPauseMs,
      probeGapMs: limits.contractProbeGapMs,
    },
    (call) => settlement.isAnswered(call),
    onAnswering,
  );
  const multicall3 = profile.contracts.multicall3?.address ?? null;
  const settlement: ChainReader = new ChainReader(rpc.settlement, multicall3, multicall, breaker);
  const stream = new ChainReader(rpc.stream, null, multicall);
  return { settlement, stream, breaker };
}

/** Reads the states of quotes on the settlement chain. */
function openStates({ profile: { contracts }, clock, limits }: ChainsOptions, settlement: ChainReader): QuoteStates {
  const poolFactory = contracts.poolFactory.address;
  const dryRun = new DeploymentDryRun(settlement, poolFactory, clock, {
    gas: limits.rpcGasPerDeployment,
    inFlight: limits.rpcBatchesInFlight,
    patienceMs: limits.deploymentDryRunMs,
    remembered: limits.deploymentDryRuns,
    maxAgeMs: limits.sweepMs,
  });
  const undeployed = new UndeployedPools(settlement, poolFactory, contracts.erc20Router.address, dryRun);
  return new QuoteStates(settlement, undeployed, clock, {
    statesPerSlice: limits.statesPerSlice,
    slicesInFlight: limits.stateSlicesInFlight,
  });
}

function openHealth({ profile, clock, limits }: ChainsOptions, role: ChainRole): ChainHealth {
  return new ChainHealth(role, clock, limits.chainSilenceMs, profile[role].maxHeadAgeSeconds);
}

function heardHeads({ clock, limits }: ChainsOptions): HeardHeads {
  // A chain counts as silent after twice as long.
  return new HeardHeads(clock, { checkMs: limits.chainSilenceMs / 2, lagMs: limits.lowerHeadMs });
}

/** Asks another node than the one that is read, where there is one. */
function secondReader({ rpc, limits }: ChainsOptions, role: ChainRole): ChainReader {
  const ofRole = rpc[role];
  return new ChainReader(
    { request: (args) => ofRole.requestFromAnother?.(args) ?? ofRole.request(args) },
    null,
    multicallLimits(limits),
  );
}

/** The logs of the blocks near each chain's head. */
function openWindows(options: ChainsOptions, readers: OfRoles<ChainReader>, health: OfRoles<ChainHealth>) {
  const { profile, rpc, book, clock, limits, readSoFar } = options;
  const { poolFactory, orderbookStream } = profile.contracts;
  const open = (role: ChainRole, watched: WatchedLogs): LogWindow => {
    const second = secondReader(options, role);
    const { trail, isPartial } = resumeFrom(readSoFar.position(role), readSoFar.trail(role));
    return new LogWindow(
      readers[role],
      second,
      watched,
      clock,
      {
        rereadMs: limits.rereadMs,
        patienceMs: limits.lowerHeadMs,
        verifyBlocks: limits.verifyBlocks,
        verifyMs: limits.verifyMs,
        logsPerVerifyRequest: limits.logsPerVerifyRequest,
        hintsMs: limits.chainPollMs,
        mostLogs: limits.rememberedLogs,
        rereadBlocks: profile[role].rereadBlocks,
        blocksInFlight: limits.rpcBlocksInFlight,
      },
      trail.at(isPartial ? -2 : -1) ?? null,
      {
        onLate: (events) => options.onLateLogs(role, events),
        onLacking: () => rpc[role].preferAnother?.(),
        onDoubt: (why) => health[role].doubt(why),
      },
    );
  };
  return {
    settlement: open('settlement', watchedSettlement(book, poolFactory.address)),
    stream: open('stream', watchedStream(orderbookStream.address)),
  };
}

function openBalance({ rpc, clock, limits }: ChainsOptions, wallets: OfRoles<Wallet>, role: ChainRole): WalletBalance {
  return new WalletBalance(rpc[role], wallets[role].address, clock, limits.walletBalanceMs);
}

interface HeadListenerParts {
  readonly health: ChainHealth;
  readonly wallet: Wallet | null;
  readonly balance: WalletBalance | null;
  /** Null without a wallet, and for the settlement chain. */
  readonly publisher: QuotePublisher | null;
  /** The last block that was read. */
  readonly position: () => BlockId | null;
}

/** Passes on to all that depend on a chain's head what its cursor finds. */
function headListener(options: ChainsOptions, role: ChainRole, parts: HeadListenerParts): CursorListener {
  const { clock, limits, rpc } = options;
  const { health, wallet, balance, publisher, position } = parts;
  let lastHash: Hex | null = null;
  const second = secondReader(options, role);
  const timestamps = new HeadTimestamps(
    clock,
    limits.headLeapMs,
    (blockNumber) => second.block(blockNumber),
    options.onSettlementTime,
  );
  return {
    onAsk: () => health.onAsk(),
    async onHead(head: BlockHead): Promise<void> {
      health.onHead(head);
      if (head.hash !== lastHash) {
        lastHash = head.hash;
        wallet?.onHead();
        balance?.onHead();
      }
      if (role === 'settlement') await timestamps.add(head);
    },
    onLag: () => rpc[role].preferAnother?.(),
    onReorg({ blockNumber }: BlockId): void {
      options.onReorg?.(role);
      wallet?.onReorg(blockNumber);
      publisher?.onReorg(blockNumber);
    },
    onRead(): void {
      health.onRead();
      const at = position();
      if (at !== null) wallet?.onRead(at);
    },
  };
}

/** How far the stream chain is read, for the publisher; blocks by number, -1 before the first. */
interface StreamReading {
  /** The newest block that was seen. */
  newest(): number;
  /** The last block that was read. */
  readTo(): number;
  /** Reads up to a block that was not seen yet. */
  lookNow(): void;
  /** Resolves when the block was read once more. */
  readAgain(blockNumber: number): Promise<void>;
}

function openPublisher(options: ChainsOptions, wallet: Wallet, reading: StreamReading): QuotePublisher {
  return new QuotePublisher({
    wallet,
    orderbookStream: options.profile.contracts.orderbookStream.address,
    clock: options.clock,
    limits: options.limits,
    onMined({ blockNumber }) {
      // Where the reader has seen that block or a later one, it reads it or has read it.
      if (blockNumber > reading.newest()) reading.lookNow();
    },
    readAgain: (blockNumber) => reading.readAgain(blockNumber),
    isRead: (blockNumber) => reading.readTo() >= blockNumber,
    isDue: (quote) => dueSecond(quote) <= options.nowSeconds(),
    watch: options.publications,
  });
}

interface FollowerParts {
  readonly readers: OfRoles<ChainReader>;
  readonly cursors: OfRoles<ChainCursor>;
  readonly windows: OfRoles<LogWindow>;
  readonly pools: PoolAddresses;
  readonly states: QuoteStates;
  readonly breaker: ContractBreaker;
  readonly submitter: CommandSubmitter;
  readonly publisher: QuotePublisher | null;
}

/** The followers enter the events of each chain into the book. */
function openFollowers(options: ChainsOptions, parts: FollowerParts) {
  const { profile, book, clock, limits, signatures, signatureChecks, readSoFar } = options;
  const { readers, cursors, windows, states, submitter, publisher } = parts;
  const prefetch = new StatePrefetch(states, () => publisher?.awaited() ?? [], limits.statesPerSlice);
  const early = new EarlyEvents(limits.earlyEvents);
  const settlement = new SettlementFollower({
    reader: readers.settlement,
    cursor: cursors.settlement,
    book,
    submitter,
    window: windows.settlement,
    states,
    prefetch,
    breaker: parts.breaker,
    early,
    onIgnored: options.onIgnoredEvent,
    poolFactory: profile.contracts.poolFactory.address,
    resumeAfter: resumeAfter(readSoFar.position('settlement')),
    reportEveryBlocks: limits.positionEveryBlocks,
    reorgDepth: limits.reorgDepth,
    restatedPerCommand: limits.restatedPerCommand,
    touchedSlice: limits.touchedSlice,
    blocksInFlight: limits.rpcBlocksInFlight,
  });
  const stream = new StreamFollower({
    reader: readers.stream,
    cursor: cursors.stream,
    book,
    submitter,
    publications: new PublicationCheck({
      book,
      pools: parts.pools,
      signatures,
      signatureChecks,
      clock,
      nowSeconds: options.nowSeconds,
      checksPerTurn: limits.checksPerTurn,
    }),
    states: prefetch,
    early,
    window: windows.stream,
    listener: {
      onDecided: (quoteId, refusal) => publisher?.onEventRead(quoteId, refusal),
      onRefused: options.onRefusedEvent,
      beforeEntry: () => settlement.reportBlock(),
    },
    resumeAfter: resumeAfter(readSoFar.position('stream')),
    reportEveryBlocks: limits.positionEveryBlocks,
    blocksInFlight: limits.rpcBlocksInFlight,
  });
  return { settlement, stream };
}

/** How contracts are asked, as the configuration's limits have it. */
export function multicallLimits(
  limits: Pick<ChainsOptions['limits'], 'rpcCallsPerBatch' | 'rpcBatchesInFlight' | 'rpcGasPerCall' | 'rpcGasPerCheck'>,
): MulticallLimits {
  return {
    callsPerBatch: limits.rpcCallsPerBatch,
    batchesInFlight: limits.rpcBatchesInFlight,
    gasPerCall: limits.rpcGasPerCall,
    gasPerCheck: limits.rpcGasPerCheck,
  };
}

/** `attempts`: tries of one request. */
export function rpcOptions(limits: Limits, attempts = limits.rpcAttempts): RpcOptions {
  return {
    timeoutMs: limits.rpcTimeoutMs,
    attempts,
    backoffMs: limits.rpcBackoffMs,
    returnAfterMs: limits.rpcReturnAfterMs,
    maxAnswerBytes: limits.rpcAnswerBytes,
    maxAnswerParts: limits.rpcAnswerParts,
    maxLogsAnswerBytes: limits.rpcLogsAnswerBytes,
    maxLogsAnswerParts: limits.rpcLogsAnswerParts,
    maxCallAnswerBytes: limits.rpcCallAnswerBytes,
  };
}

/** An empty log reads the stream from so many seconds before the chain's own newest block on. */
async function firstStreamBlock({ contracts, streamLookbackSeconds }: Profile, stream: ChainReader): Promise<number> {
  const newest = (await stream.head()).timestamp;
  return firstBlockSince(stream, contracts.orderbookStream.startBlock, newest - streamLookbackSeconds);
}

export interface FollowedChainsParts {
  readonly sequencer: Sequencer;
  readonly time: EngineTime;
  readonly nowSeconds: () => number;
  readonly signing: SignatureParts;
}

export interface FollowedChains {
  readonly chains: Chains;
  /** Resolves when both have been read to their heads. */
  readonly ready: Promise<void>;
}

/** Names the failed chain reads in `troubles`. */
const READING = 'reading';

/** Puts the readers of both chains together with the book, the log lines and the metrics. They do not run yet. */
export function openFollowedChains(options: CoreOptions, parts: FollowedChainsParts): FollowedChains {
  const { engine, logger, metrics } = options;
  const { sequencer, time, nowSeconds, signing } = parts;
  const troubles = new TroubleLog(options.clock, options.limits.troubleCalmMs);
  let isReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (isReady = resolve));
  const book = followedBook(engine, sequencer);
  const line = ({ title, percent, secondsLeft }: ProgressState): void => {
    logger.info({ step: title, percent, secondsLeft }, 'catching up');
  };
  const catchUp: CatchUpProgress = new CatchUpProgress(
    new Progress({ line, status: options.showStatus }, options.clock),
    (role) => chains.health[role].status().head?.number ?? null,
    (chain, block) => logger.info({ chain, block }, 'catching up'),
  );
  const chains: Chains = (options.openChains ?? openChains)({
    ...options,
    book: options.traces?.book(book, () => engine.index) ?? book,
    ...(options.traces && { publications: options.traces.publications }),
    known: () => engine.known(),
    readSoFar: { position: (role) => engine.positions()[role], trail: (role) => engine.trail(role) },
    signatures: signing.signatures,
    signatureChecks: signing.signatureChecks,
    onSettlementTime: (timestamp) => time.observe(timestamp),
    nowSeconds,
    onRefusedEvent(why, { txHash, logIndex }) {
      metrics?.refusedEvents.labels(why).inc();
      // Anybody can publish thousands of them in a block, for little gas.
      logger.debug({ reason: why, txHash, logIndex }, 'published quote rejected');
    },
    onIgnoredEvent: (why) => metrics?.ignoredEvents.labels(why).inc(),
    onReorg: (chain) => metrics?.reorgs.labels(chain).inc(),
    onLateLogs(chain, events) {
      metrics?.lateLogs.labels(chain).inc(events);
      logger.warn({ chain, events }, 'late block events');
    },
    onTxTrouble: (nonce, reason) => logger.warn({ nonce, reason }, 'transaction problem'),
    listener: {
      onCaughtUp() {
        catchUp.end();
        isReady();
      },
      onFailure(error, failures) {
        metrics?.readFailures.inc();
        if (troubles.failed(READING)) logger.warn({ reason: briefly(error), failures }, 'chain read failed');
        else logger.debug({ err: error, failures }, 'chain read failed');
      },
      onSuccess() {
        const over = troubles.succeeded(READING);
        if (over !== null) logger.info(over, 'chain read recovered');
      },
      onHalt(error) {
        logger.fatal({ err: error }, 'chain reader halted');
        for (const health of Object.values(chains.health)) health.halt(error.message);
        options.onDeepReorg?.(error.message);
      },
      onProgress: (settlement, stream) => catchUp.at(settlement.blockNumber, stream?.blockNumber ?? null),
    },
  });
  return { chains, ready };
}

/** New heads wake the follower; both roles may share one endpoint, which is then watched once. */
export function watchHeads(
  { profile, clock, random, limits }: Pick<CoreOptions, 'profile' | 'clock' | 'random' | 'limits'>,
  chains: Chains,
): HeadWatch[] {
  const patience = {
    pingMs: limits.headWatchPingMs,
    backoffMs: limits.chainBackoffMs,
    maxBackoffMs: limits.chainMaxBackoffMs,
  };
  const urls = new Set([profile.settlement.wsUrl, profile.stream.wsUrl]);
  return [...urls].flatMap((url) => {
    if (url === null) return [];
    const roles = (['settlement', 'stream'] as const).filter((role) => profile[role].wsUrl === url);
    const listener = {
      onOpen(): void {
        for (const role of roles) chains.heads[role].open();
        chains.follower.wake();
      },
      onHead(head: BlockHead): void {
        for (const role of roles) chains.heads[role].add(head);
        chains.follower.wake();
      },
      onClose(): void {
        for (const role of roles) chains.heads[role].close();
      },
    };
    const watch = new HeadWatch(url, listener, clock, random, patience);
    watch.start();
    return [watch];
  });
}

/**
 * The first block from `startBlock` on that is not older than `timestamp` (Unix seconds), by bisection: about 28
 * requests on a chain of a hundred million blocks. Past the newest block when all are older.
 */
async function firstBlockSince(reader: ChainReader, startBlock: number, timestamp: number): Promise<number> {
  let low = startBlock;
  let high = (await reader.head()).number + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await reader.block(middle)).timestamp < timestamp) low = middle + 1;
    else high = middle;
  }
  return low;
}
