import { SwapList } from './swap-list.js';

/** A member's contribution to the sum of its set: four numbers of 32 bits, each by its own sum modulo 2^32. */
interface Lanes {
  laneA: number;
  laneB: number;
  laneC: number;
  laneD: number;
}

/** One odd number for each lane (the primes of xxHash32): multiplying by them loses nothing. */
const BY_A = 0x9e3779b1;
const BY_B = 0x85ebca77;
const BY_C = 0xc2b2ae3d;
const BY_D = 0x27d4eb2f;

const TWO_32 = 2 ** 32;
const TWO_64 = 2n ** 64n;

/**
 * Makes four numbers of 32 bits out of a row of words of 32 bits, in a tenth of the time that a SHA-256 of an order as
 * text takes. Members that differ in one word differ in every lane; others are alike with a probability of about
 * 2^-128. That finds faults; an attacker can construct two rows that are alike. docs/reference/log-format.md, "The state's hash
 * and its sum", says what it computes.
 */
export class WordHasher {
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;
  readonly #limbs = new DataView(new ArrayBuffer(32));

  /** Begins a row. */
  begin(): void {
    this.#a = 1;
    this.#b = 2;
    this.#c = 3;
    this.#d = 4;
  }

  /** The low 32 bits. */
  word(word: number): void {
    const a = Math.imul(this.#a ^ word, BY_A);
    const b = Math.imul(this.#b ^ word, BY_B);
    const c = Math.imul(this.#c ^ word, BY_C);
    const d = Math.imul(this.#d ^ word, BY_D);
    this.#a = a ^ (a >>> 15);
    this.#b = b ^ (b >>> 15);
    this.#c = c ^ (c >>> 15);
    this.#d = d ^ (d >>> 15);
  }

  /** A whole number of at most 53 bits: the low word, then the high one. */
  count(value: number): void {
    this.word(value | 0);
    this.word(Math.floor(value / TWO_32) | 0);
  }

  /** A number from 0 to 2^256 - 1: how many words follow, 2 or 8, and these, the lowest first. */
  amount(value: bigint): void {
    const limbs = this.#limbs;
    limbs.setBigUint64(0, value, true);
    if (value < TWO_64) {
      this.word(2);
      this.word(limbs.getInt32(0, true));
      this.word(limbs.getInt32(4, true));
      return;
    }
    this.word(8);
    limbs.setBigUint64(8, value >> 64n, true);
    limbs.setBigUint64(16, value >> 128n, true);
    limbs.setBigUint64(24, value >> 192n, true);
    for (let at = 0; at < 32; at += 4) this.word(limbs.getInt32(at, true));
  }

  /** `0x` and a multiple of eight digits in either case: a word for every eight, from the left. */
  hex(text: string): void {
    for (let at = 2; at < text.length; at += 8) this.word(wordAt(text, at));
  }

  /** The row is over: puts what it adds to a sum into `lanes`. */
  end(lanes: Lanes): void {
    lanes.laneA = spread(this.#a);
    lanes.laneB = spread(this.#b);
    lanes.laneC = spread(this.#c);
    lanes.laneD = spread(this.#d);
  }
}

/** The eight hex digits from `at` on, as 32 bits with a sign. */
export function wordAt(text: string, at: number): number {
  const high = (byteAt(text, at) << 24) | (byteAt(text, at + 2) << 16);
  return high | (byteAt(text, at + 4) << 8) | byteAt(text, at + 6);
}

/** Value of two hexadecimal digits. */
function byteAt(text: string, at: number): number {
  return (digitOf(text.charCodeAt(at)) << 4) | digitOf(text.charCodeAt(at + 1));
}

/** Of an ASCII digit or letter: letters have the bit 0x40, and begin at 1 in their low four bits. */
function digitOf(code: number): number {
  return (code & 15) + 9 * (code >>> 6);
}

/** Each bit depends on every bit (the last step of MurmurHash3), so that sums of rows that are nearly alike are not. */
function spread(lane: number): number {
  let mixed = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** Stands for "not among the changed ones". */
export const UNCHANGED = -1;

/** Fields that a sum keeps at each of its members; the lanes are zeros while it has contributed nothing. */
export interface HashedMember extends Lanes {
  /** UNCHANGED when that is all that it is. */
  placeAmongChanged: number;
}

/**
 * A sum over the members of a set that does not depend on their order, so that it follows from the changed ones alone.
 * A change only notes that there was one: what it adds is computed when somebody wants the sum, once however often the
 * member changed, and never where nobody does.
 */
export class MultisetHash<Member extends HashedMember> {
  readonly #hashMember: (member: Member, hasher: WordHasher) => void;
  readonly #hasher = new WordHasher();
  readonly #changed = new SwapList<Member>((member, place) => (member.placeAmongChanged = place));
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;

  /** `hashMember` gives the hasher every field of a member. */
  constructor(hashMember: (member: Member, hasher: WordHasher) => void) {
    this.#hashMember = hashMember;
  }

  /** The member is new, or not what it was. */
  markChanged(member: Member): void {
    if (member.placeAmongChanged === UNCHANGED) member.placeAmongChanged = this.#changed.add(member);
  }

  /** It is no member any more. */
  remove(member: Member): void {
    if (member.placeAmongChanged !== UNCHANGED) this.#unnote(member);
    this.#subtract(member);
    member.laneA = member.laneB = member.laneC = member.laneD = 0;
  }

  /** Adds at most `limit` changed members anew. True when none is left. */
  update(limit: number): boolean {
    for (let rest = limit; rest > 0; rest -= 1) {
      const member = this.#changed.at(this.#changed.size - 1);
      if (member === undefined) return true;
      this.#unnote(member);
      this.#subtract(member);
      this.#hashMember(member, this.#hasher);
      this.#hasher.end(member);
      this.#add(member);
    }
    return this.#changed.size === 0;
  }

  /** 32 hex digits, of the members as they are now. */
  text(): string {
    this.update(Infinity);
    return [this.#a, this.#b, this.#c, this.#d].map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #unnote(member: Member): void {
    this.#changed.remove(member.placeAmongChanged);
    member.placeAmongChanged = UNCHANGED;
  }

  #add({ laneA, laneB, laneC, laneD }: Lanes): void {
    this.#a = (this.#a + laneA) | 0;
    this.#b = (this.#b + laneB) | 0;
    this.#c = (this.#c + laneC) | 0;
    this.#d = (this.#d + laneD) | 0;
  }

  #subtract({ laneA, laneB, laneC, laneD }: Lanes): void {
    this.#a = (this.#a - laneA) | 0;
    this.#b = (this.#b - laneB) | 0;
    this.#c = (this.#c - laneC) | 0;
    this.#d = (this.#d - laneD) | 0;
  }
}
