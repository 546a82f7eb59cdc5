import { WalletBusy } from './wallet-errors.js';

/** So many transactions under way at once; others wait their turn, so many of them. */
export class TxPlaces {
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly places: number,
    private readonly waiting: number,
  ) {}

  /** Rejects with WalletBusy when too many wait. */
  async take(): Promise<void> {
    if (this.#taken < this.places) {
      this.#taken++;
      return;
    }
    if (this.#waiting.length >= this.waiting) throw new WalletBusy('Too many transactions wait');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The place passes straight to whoever waits longest, so that no newcomer slips in between. */
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken--;
    else next();
  }
}
