import type { Hex } from 'viem';
import type { SideText } from '../../wire/primitives.js';
import { type LedgerOptions, type Offer, QuoteLedger, type SentQuote, type TrackedQuote } from './quote-ledger.js';

/** Price and size to offer on one side. */
export interface SideTarget {
  /** 1e-18, as quotes have it. */
  readonly price: bigint;
  /** 1e-18 contracts: the most that may be filled, private quotes included. */
  readonly size: bigint;
  /** The part of `size` that is kept for takers who request quotes, and its price; absent: requests are not answered. */
  readonly rfq?: { readonly price: bigint; readonly size: bigint };
}

/** Targets of one pool; an absent side offers nothing. */
export type QuoteTarget = Partial<Readonly<Record<SideText, SideTarget>>>;

export interface DeskOptions extends LedgerOptions {
  /** Seconds. Quotes live between half of it and one and a half; default of a manager 300. */
  readonly lifeSeconds: number;
  /** Life of private quotes, seconds; default of a manager 30. */
  readonly rfqLifeSeconds: number;
  /**
   * A quote at another price than the target's that ends within so many seconds is left to end, if it is no better for
   * takers; default of a manager 15.
   */
  readonly graceSeconds: number;
}

/** A taker's request for a quote, as far as the desk answers it. */
export interface RfqAsked {
  readonly poolAddress: Hex;
  readonly side: SideText;
  readonly size: bigint;
  readonly taker: Hex;
  readonly atSeconds: number;
}

export interface Decision {
  /** New quotes, then ids of quotes to be posted again: one request. */
  readonly offers: readonly Offer[];
  readonly reposts: readonly Hex[];
  /** Quotes to be cancelled on the chain, by pool: they would live too long at a price or size that is no longer wanted. */
  readonly cancels: ReadonlyMap<Hex, readonly Hex[]>;
}

/** Limits of what the desk may do now. */
export interface DecisionLimits {
  readonly nowSeconds: number;
  /** Quotes that the request may have; 0: no request. */
  readonly quotes: number;
}

/**
 * Decides what a market maker posts and cancels; no input or output of its own. Invariant: on each side of a pool no
 * decision makes what may be filled more than the target's size.
 */
export class QuotingDesk {
  readonly ledger: QuoteLedger;
  readonly #options: DeskOptions;
  readonly #targets = new Map<Hex, QuoteTarget>();
  #requests: readonly RfqAsked[] = [];
  #isClosing = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.ledger = new QuoteLedger(options);
  }

  get finalityBlocks(): number {
    return this.#options.finalityBlocks;
  }

  /** `null` offers nothing more, and cancels what is offered. */
  target(poolAddress: Hex, target: QuoteTarget | null): void {
    for (const side of SIDES) {
      const { size = 0n, price = 0n, rfq } = target?.[side] ?? {};
      if (size < 0n || price < 0n || (rfq !== undefined && (rfq.size < 0n || rfq.size > size))) {
        throw new RangeError(
          `A target's size and price are at least 0, and what is kept for requests at most its size`,
        );
      }
    }
    if (target === null) this.#targets.delete(poolAddress);
    else this.#targets.set(poolAddress, target);
  }

  /** Requests beyond a bound are dropped, the oldest first. */
  request(rfq: RfqAsked): void {
    if (this.#targets.get(rfq.poolAddress)?.[rfq.side]?.rfq === undefined) return;
    this.#requests = [...this.#requests, rfq].slice(-MOST_REQUESTS);
  }

  /** From now on nothing is posted, and everything is cancelled. */
  close(): void {
    this.#isClosing = true;
  }

  /**
   * Takes a signed offer into the ledger, right before it is posted. False: something has changed since the decision, and
   * the quote must not be sent.
   */
  admit(quote: SentQuote): boolean {
    const target = this.#targets.get(quote.poolAddress)?.[quote.side];
    if (this.#isClosing || target === undefined) return false;
    const { poolAddress, side, taker, price, size } = quote;
    const kind = taker === null ? 'PUBLIC' : 'PRIVATE';
    const kept = target.rfq?.size ?? 0n;
    const wanted = kind === 'PUBLIC' ? target.size - kept : kept;
    const isRightPrice = price === (kind === 'PUBLIC' ? target.price : target.rfq?.price);
    const fits =
      this.ledger.mayFill(poolAddress, side, kind) + size <= wanted &&
      this.ledger.mayFill(poolAddress, side) + size <= target.size;
    if (!isRightPrice || !fits) return false;
    this.ledger.sent(quote);
    return true;
  }

  decide({ nowSeconds, quotes }: DecisionLimits): Decision {
    const cancels = this.#cancels(nowSeconds);
    if (this.#isClosing || quotes <= 0 || this.ledger.size >= MOST_TRACKED) return { offers: [], reposts: [], cancels };
    const reposts = this.ledger
      .all()
      .filter(({ status, deadline, isCancelling }) => {
        return status === 'UNKNOWN' && !isCancelling && deadline - nowSeconds >= LEAST_LIFE_SECONDS;
      })
      .map(({ quoteId }) => quoteId)
      .slice(0, quotes);
    // The answers to the unknown ones decide what is missing: nothing new goes into the same request.
    if (reposts.length > 0) return { offers: [], reposts, cancels };
    const offers = this.#publicOffers(nowSeconds).slice(0, quotes);
    return {
      offers: [...offers, ...this.#privateOffers(nowSeconds, quotes - offers.length, offers)],
      reposts,
      cancels,
    };
  }

  #publicOffers(nowSeconds: number): Offer[] {
    const { lifeSeconds } = this.#options;
    // Common ends: quotes that replace parts end together with the rest, and one request renews them.
    const deadline = Math.ceil((nowSeconds + lifeSeconds / 2) / lifeSeconds) * lifeSeconds;
    return this.#sides().flatMap(({ poolAddress, side, target: { price, size, rfq } }) => {
      const wanted = size - (rfq?.size ?? 0n);
      const room = min(
        wanted - this.ledger.mayFill(poolAddress, side, 'PUBLIC'),
        size - this.ledger.mayFill(poolAddress, side),
      );
      // A smaller gap is not worth a quote.
      if (room <= 0n || room * SMALLEST_PART < wanted) return [];
      return [{ poolAddress, side, taker: null, price, size: room, deadline }];
    });
  }

  #privateOffers(nowSeconds: number, quotes: number, others: readonly Offer[]): Offer[] {
    const requests = this.#requests.filter(({ atSeconds }) => nowSeconds - atSeconds <= REQUEST_SECONDS);
    const offers: Offer[] = [];
    // The size kept for requests may have been filled just now: then it comes back with the next look at the chain.
    const waiting: RfqAsked[] = [];
    for (const request of requests) {
      const { poolAddress, side, taker, size } = request;
      const target = this.#targets.get(poolAddress)?.[side];
      if (target?.rfq === undefined || quotes - offers.length <= PUBLIC_RESERVE) continue;
      const planned = (list: readonly Offer[]): bigint => {
        const same = list.filter((each) => each.poolAddress === poolAddress && each.side === side);
        return same.reduce((sum, each) => sum + each.size, 0n);
      };
      const room = min(
        target.rfq.size - this.ledger.mayFill(poolAddress, side, 'PRIVATE') - planned(offers),
        target.size - this.ledger.mayFill(poolAddress, side) - planned(others) - planned(offers),
      );
      if (room <= 0n) {
        waiting.push(request);
        continue;
      }
      const deadline = nowSeconds + this.#options.rfqLifeSeconds;
      offers.push({ poolAddress, side, taker, price: target.rfq.price, size: min(room, size), deadline });
    }
    this.#requests = waiting;
    return offers;
  }

  #cancels(nowSeconds: number): Map<Hex, Hex[]> {
    const cancels = new Map<Hex, Hex[]>();
    const cancel = ({ poolAddress, quoteId }: TrackedQuote): void => {
      cancels.set(poolAddress, [...(cancels.get(poolAddress) ?? []), quoteId]);
    };
    const live = this.ledger.all().filter(({ isCancelling, mayFill }) => !isCancelling && mayFill > 0n);
    const kept: TrackedQuote[] = [];
    for (const quote of live) {
      // Cancels go to the chain once the request has been answered.
      if (quote.status === 'SENT' || !this.#goesEarly(quote, nowSeconds)) kept.push(quote);
      else cancel(quote);
    }
    for (const { poolAddress, side, target } of this.#sides())
      this.#cancelExcess(kept, poolAddress, side, target, cancel);
    return cancels;
  }

  /** The target has become smaller than what is offered: the quotes that end last go first. */
  #cancelExcess(
    kept: readonly TrackedQuote[],
    poolAddress: Hex,
    side: SideText,
    { size, rfq }: SideTarget,
    cancel: (quote: TrackedQuote) => void,
  ): void {
    for (const [isPrivate, most] of [
      [false, size - (rfq?.size ?? 0n)],
      [true, rfq?.size ?? 0n],
    ] as const) {
      const offered = kept
        .filter(
          (quote) => quote.poolAddress === poolAddress && quote.side === side && (quote.taker !== null) === isPrivate,
        )
        .sort((a, b) => b.deadline - a.deadline);
      let sum = offered.reduce((total, { mayFill }) => total + mayFill, 0n);
      for (const quote of offered) {
        if (sum <= most || quote.status === 'SENT') continue;
        sum -= quote.mayFill;
        cancel(quote);
      }
    }
  }

  #goesEarly({ poolAddress, side, taker, price, deadline }: TrackedQuote, nowSeconds: number): boolean {
    if (this.#isClosing) return true;
    const target = this.#targets.get(poolAddress)?.[side];
    if (target === undefined) return true;
    // Private quotes are short.
    if (taker !== null || price === target.price) return false;
    const isBetterForTakers = side === 'ask' ? price < target.price : price > target.price;
    return isBetterForTakers || deadline - nowSeconds > this.#options.graceSeconds;
  }

  #sides() {
    return [...this.#targets].flatMap(([poolAddress, sides]) =>
      SIDES.flatMap((side) => {
        const target = sides[side];
        return target === undefined ? [] : [{ poolAddress, side, target }];
      }),
    );
  }
}

const SIDES = ['bid', 'ask'] as const;
/** A quote is at least a quarter of what the side offers. */
const SMALLEST_PART = 4n;
/** Requests that wait for the next request to the service. */
const MOST_REQUESTS = 16;
/** So long a request waits; then its taker has gone elsewhere. */
const REQUEST_SECONDS = 5;
/** Quotes of the allowance that private quotes leave to public ones. */
const PUBLIC_RESERVE = 10;
/** The service refuses shorter lives; a few seconds more for the way there. */
const LEAST_LIFE_SECONDS = 15;
/** A request posts at most 1,000. */
const MOST_TRACKED = 1_000;

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
