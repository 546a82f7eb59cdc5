import type { Order } from '../engine/quote.js';
import { readyAgain, type TaggedAnswer } from './tagged-answer.js';

interface WrittenList {
  readonly orders: readonly Order[];
  readonly ready: TaggedAnswer;
}

/**
 * Answers with lists of orders that were written since the last record of the log. Takers ask for sizes of their own, but what
 * covers them is the same few quotes of a pool again and again. As with `RememberedAnswers`, what was wanted once is
 * not kept, only what is wanted again.
 */
export class WrittenLists {
  /** By the list's last order, which nearly always tells one list from another; null: wanted once so far. */
  readonly #lists = new Map<Order | undefined, WrittenList | null>();
  readonly #maxBytes: number;
  #bytes = 0;
  #index = -1;

  /** `maxBytes`: of all texts together; one that does not fit takes the place of all before. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `index`: of the last record. What was written at another is forgotten: orders change in their places. */
  find(orders: readonly Order[], index: number): TaggedAnswer | undefined {
    if (index !== this.#index) {
      this.#clear();
      this.#index = index;
    }
    const found = this.#lists.get(orders.at(-1)) ?? undefined;
    return found !== undefined && isSame(found.orders, orders) ? found.ready : undefined;
  }

  /** After `find` of the same. */
  keep(orders: readonly Order[], made: TaggedAnswer): void {
    const last = orders.at(-1);
    const isWantedAgain = this.#lists.has(last);
    const bytes = isWantedAgain ? made.answer.body.length : NOTE_BYTES;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#clear();
    this.#bytes += bytes;
    this.#lists.set(last, isWantedAgain ? { orders, ready: readyAgain(made) } : null);
  }

  #clear(): void {
    if (this.#bytes === 0) return;
    this.#lists.clear();
    this.#bytes = 0;
  }
}

/** That a list was wanted once, about. */
const NOTE_BYTES = 50;

function isSame(some: readonly Order[], others: readonly Order[]): boolean {
  return some.length === others.length && some.every((order, i) => order === others[i]);
}
