import type { Engine } from '../engine/engine.js';
import type { Pool } from '../engine/quote.js';
import type { TimedEvent } from '../feed/event-history.js';
import { Feed, type FeedOptions } from '../feed/feed.js';
import { readPastFills } from '../feed/past-fills.js';
import type { TradeVolume } from '../feed/trade-volume.js';
import type { CoverQueries } from '../http/cover-route.js';
import { ID_SALT } from '../system/clock.js';
import type { ServiceOptions } from './service-options.js';

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
    idSalt: ID_SALT,
    limits,
  });
}

function* deployedPools(engine: Engine): Iterable<Pool> {
  for (const { pool } of engine.pools()) yield pool;
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
