/** Up to so many are found faster by looking at each. */
const FEW = 4;

/**
 * What a record has shown so far, each with its number: 0 for the first. Most records show one or two of a kind, and
 * emptying a Map for each of them costs more than all else that is done with it; the record of a reorg shows thousands.
 */
export class Numbered<Item> {
  readonly #keyOf: (item: Item) => string;
  readonly #items: Item[] = [];
  /** How many of them are this record's: an array that is made shorter costs a call of the runtime's. */
  #count = 0;
  /** The numbers from FEW on; of several items with one key, the last. */
  readonly #later = new Map<string, number>();

  constructor(keyOf: (item: Item) => string) {
    this.#keyOf = keyOf;
  }

  clear(): void {
    if (this.#count > FEW) {
      this.#later.clear();
      this.#items.length = 0;
    }
    this.#count = 0;
  }

  add(item: Item): void {
    const number = this.#count;
    this.#items[number] = item;
    this.#count += 1;
    if (number >= FEW) this.#later.set(this.#keyOf(item), number);
  }

  /** The number of the last item shown with that key; -1: there is none. */
  find(key: string): number {
    const items = this.#items;
    if (this.#count > FEW) {
      const number = this.#later.get(key);
      if (number !== undefined) return number;
    }
    for (let number = Math.min(FEW, this.#count) - 1; number >= 0; number -= 1) {
      const item = items[number];
      if (item !== undefined && this.#keyOf(item) === key) return number;
    }
    return -1;
  }

  at(number: number): Item | undefined {
    // An array that is asked for its item -1 looks for a property of that name.
    return number >= 0 && number < this.#count ? this.#items[number] : undefined;
  }
}
