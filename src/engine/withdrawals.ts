import type { SignedNonce } from './command.js';
import type { Hex } from './quote.js';
import { type HashedMember, MultisetHash, UNCHANGED, type WordHasher } from './state-hash.js';
import { TimeIndex } from './time-index.js';

/** Fields that the sum of a set and the index of times keep at a member of both. */
abstract class HashedEntry implements HashedMember {
  place = 0;
  laneA = 0;
  laneB = 0;
  laneC = 0;
  laneD = 0;
  placeAmongChanged = UNCHANGED;
}

/** A quote that its provider withdrew. */
export class Withdrawal extends HashedEntry {
  readonly quoteId: Hex;
  readonly provider: Hex;
  /** First Unix second in which the quote is expired. */
  readonly due: number;

  constructor(quoteId: Hex, provider: Hex, due: number) {
    super();
    this.quoteId = quoteId;
    this.provider = provider;
    this.due = due;
  }
}

/** A nonce that its provider has signed with: it counts once. */
export class SpentNonce extends HashedEntry {
  readonly provider: Hex;
  readonly nonce: bigint;
  /** Unix seconds: the last one in which a signature with it would count. */
  readonly deadline: number;

  constructor(provider: Hex, { nonce, deadline }: SignedNonce) {
    super();
    this.provider = provider;
    this.nonce = nonce;
    this.deadline = deadline;
  }
}

/**
 * The quotes that are withdrawn, and the nonces that providers signed with. A withdrawal outlives the order: a reorg of
 * the stream chain may undo a publication, and when the quote is published again it is still withdrawn. Both are kept
 * until their time has run out, a nonce until its deadline and a withdrawal until the quote has expired.
 */
export class Withdrawals {
  readonly sum = new MultisetHash<Withdrawal | SpentNonce>(hashMember);
  readonly #byId = new Map<Hex, Withdrawal>();
  readonly #byDue = new TimeIndex<Withdrawal>((withdrawal, place) => (withdrawal.place = place));
  readonly #nonces = new Map<Hex, Map<bigint, SpentNonce>>();
  readonly #byDeadline = new TimeIndex<SpentNonce>((nonce, place) => (nonce.place = place));
  #nonceCount = 0;

  get isEmpty(): boolean {
    return this.#byId.size === 0 && this.#nonceCount === 0;
  }

  get nonceCount(): number {
    return this.#nonceCount;
  }

  get(quoteId: Hex): Withdrawal | undefined {
    return this.#byId.get(quoteId);
  }

  has(quoteId: Hex): boolean {
    return this.#byId.size > 0 && this.#byId.has(quoteId);
  }

  all(): Iterable<Withdrawal> {
    return this.#byId.values();
  }

  /** One that is not there yet. */
  add(withdrawal: Withdrawal): void {
    this.#byId.set(withdrawal.quoteId, withdrawal);
    withdrawal.place = this.#byDue.add(withdrawal.due, withdrawal);
    this.sum.markChanged(withdrawal);
  }

  /** Nothing happens when the quote is not withdrawn. */
  remove(quoteId: Hex): void {
    const withdrawal = this.#byId.get(quoteId);
    if (withdrawal === undefined) return;
    this.#byId.delete(quoteId);
    this.#byDue.remove(withdrawal.due, withdrawal.place);
    this.sum.remove(withdrawal);
  }

  isSpent(provider: Hex, nonce: bigint): boolean {
    return this.#nonces.get(provider)?.has(nonce) === true;
  }

  /** How many nonces of the provider are kept. */
  noncesOf(provider: Hex): number {
    return this.#nonces.get(provider)?.size ?? 0;
  }

  /** Of the nonces of a provider, or of all (null); Infinity: there are none. */
  nearestDeadline(provider: Hex | null): number {
    if (provider === null) return this.#byDeadline.lowest ?? Infinity;
    let nearest = Infinity;
    for (const { deadline } of this.#nonces.get(provider)?.values() ?? []) nearest = Math.min(nearest, deadline);
    return nearest;
  }

  *nonces(): Generator<SpentNonce> {
    for (const ofProvider of this.#nonces.values()) yield* ofProvider.values();
  }

  /** One that is not spent yet. */
  spend(spent: SpentNonce): void {
    const ofProvider = this.#nonces.get(spent.provider) ?? new Map<bigint, SpentNonce>();
    this.#nonces.set(spent.provider, ofProvider.set(spent.nonce, spent));
    spent.place = this.#byDeadline.add(spent.deadline, spent);
    this.sum.markChanged(spent);
    this.#nonceCount += 1;
  }

  /** Forgets what time has run out for. */
  expire(nowSeconds: number): void {
    if (this.isEmpty) return;
    for (const withdrawal of this.#byDue.takeThrough(nowSeconds)) {
      this.#byId.delete(withdrawal.quoteId);
      this.sum.remove(withdrawal);
    }
    for (const spent of this.#byDeadline.takeThrough(nowSeconds - 1)) {
      const ofProvider = this.#nonces.get(spent.provider);
      ofProvider?.delete(spent.nonce);
      if (ofProvider?.size === 0) this.#nonces.delete(spent.provider);
      this.sum.remove(spent);
      this.#nonceCount -= 1;
    }
  }
}

/** The first word tells the two kinds apart. */
function hashMember(member: Withdrawal | SpentNonce, hasher: WordHasher): void {
  hasher.begin();
  if (member instanceof Withdrawal) {
    hasher.word(1);
    hasher.hex(member.quoteId);
    hasher.hex(member.provider);
    hasher.count(member.due);
  } else {
    hasher.word(2);
    hasher.hex(member.provider);
    hasher.amount(member.nonce);
    hasher.count(member.deadline);
  }
}
