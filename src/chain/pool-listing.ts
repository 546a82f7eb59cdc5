import type { DeployedPool } from '../engine/pool-registry.js';
import type { OptionSeries, SeriesPool } from './option-series.js';

/** Every filter that is given must hold. */
export interface PoolFilter {
  readonly base?: string;
  readonly quote?: string;
  /** Unix seconds. */
  readonly maturity?: number;
}

/** The pools that are listed: deployed not too long ago, and not expired. */
export class PoolListing {
  constructor(
    /** Deployed pools, the first deployed first. */
    private readonly pools: () => Iterable<DeployedPool>,
    private readonly series: OptionSeries,
    /** Engine time, Unix seconds. */
    private readonly nowSeconds: () => number,
    /** Age in seconds above which a pool is no longer listed. */
    private readonly maxAgeSeconds: number,
  ) {}

  /** In the order of their deployment. */
  list({ base, quote, maturity }: PoolFilter): SeriesPool[] {
    const now = this.nowSeconds();
    const listed: SeriesPool[] = [];
    for (const { pool, deployedAt } of this.pools()) {
      const expiresAt = pool.poolKey.maturity;
      if (expiresAt <= now || deployedAt < now - this.maxAgeSeconds) continue;
      if (maturity !== undefined && expiresAt !== maturity) continue;
      const option = this.series.describe(pool);
      if (option === null) continue;
      if ((base ?? option.base) === option.base && (quote ?? option.quote) === option.quote) listed.push(option);
    }
    return listed;
  }
}
