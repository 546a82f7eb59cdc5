import type { HeldTier } from '../auth/key-file.js';
import { TokenBucket } from 'limiter';

interface Buckets {
  readonly tier: HeldTier;
  /** Of the first two, as the header tells of them. */
  readonly policy: { readonly requests: string; readonly both: string };
  readonly requests: TokenBucket;
  readonly quotes: TokenBucket;
  readonly messages: TokenBucket;
  readonly rfqs: TokenBucket;
  /** Below 0: what was done is paid for before more is done. */
  readonly rows: TokenBucket;
  readonly bytes: TokenBucket;
}

type BucketKind = 'requests' | 'quotes' | 'messages' | 'rfqs';
/** A kind of use that a bucket counts. */
export type CountedKind = BucketKind | 'rows' | 'bytes';
/** The resource that ran out. */
export type QuotaKind = BucketKind | 'connections' | 'channels' | 'day' | 'answers';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/**
 * The quota that each key has left. A token bucket per key and kind: it refills evenly, so that there is no edge of a
 * window where twice the rate gets through, and is asked synchronously, so that an answer that is there at once stays
 * so. Only keys that exist get here, which bounds the number of buckets.
 */
export class Quotas {
  #table: QuotaTable;
  readonly #burstSeconds: number;
  readonly #onRefusal: (quota: QuotaKind, tier: HeldTier) => void;
  readonly #buckets = new Map<string, Buckets>();

  /** Hears what keys use here, where others count it as well. */
  onUsed: ((holder: QuotaHolder, kind: CountedKind, amount: number) => void) | null = null;

  /** `burstSeconds`: of rows and bytes. `onRefusal` hears of each refusal. */
  constructor(table: QuotaTable, burstSeconds: number, onRefusal: (quota: QuotaKind, tier: HeldTier) => void) {
    this.#table = table;
    this.#burstSeconds = burstSeconds;
    this.#onRefusal = onRefusal;
  }

  /** Other numbers from now on; every key starts anew with full buckets. */
  adopt(table: QuotaTable): void {
    this.#table = table;
    this.#buckets.clear();
  }

  of(tier: HeldTier): TierQuotas {
    return this.#table[tier];
  }

  /** Takes one request. Returns 0, or for how many milliseconds there will be none. */
  takeRequest(holder: QuotaHolder): number {
    return this.#take(holder, 'requests', 1);
  }

  /** Takes all of `count` quotes or none. Returns as `takeRequest`; more than `quoteBurst` never fit. */
  takeQuotes(holder: QuotaHolder, count: number): number {
    return this.#take(holder, 'quotes', count);
  }

  /** Takes one message of a socket. Returns as `takeRequest`. */
  takeMessage(holder: QuotaHolder): number {
    return this.#take(holder, 'messages', 1);
  }

  /** Takes all of `count` requests for quotes or none. Returns as `takeRequest`. */
  takeRfqs(holder: QuotaHolder, count: number): number {
    return this.#take(holder, 'rfqs', count);
  }

  /** Counts rows and bytes that were written for the key, more than it has left too: it waits for them afterwards. */
  charge(holder: QuotaHolder, rows: number, bytes: number): void {
    this.usedElsewhere(holder, 'rows', rows);
    this.usedElsewhere(holder, 'bytes', bytes);
    this.onUsed?.(holder, 'rows', rows);
    this.onUsed?.(holder, 'bytes', bytes);
  }

  /** The key has used that much elsewhere: it has so much less left here. */
  usedElsewhere(holder: QuotaHolder, kind: CountedKind, amount: number): void {
    const bucket = this.#of(holder)[kind];
    bucket.drip(); // first: the time before must not refill what is taken now
    bucket.content -= amount;
  }

  /** 0, or how many milliseconds the key waits until it has paid for its rows and bytes. */
  debtMs(holder: QuotaHolder): number {
    const { rows, bytes } = this.#of(holder);
    return Math.max(rows.getWaitTime(0), bytes.getWaitTime(0));
  }

  /**
   * Puts what was granted by `takeRequest` and, with `quotes`, by `takeQuotes` into an answer's headers, names and
   * values in turn, for the client to pace itself by (draft-ietf-httpapi-ratelimit-headers-10).
   */
  headers(holder: QuotaHolder, quotes: boolean, into: string[]): void {
    const buckets = this.#of(holder);
    const state = `"requests";r=${left(buckets.requests)};t=1`;
    into.push('ratelimit-policy', quotes ? buckets.policy.both : buckets.policy.requests);
    into.push('ratelimit', quotes ? `${state}, "quotes";r=${left(buckets.quotes)};t=60` : state);
  }

  /** Something was refused for what is not counted here. */
  refused(quota: QuotaKind, tier: HeldTier): void {
    this.#onRefusal(quota, tier);
  }

  /** The key was revoked or changed: what it used is forgotten. */
  forget(keyId: string): void {
    this.#buckets.delete(keyId);
  }

  #take(holder: QuotaHolder, kind: BucketKind, count: number): number {
    const bucket = this.#of(holder)[kind];
    if (bucket.tryRemoveTokens(count)) {
      this.onUsed?.(holder, kind, count);
      return 0;
    }
    this.#onRefusal(kind, holder.tier);
    // At least 1, since 0 means granted.
    return Math.max(1, bucket.getWaitTime(Math.min(count, bucket.bucketSize)));
  }

  #of({ id, tier }: QuotaHolder): Buckets {
    const known = this.#buckets.get(id);
    if (known?.tier === tier) return known;
    const { requestsPerSecond, quotesPerMinute, quoteBurst, messagesPerSecond, rfqsPerMinute, ...answers } =
      this.#table[tier];
    const burst = (perSecond: number) => fullBucket(perSecond * this.#burstSeconds, perSecond, SECOND_MS);
    const policy = `"requests";q=${requestsPerSecond};w=1`;
    const buckets: Buckets = {
      tier,
      policy: { requests: policy, both: `${policy}, "quotes";q=${quotesPerMinute};w=60` },
      requests: fullBucket(requestsPerSecond, requestsPerSecond, SECOND_MS),
      quotes: fullBucket(quoteBurst, quotesPerMinute, MINUTE_MS),
      messages: fullBucket(messagesPerSecond, messagesPerSecond, SECOND_MS),
      rfqs: fullBucket(rfqsPerMinute, rfqsPerMinute, MINUTE_MS),
      rows: burst(answers.rowsPerSecond),
      bytes: burst(answers.answerBytesPerSecond),
    };
    this.#buckets.set(id, buckets);
    return buckets;
  }
}

/**
 * Whole tokens, with what came back since some were taken last: a minute ago, or before an answer that was long in
 * coming.
 */
function left(bucket: TokenBucket): number {
  bucket.drip();
  return Math.max(0, Math.floor(bucket.content));
}

/** The library's buckets start empty, and would refuse the first request. */
export function fullBucket(bucketSize: number, tokensPerInterval: number, interval: number): TokenBucket {
  const bucket = new TokenBucket({ bucketSize, tokensPerInterval, interval });
  bucket.content = bucketSize;
  return bucket;
}

/** Quotas of the keys of one tier. Each number is per key. */
export interface TierQuotas {
  readonly requestsPerSecond: number;
  readonly quotesPerMinute: number;
  /** Quotes that may be posted at once by a key that has posted none for a while; also the most in one request. */
  readonly quoteBurst: number;
  /** Quotes that the operator publishes for it in 24 hours, and what it pays for all that it sends for it, in gas. */
  readonly quotesPerDay: number;
  readonly gasPerDay: number;
  /** WebSockets open at once. */
  readonly connections: number;
  /** Channels followed at once over all its sockets. */
  readonly channels: number;
  /** Messages that its sockets may send, all together. */
  readonly messagesPerSecond: number;
  /** Requests for quotes, each leg for itself: each is a record of the log. */
  readonly rfqsPerMinute: number;
  /** Quotes, events and levels, and their bytes, in large answers and in what its sockets request. */
  readonly rowsPerSecond: number;
  readonly answerBytesPerSecond: number;
  /** Large answers that wait while another one is made. */
  readonly answersWaiting: number;
}

export type QuotaTable = Readonly<Record<HeldTier, TierQuotas>>;

/** The key whose quota is used. */
export interface QuotaHolder {
  readonly id: string;
  readonly tier: HeldTier;
}
