import { Roster } from './roster.js';
import { WordMixer, type Lanes } from './word-mixer.js';

/** Stands for "not among the changed ones". */
export const UNCHANGED = -1;

/** What a sum keeps at each of its members. */
export interface Summed {
  /** What the sum has of it; null: nothing yet. */
  lanes: Lanes | null;
  /** UNCHANGED when that is all that it is. */
  placeAmongChanged: number;
}

/**
 * A sum over the members of a set that does not depend on their order, so that it follows from the changed ones alone.
 * A change only notes that there was one: what it adds is computed when somebody wants the sum, once however often the
 * member changed, and never where nobody does.
 */
export class ChangingSum<Member extends Summed> {
  readonly #mix: (member: Member, mixer: WordMixer) => void;
  readonly #mixer = new WordMixer();
  readonly #changed = new Roster<Member>((member, place) => (member.placeAmongChanged = place));
  #a = 0;
  #b = 0;
  #c = 0;
  #d = 0;

  /** `mix` gives the mixer all that a member is. */
  constructor(mix: (member: Member, mixer: WordMixer) => void) {
    this.#mix = mix;
  }

  /** The member is new, or not what it was. */
  note(member: Member): void {
    if (member.placeAmongChanged === UNCHANGED) member.placeAmongChanged = this.#changed.add(member);
  }

  /** It is no member any more. */
  drop(member: Member): void {
    if (member.placeAmongChanged !== UNCHANGED) this.#unnote(member);
    if (member.lanes !== null) this.#subtract(member.lanes);
    member.lanes = null;
  }

  /** Adds at most `limit` changed members anew. True when none is left. */
  settle(limit: number): boolean {
    for (let rest = limit; rest > 0; rest -= 1) {
      const member = this.#changed.at(this.#changed.size - 1);
      if (member === undefined) return true;
      this.#unnote(member);
      if (member.lanes !== null) this.#subtract(member.lanes);
      this.#mix(member, this.#mixer);
      member.lanes = this.#mixer.end();
      this.#add(member.lanes);
    }
    return this.#changed.size === 0;
  }

  /** 32 hex digits, of the members as they are now. */
  text(): string {
    this.settle(Infinity);
    return [this.#a, this.#b, this.#c, this.#d].map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }

  #unnote(member: Member): void {
    this.#changed.remove(member.placeAmongChanged);
    member.placeAmongChanged = UNCHANGED;
  }

  #add({ a, b, c, d }: Lanes): void {
    this.#a = (this.#a + a) | 0;
    this.#b = (this.#b + b) | 0;
    this.#c = (this.#c + c) | 0;
    this.#d = (this.#d + d) | 0;
  }

  #subtract({ a, b, c, d }: Lanes): void {
    this.#a = (this.#a - a) | 0;
    this.#b = (this.#b - b) | 0;
    this.#c = (this.#c - c) | 0;
    this.#d = (this.#d - d) | 0;
  }
}
