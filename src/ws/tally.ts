/** Counts what is open by whom it belongs to. */
export class Tally {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string): void {
    this.#total += 1;
    this.#counts.set(name, this.of(name) + 1);
  }

  remove(name: string): void {
    const count = this.of(name) - 1;
    this.#total -= 1;
    if (count <= 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
