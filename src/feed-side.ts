import { deployedPools } from './engine-side.js';
import type { TimedEvent } from './feed/event-history.js';
import { Feed, type FeedOptions } from './feed/feed.js';
import { readPastFills } from './feed/past-fills.js';
import type { ServiceOptions } from './service-options.js';

/** What the feed needs besides the engine as it is now; `recent`: the events just before. */
export interface FeedSideParts extends Pick<FeedOptions, 'chainId' | 'quoteJson' | 'keccak256' | 'publish'> {
  readonly recent: readonly TimedEvent[];
}

/** The feed from here on: whatever the engine applies later, it is to be told. */
export function openFeed({ engine, epoch, history, limits }: ServiceOptions, parts: FeedSideParts): Feed {
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

/**
 * Counts into the tickers, while the service goes on, what was filled in the day before this start. Rejects when the
 * log cannot be read; resolves early when the service has stopped.
 */
export async function countPastFills(
  { engine, history, clock, limits }: ServiceOptions,
  { tickers }: Feed,
  isStopped: () => boolean,
): Promise<void> {
  if (history === null) return;
  const start = { index: engine.index, tsMs: engine.tsMs };
  const { pastGroupsPerTurn: groupsPerTurn, recentFills } = limits;
  await readPastFills({ history, tickers, start, clock, groupsPerTurn, recentFills, isStopped });
}
