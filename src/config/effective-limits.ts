import { limits, type Limits } from './limits.js';
import type { Settings } from './setting-table.js';

/** The limits, with those that settings changed. */
export function effectiveLimits(settings: Settings): Limits {
  const { reorgDepth, publishTimeoutMs, minQuoteLifeSeconds, maxTxBytes, wsAuthDeadlineMs } = settings;
  return { ...limits, reorgDepth, publishTimeoutMs, minQuoteLifeSeconds, maxTxBytes, wsAuthDeadlineMs };
}
