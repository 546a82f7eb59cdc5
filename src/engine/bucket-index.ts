import { ascending, BTree } from './btree.js';

/** Items by a whole number (a second, a block), to be taken from its low end or listed from its high end without a scan. */
export class BucketIndex<T> {
  readonly #buckets = new BTree<number, Set<T>>(undefined, ascending);

  /** The lowest key that has items. */
  get lowest(): number | undefined {
    return this.#buckets.minKey();
  }

  add(key: number, item: T): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, new Set([item]));
    else bucket.add(item);
  }

  remove(key: number, item: T): void {
    const bucket = this.#buckets.get(key);
    if (bucket?.delete(item) === true && bucket.size === 0) this.#buckets.delete(key);
  }

  has(key: number, item: T): boolean {
    return this.#buckets.get(key)?.has(item) === true;
  }

  /** Every item whose key is greater than `key`. */
  above(key: number): T[] {
    const items: T[] = [];
    for (const bucket of this.#buckets.values(key + 1)) for (const item of bucket) items.push(item);
    return items;
  }

  /** Removes and returns every item whose key is at most `key`. */
  takeThrough(key: number): T[] {
    const items: T[] = [];
    for (let lowest = this.lowest; lowest !== undefined && lowest <= key; lowest = this.lowest) {
      for (const item of this.#buckets.get(lowest) ?? []) items.push(item);
      this.#buckets.delete(lowest);
    }
    return items;
  }

  /** Number of items. */
  count(): number {
    let count = 0;
    for (const bucket of this.#buckets.values()) count += bucket.size;
    return count;
  }
}
