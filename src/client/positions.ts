export type Arrival = 'NEXT' | 'SEEN' | 'GAP';

/** How far each key of a subscription has come; says of each message whether it is the next one. */
export class Positions {
  readonly #at = new Map<string, number>();
  #confirmed = -1;

  /** Everything of the key up to `seq` is known. */
  set(key: string, seq: number): void {
    this.#at.set(key, seq);
  }

  /**
   * The server has sent everything of every key up to here. It moves no key: what was lost on the way must still show.
   */
  confirm(seq: number): void {
    this.#confirmed = Math.max(this.#confirmed, seq);
  }

  /** The server sends what came after `seq`, and what it sends follows on that. */
  resumeFrom(seq: number): void {
    for (const [key, at] of this.#at) this.#at.set(key, Math.max(at, seq));
  }

  clear(): void {
    this.#at.clear();
    this.#confirmed = -1;
  }

  /**
   * `prevSeq` is the key's message before this one, or any number that every reader of the key was past by then: a gap
   * is only what lies after our own place.
   */
  take(key: string, seq: number, prevSeq: number): Arrival {
    const at = this.#at.get(key);
    if (at === undefined || prevSeq > at) {
      this.#confirmed = -1;
      return 'GAP';
    }
    if (seq <= at) return 'SEEN';
    this.#at.set(key, seq);
    return 'NEXT';
  }

  /** Everything of all keys up to here is known; null before the first. */
  get complete(): number | null {
    return this.#at.size === 0 ? null : Math.max(this.#confirmed, Math.min(...this.#at.values()));
  }
}
