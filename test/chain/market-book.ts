import type { Test } from 'tap';
import type { Hex } from '../../src/engine/quote.js';
import type { Market } from './dev/market.js';
import { Following, type FollowingOptions } from './following.js';
import type { SignedOffer } from './sign-quote.js';

/** A market, and a book that follows it. */
export class MarketBook {
  /** What `work` does to the chain is taken back when it is done. */
  static async isolated(
    market: Market,
    options: Partial<FollowingOptions>,
    work: (book: MarketBook) => Promise<void>,
  ): Promise<void> {
    await market.isolated(async () => {
      const following = await Following.start({ profile: market.chain.profile, ...options });
      try {
        await work(new MarketBook(market, following));
      } finally {
        await following.stop();
      }
    });
  }

  /** Makes tests that each have a book of their own, and leave the market as they found it. */
  static tests(
    t: Test,
    market: Market,
  ): (name: string, options: Partial<FollowingOptions>, test: (t: Test, book: MarketBook) => Promise<void>) => void {
    return (name, options, test) =>
      void t.test(name, (t) => MarketBook.isolated(market, options, (book) => test(t, book)));
  }

  private constructor(
    readonly market: Market,
    readonly following: Following,
  ) {}

  get ids(): Hex[] {
    return [...this.following.engine.known()].map(({ quote }) => quote.quoteId).sort();
  }

  upToDate(): Promise<void> {
    const { client } = this.market;
    return this.following.upToDate({ settlement: client, stream: client });
  }

  /** Publishes the quotes, and resolves when the book has heard of them. */
  async publish(...offers: readonly SignedOffer[]): Promise<void> {
    await this.market.publish(this.market.stranger.address, offers);
    await this.upToDate();
  }

  /** 0: it can be filled; null: it is not known; otherwise why it can't be filled now, in the contract's numbers. */
  reasonOf({ quoteId }: SignedOffer): number | null {
    const order = this.following.engine.get(quoteId);
    return order === undefined || order.state === 'gone' ? null : (order.reason ?? 0);
  }

  fillable({ quoteId }: SignedOffer): bigint {
    return this.following.engine.get(quoteId)?.fillableSize ?? 0n;
  }
}

/** The same chain without Multicall3 on it. */
export function withoutMulticall(market: Market): Partial<FollowingOptions> {
  const { profile } = market.chain;
  return { profile: { ...profile, contracts: { ...profile.contracts, multicall3: null } } };
}
