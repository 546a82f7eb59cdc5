/**
 * Ids that count for a key until they end: at most `perKey` of one key, and `inAll`. They are in memory, so that a
 * restart forgets them. Times are the caller's, in any unit.
 */
export class CountedByKey<Id> {
  readonly #keyOf = new Map<Id, string>();
  /** When each ends, by key, the oldest first. */
  readonly #endOf = new Map<string, Map<Id, number>>();
  /** None ends before: a full table is not searched in vain for each request. */
  #nearestEnd = Infinity;

  constructor(private readonly most: { readonly perKey: number; readonly inAll: number }) {}

  has(id: Id): boolean {
    return this.#keyOf.has(id);
  }

  /** The first time at which one of the key has ended; Infinity: it has none. */
  nearestEnd(key: string): number {
    let nearest = Infinity;
    for (const end of this.#endOf.get(key)?.values() ?? []) nearest = Math.min(nearest, end);
    return nearest;
  }

  /**
   * Whether the key may have one more: if there are too many in all, only one with fewer than another key. Looks for
   * ended ones only when there seem to be too many.
   */
  hasRoom(key: string, now: number): boolean {
    const { perKey, inAll } = this.most;
    if (this.#keyOf.size >= inAll && this.#nearestEnd <= now) this.#dropAllEnded(now);
    if (this.#count(key) >= perKey) this.#dropEnded(key, now);
    if (this.#count(key) >= perKey) return false;
    return this.#keyOf.size < inAll || this.#count(key) < this.#count(this.#fullest());
  }

  /** Returns the id that gives way, the oldest of the key with most; null: there is room. */
  add(key: string, id: Id, end: number): Id | null {
    this.delete(id);
    const [evicted = null] =
      this.#keyOf.size >= this.most.inAll ? (this.#endOf.get(this.#fullest())?.keys() ?? []) : [];
    if (evicted !== null) this.delete(evicted);
    this.#keyOf.set(id, key);
    this.#endOf.set(key, (this.#endOf.get(key) ?? new Map<Id, number>()).set(id, end));
    this.#nearestEnd = Math.min(this.#nearestEnd, end);
    return evicted;
  }

  /** Nothing happens when it does not count. */
  delete(id: Id): void {
    const key = this.#keyOf.get(id);
    if (key === undefined) return;
    this.#keyOf.delete(id);
    const ofKey = this.#endOf.get(key);
    ofKey?.delete(id);
    if (ofKey?.size === 0) this.#endOf.delete(key);
  }

  #count(key: string): number {
    return this.#endOf.get(key)?.size ?? 0;
  }

  #fullest(): string {
    let [fullest, most] = ['', 0];
    for (const [key, { size }] of this.#endOf) if (size > most) [fullest, most] = [key, size];
    return fullest;
  }

  #dropAllEnded(now: number): void {
    this.#nearestEnd = Infinity;
    for (const key of this.#endOf.keys()) {
      this.#dropEnded(key, now);
      this.#nearestEnd = Math.min(this.#nearestEnd, this.nearestEnd(key));
    }
  }

  #dropEnded(key: string, now: number): void {
    for (const [id, end] of this.#endOf.get(key) ?? []) if (end <= now) this.delete(id);
  }
}
