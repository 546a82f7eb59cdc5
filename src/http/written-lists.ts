import type { Order } from '../engine/order.js';

export interface WrittenList {
  readonly body: string | Uint8Array;
  /** Digest of all that it shows. */
  readonly shown: string;
}

/**
 * Lists of orders that were written since the last record of the log. Takers ask for sizes of their own, but what
 * covers them is the same few quotes of a pool again and again. As with `RememberedAnswers`, what was wanted once is
 * not kept, only what is wanted again.
 */
export class WrittenLists {
  /** By its last order, which next to always says where on which side a list ends; null: wanted once. */
  readonly #lists = new Map<Order | undefined, (WrittenList & { readonly orders: readonly Order[] }) | null>();
  readonly #maxBytes: number;
  #bytes = 0;
  #index = -1;

  /** `maxBytes`: of all texts together; one that does not fit takes the place of all before. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `index`: of the last record. What was written at another is forgotten: orders change in their places. */
  find(orders: readonly Order[], index: number): WrittenList | undefined {
    if (index !== this.#index) {
      this.#clear();
      this.#index = index;
    }
    const found = this.#lists.get(orders.at(-1)) ?? undefined;
    return found !== undefined && isSame(found.orders, orders) ? found : undefined;
  }

  /** After `find` of the same. */
  keep(orders: readonly Order[], { body, shown }: WrittenList): void {
    const last = orders.at(-1);
    const isWantedAgain = this.#lists.has(last);
    const bytes = isWantedAgain ? body.length : NOTE_BYTES;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#clear();
    this.#bytes += bytes;
    this.#lists.set(last, isWantedAgain ? { orders, shown, body: Buffer.from(body) } : null);
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
