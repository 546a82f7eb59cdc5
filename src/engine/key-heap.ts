/**
 * Whole numbers, of which the lowest is asked for: a binary heap. Keys that come in rising order, as blocks do, cost one
 * comparison each, and none makes an object (measured: a B-tree of them took a twentieth of a replay). A key that is
 * added twice is there twice.
 */
export class KeyHeap {
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

  /** Nothing happens when there is none. */
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
    // What is sorted is a heap.
    this.#keys = [...keys].sort((a, b) => a - b);
  }
}
