import { SwapList } from './swap-list.js';

/**
 * Whole numbers, of which the lowest is asked for: a binary heap. Keys that come in rising order, as blocks do, cost one
 * comparison each, and none makes an object (measured: a B-tree of them took a twentieth of a replay). A key that is
 * added twice is there twice.
 */
export class MinHeap {
  /** No key is lower than the one at half its place (counted from 1). */
  #keys: number[] = [];

  get lowest(): number | undefined {
    return this.#keys[0];
  }

  add(key: number): void {
    const keys = this.#keys;
    let place = keys.length;
    keys.push(key);
    while (place > 0) {
      const above = (place - 1) >>> 1;
      const other = keys[above] ?? key;
      if (other <= key) break;
      keys[place] = other;
      place = above;
    }
    keys[place] = key;
  }

  /** Does nothing on an empty index. */
  dropLowest(): void {
    const keys = this.#keys;
    const last = keys.pop();
    if (last === undefined || keys.length === 0) return;
    let place = 0;
    for (let below = 1; below < keys.length; below = 2 * place + 1) {
      const left = keys[below] ?? last;
      const right = keys[below + 1] ?? Infinity;
      const lower = right < left ? right : left;
      if (lower >= last) break;
      keys[place] = lower;
      place = right < left ? below + 1 : below;
    }
    keys[place] = last;
  }

  /** Every key that is at most `most`, in no particular order. None of the others is looked at, but for two under each. */
  *through(most: number): Generator<number> {
    const places = [0];
    for (let place = places.pop(); place !== undefined; place = places.pop()) {
      const key = this.#keys[place];
      if (key === undefined || key > most) continue;
      yield key;
      places.push(2 * place + 2, 2 * place + 1);
    }
  }

  /** These instead of all that there are. */
  replace(keys: Iterable<number>): void {
    // A sorted array is a heap.
    this.#keys = [...keys].sort((a, b) => a - b);
  }
}

/** Empty buckets that are kept in any case. */
const SPARE_BUCKETS = 64;

/**
 * Items by a whole number (a second, a block), to be taken from its low end without a scan. Each item remembers the
 * place that `add` gave it, and hears of another through `moved`. A bucket that loses its last item stays for the next
 * one, until the empty ones outnumber the others.
 */
export class TimeIndex<T> {
  readonly #buckets = new Map<number, SwapList<T>>();
  /** Those of the buckets. */
  readonly #keys = new MinHeap();
  readonly #moved: (item: T, place: number) => void;

  #empty = 0;

  constructor(moved: (item: T, place: number) => void) {
    this.#moved = moved;
  }

  /** The lowest key that has items. */
  get lowest(): number | undefined {
    for (;;) {
      const { lowest } = this.#keys;
      if (lowest === undefined || this.#buckets.get(lowest)?.size !== 0) return lowest;
      this.#dropLowest(lowest);
      this.#empty -= 1;
    }
  }

  /** Returns the item's place. */
  add(key: number, item: T): number {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = new SwapList(this.#moved);
      this.#buckets.set(key, bucket);
      this.#keys.add(key);
    } else if (bucket.size === 0) this.#empty -= 1;
    return bucket.add(item);
  }

  /** Nothing happens when the whole key has been taken out. */
  remove(key: number, place: number): void {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return;
    bucket.remove(place);
    if (bucket.size > 0) return;
    this.#empty += 1;
    if (this.#empty > SPARE_BUCKETS && 2 * this.#empty > this.#buckets.size) this.#sweep();
  }

  has(key: number, place: number, item: T): boolean {
    return this.#buckets.get(key)?.at(place) === item;
  }

  /** Every item whose key is greater than `key`, in no particular order. Looks at each bucket. */
  above(key: number): T[] {
    const items: T[] = [];
    for (const [other, bucket] of this.#buckets) {
      if (other > key) for (const item of bucket) items.push(item);
    }
    return items;
  }

  /** Items whose key is at most `key`: no more than `most`, and no certain ones. */
  through(key: number, most: number): T[] {
    const items: T[] = [];
    for (const other of this.#keys.through(key)) {
      for (const item of this.#buckets.get(other) ?? []) {
        if (items.length === most) return items;
        items.push(item);
      }
    }
    return items;
  }

  /** Whether more than `most` items have a key that is at most `key`. */
  hasMoreThrough(key: number, most: number): boolean {
    // Each command asks, and nearly always this is the answer: no iterator is made for it.
    if ((this.#keys.lowest ?? Infinity) > key) return false;
    let count = 0;
    for (const other of this.#keys.through(key)) {
      count += this.#buckets.get(other)?.size ?? 0;
      if (count > most) return true;
    }
    return false;
  }

  /** Removes and returns every item whose key is at most `key`. */
  takeThrough(key: number): T[] {
    const items: T[] = [];
    for (let { lowest } = this.#keys; lowest !== undefined && lowest <= key; { lowest } = this.#keys) {
      const bucket = this.#buckets.get(lowest);
      if (bucket?.size === 0) this.#empty -= 1;
      for (const item of bucket ?? []) items.push(item);
      this.#dropLowest(lowest);
    }
    return items;
  }

  /** Number of items. */
  count(): number {
    let count = 0;
    for (const bucket of this.#buckets.values()) count += bucket.size;
    return count;
  }

  #sweep(): void {
    for (const [key, { size }] of this.#buckets) if (size === 0) this.#buckets.delete(key);
    this.#keys.replace(this.#buckets.keys());
    this.#empty = 0;
  }

  #dropLowest(lowest: number): void {
    this.#buckets.delete(lowest);
    this.#keys.dropLowest();
  }
}
