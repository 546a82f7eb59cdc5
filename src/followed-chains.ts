import type { ChainSide } from './chain/chain-side-options.js';
import { openChainSide } from './chain/chain-side.js';
import type { BlockHead } from './chain/contracts/blocks-and-logs.js';
import { HeadWatch } from './chain/follow/head-watch.js';
import { followedBook } from './engine-side.js';
import type { EngineTime, Sequencer } from './engine/sequencer.js';
import type { ServiceOptions } from './service-options.js';
import type { SignatureSide } from './signature-side.js';
import { briefly, TroubleLog } from './trouble-log.js';

export interface FollowedChainsParts {
  readonly sequencer: Sequencer;
  readonly time: EngineTime;
  readonly nowSeconds: () => number;
  readonly signing: SignatureSide;
}

export interface FollowedChains {
  readonly chains: ChainSide;
  /** Resolves when both have been read to their heads. */
  readonly ready: Promise<void>;
}

/** Of `TroubleLog`. */
const READING = 'reading';

/** Puts the readers of both chains together with the book, the log lines and the metrics. They do not run yet. */
export function openFollowedChains(options: ServiceOptions, parts: FollowedChainsParts): FollowedChains {
  const { engine, logger, metrics } = options;
  const { sequencer, time, nowSeconds, signing } = parts;
  const troubles = new TroubleLog(options.clock, options.limits.troubleCalmMs);
  let isReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (isReady = resolve));
  const chains = (options.openChains ?? openChainSide)({
    ...options,
    book: followedBook(engine, sequencer),
    known: () => engine.known(),
    readSoFar: { position: (role) => engine.positions()[role], trail: (role) => engine.trail(role) },
    signatures: signing.signatures,
    checks: signing.signatureChecks,
    onSettlementTime: (timestamp) => time.observe(timestamp),
    nowSeconds,
    onRefusedEvent(why, { txHash, logIndex }) {
      metrics?.refusedEvents.labels(why).inc();
      // Anybody can publish thousands of them in a block, for little gas.
      logger.debug({ why, txHash, logIndex }, 'published event refused');
    },
    onIgnoredEvent: (why) => metrics?.ignoredEvents.labels(why).inc(),
    onLateLogs(chain, events) {
      metrics?.lateLogs.labels(chain).inc(events);
      logger.warn({ chain, events }, 'events came after the rest of their block');
    },
    onTxTrouble: (nonce, what) => logger.warn({ nonce, what }, 'trouble with a transaction'),
    listener: {
      onCaughtUp: isReady,
      onFailure(error, failures) {
        metrics?.readFailures.inc();
        if (troubles.failed(READING)) logger.warn({ why: briefly(error), failures }, 'reading the chains failed');
        else logger.debug({ err: error, failures }, 'reading the chains failed');
      },
      onSuccess() {
        const over = troubles.succeeded(READING);
        if (over !== null) logger.info(over, 'the chains can be read again');
      },
      onHalt(error) {
        logger.fatal({ err: error }, 'reading the chains has stopped');
        for (const health of Object.values(chains.health)) health.halt(error.message);
        options.onDeepReorg?.(error.message);
      },
      onProgress: (settlement, stream) =>
        logger.info({ settlement: settlement.blockNumber, stream: stream?.blockNumber }, 'catching up'),
    },
  });
  return { chains, ready };
}

/** New heads wake the follower; both roles may share one endpoint, which is then watched once. */
export function watchHeads({ profile, clock, random, limits }: ServiceOptions, chains: ChainSide): HeadWatch[] {
  const patience = {
    pingMs: limits.headWatchPingMs,
    backoffMs: limits.chainBackoffMs,
    maxBackoffMs: limits.chainMaxBackoffMs,
  };
  const urls = new Set([profile.settlement.wsUrl, profile.stream.wsUrl]);
  return [...urls].flatMap((url) => {
    if (url === null) return [];
    const roles = (['settlement', 'stream'] as const).filter((role) => profile[role].wsUrl === url);
    const onHead = (head: BlockHead | null): void => {
      if (head !== null) for (const role of roles) chains.hear(role, head);
      chains.follower.wake();
    };
    const watch = new HeadWatch(url, onHead, clock, random, patience);
    watch.start();
    return [watch];
  });
}
