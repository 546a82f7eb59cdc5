import { QuoteDigest } from '../../src/auth/quote-signature.js';
import type { AnvilSetup } from '../servers/on-anvil.js';
import { CHAIN_ID, Makers, type SignedWork } from './signed-quotes.js';

/** How long quotes live, in seconds. */
const LIFE_SECONDS = 3600;

/** Makers that have the means: the local chain's accounts, but for the operator's and the last one's. */
export class AnvilMakers {
  private constructor(
    private readonly makers: Makers,
    private readonly setup: Pick<AnvilSetup, 'accounts' | 'pools'>,
  ) {}

  static open(setup: Pick<AnvilSetup, 'accounts' | 'pools'>, firstSalt: number): AnvilMakers {
    const keys = setup.accounts.slice(1, -1).map(({ privateKey }) => Buffer.from(privateKey.slice(2), 'hex'));
    return new AnvilMakers(new Makers(new QuoteDigest(CHAIN_ID, 100), 3, firstSalt, keys), setup);
  }

  sign(count: number): SignedWork[] {
    return this.makers.signMany(this.setup.pools, Math.floor(Date.now() / 1000) + LIFE_SECONDS, count);
  }
}
