import type { Test } from 'tap';
import type { Random } from '../../src/engine/ports.js';

/** The same numbers for the same seed (the algorithm is mulberry32). For tests alone. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.unit() * limit);
  }

  /** A whole number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}

/** The seed of a test file: that of QUOTEBOOK_SEED, or another each time. The output names it. */
export function seedOf(t: Pick<Test, 'comment'>): number {
  const seed = Number(process.env.QUOTEBOOK_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`QUOTEBOOK_SEED=${seed}`);
  return seed;
}
