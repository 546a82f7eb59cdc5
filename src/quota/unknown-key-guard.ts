import type { TokenBucket } from 'limiter';
import type { Clock } from '../engine/ports.js';
import { networkOf } from '../net/address.js';
import { LruMap } from '../system/lru-map.js';
import { fullBucket } from './rate-limits.js';

export interface UnknownKeyLimits {
  /** Unknown keys that an address may send in a minute. */
  readonly unknownKeysPerMinute: number;
  /** How long an address that sent more is refused, unless with a key that holds. */
  readonly unknownKeyBanMs: number;
  /** Addresses remembered: those seen last, and up to as many more. */
  readonly unknownKeyAddresses: number;
}

interface Suspect {
  readonly bucket: TokenBucket;
  bannedUntilMs: number;
}

/**
 * Throttles clients that guess keys. It is called only for unknown keys, so it never blocks a valid one, even from the
 * same address.
 */
export class UnknownKeyGuard {
  readonly #limits: UnknownKeyLimits;
  readonly #clock: Clock;
  readonly #suspects: LruMap<string, Suspect>;

  constructor(limits: UnknownKeyLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#suspects = new LruMap(limits.unknownKeyAddresses);
  }

  /** Counts one unknown key. Returns 0, or for how many milliseconds unknown keys from there are not looked at. */
  strike(remoteAddress: string): number {
    const { unknownKeysPerMinute, unknownKeyBanMs } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const suspect = this.#suspectAt(networkOf(remoteAddress));
    if (suspect.bannedUntilMs > nowMs) return suspect.bannedUntilMs - nowMs;
    if (suspect.bucket.tryRemoveTokens(1)) return 0;
    suspect.bannedUntilMs = nowMs + unknownKeyBanMs;
    suspect.bucket.content = unknownKeysPerMinute;
    return unknownKeyBanMs;
  }

  #suspectAt(network: string): Suspect {
    const known = this.#suspects.get(network);
    if (known !== undefined) return known;
    const { unknownKeysPerMinute } = this.#limits;
    const suspect = { bucket: fullBucket(unknownKeysPerMinute, unknownKeysPerMinute, 60_000), bannedUntilMs: 0 };
    this.#suspects.set(network, suspect);
    return suspect;
  }
}
