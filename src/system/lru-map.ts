/**
 * What was made of an object, kept while it is wanted: the last `capacity` that were made or found, and up to as many
 * from before. A WeakMap would keep it for as long as the object itself; but V8 goes through all of one's entries in
 * each collection of its old generation, for the most part with everything standing still (measured: a whole collection
 * with 300,000 entries takes 230 to 370 ms, with a Map of the same 85 to 110).
 */
export class LruMap<Key extends object, Value> {
  #recent = new Map<Key, Value>();
  #before: ReadonlyMap<Key, Value> = new Map();

  constructor(private readonly capacity: number) {}

  get(key: Key): Value | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const before = this.#before.get(key);
    if (before !== undefined) this.set(key, before);
    return before;
  }

  set(key: Key, value: Value): void {
    if (this.#recent.size >= this.capacity) {
      this.#before = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, value);
  }
}
