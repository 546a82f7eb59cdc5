/** What comes one by one, for one reader who may be behind. */
export class Arrivals<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #isOver = false;
  #wake: () => void = () => undefined;

  push(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing comes any more. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#isOver) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
