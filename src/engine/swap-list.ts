/**
 * Items in no particular order, each of which knows its place: adding and removing look nothing up and compare nothing,
 * where a Set hashes (measured: the book's five indexes cost a third of what they do with sets). `moved` tells an item
 * that its place is another one now. The list must not change while it is walked.
 */
export class SwapList<T> implements Iterable<T> {
  readonly #items: T[] = [];
  readonly #moved: (item: T, place: number) => void;

  constructor(moved: (item: T, place: number) => void) {
    this.#moved = moved;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Returns the item's place. */
  add(item: T): number {
    return this.#items.push(item) - 1;
  }

  /** The last one takes the place that becomes free. */
  remove(place: number): void {
    const last = this.#items.pop();
    if (last === undefined || place === this.#items.length) return;
    this.#items[place] = last;
    this.#moved(last, place);
  }

  at(place: number): T | undefined {
    return this.#items[place];
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items.values();
  }
}
