/**
 * The same numbers in every run (xorshift32; Marsaglia, "Xorshift RNGs", 2003): all contestants get the same workload.
 */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }

  /** A whole number from 0 to `sides` - 1. */
  roll(sides: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % sides;
  }
}
