import type { Hex } from 'viem';
import type { PriceLevelsJson } from '../wire/feed-messages.js';
import type { SideText } from '../wire/primitives.js';
import { levelTerm, SetHash } from './set-hash.js';

/** A price with what is fillable at it; amounts in 1e-18, `price` as the pool's quotes have it. */
export interface BookLevel {
  readonly price: bigint;
  readonly size: bigint;
  /** Quotes. */
  readonly count: number;
}

interface LevelSide {
  readonly byPrice: Map<bigint, BookLevel>;
  /** Best first; null: to be sorted anew. */
  sorted: readonly BookLevel[] | null;
}

/** One pool's price levels, with the hash that the server's has to equal. */
export class LevelBook {
  #hash = new SetHash();
  readonly #sides: Readonly<Record<SideText, LevelSide>> = { bid: emptySide(), ask: emptySide() };

  /** Bids, the highest first. */
  get bids(): readonly BookLevel[] {
    return this.#sorted('bid');
  }

  /** Asks, the lowest first. */
  get asks(): readonly BookLevel[] {
    return this.#sorted('ask');
  }

  get hash(): Hex {
    return this.#hash.text;
  }

  clear(): void {
    this.#hash = new SetHash();
    for (const side of [this.#sides.bid, this.#sides.ask]) {
      side.byPrice.clear();
      side.sorted = null;
    }
  }

  /** Levels as they are from now on; one without quotes is gone. Others stay. */
  set({ bids, asks }: PriceLevelsJson): void {
    for (const level of bids) this.#setLevel('bid', level);
    for (const level of asks) this.#setLevel('ask', level);
  }

  #setLevel(side: SideText, level: PriceLevelsJson['bids'][number]): void {
    const { byPrice } = this.#sides[side];
    const [price, size, count] = [BigInt(level.price), BigInt(level.size), level.count];
    const before = byPrice.get(price);
    if (before !== undefined) this.#hash.remove(levelTerm(side, price, before.size, before.count));
    if (count === 0) byPrice.delete(price);
    else {
      byPrice.set(price, { price, size, count });
      this.#hash.add(levelTerm(side, price, size, count));
    }
    this.#sides[side].sorted = null;
  }

  #sorted(name: SideText): readonly BookLevel[] {
    const side = this.#sides[name];
    side.sorted ??= [...side.byPrice.values()].sort((a, b) => compareBestFirst(name, a.price, b.price));
    return side.sorted;
  }
}

/** For sorting: bids fall, asks rise. */
export function compareBestFirst(side: SideText, a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b === (side === 'ask') ? -1 : 1;
}

function emptySide(): LevelSide {
  return { byPrice: new Map(), sorted: null };
}
