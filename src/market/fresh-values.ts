import type { Clock } from '../engine/ports.js';
import { LruMap } from '../system/lru-map.js';

export interface FreshValuesOptions<Item, Value> {
  /** Key of an item among the known ones. */
  readonly nameOf: (item: Item) => string;
  /** Values of the items, in their order; null: not known. */
  readonly read: (items: readonly Item[]) => Promise<readonly (Value | null)[]>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Items that are known, and that are read at once. */
  readonly most: number;
  /** A value is read again when it is older. */
  readonly maxAgeMs: number;
}

/** Values read on a budget: each at most once in `maxAgeMs`, all that are due in one batch, one batch at a time. */
export class FreshValues<Item, Value> {
  readonly #options: FreshValuesOptions<Item, Value>;
  readonly #known: LruMap<string, { readonly value: Value | null; readonly atMs: number }>;
  /** Outdated during a read, which may have given their earlier values. */
  readonly #outdated = new Set<string>();
  #reading: Promise<void> | null = null;

  constructor(options: FreshValuesOptions<Item, Value>) {
    this.#options = options;
    this.#known = new LruMap(options.most);
  }

  /** Resolves once the values of these items are as new as they have to be; of more than `most`, those of the first. */
  async refresh(items: Iterable<Item>): Promise<void> {
    const { nameOf, clock, most, maxAgeMs } = this.#options;
    const wanted = new Map<string, Item>();
    for (const item of items) if (wanted.size < most) wanted.set(nameOf(item), item);
    while (this.#reading !== null) await this.#reading;
    const oldestMs = clock.monotonicMs() - maxAgeMs;
    const due = [...wanted].filter(([name]) => (this.#known.get(name)?.atMs ?? -Infinity) < oldestMs);
    if (due.length === 0) return;
    this.#reading = this.#read(new Map(due)).finally(() => (this.#reading = null));
    await this.#reading;
  }

  /** The value that was read last; null: not known. */
  get(item: Item): Value | null {
    return this.#known.get(this.#options.nameOf(item))?.value ?? null;
  }

  /** The next refresh reads the value again, whatever its age. */
  outdate(item: Item): void {
    const name = this.#options.nameOf(item);
    const known = this.#known.get(name);
    if (known !== undefined) this.#known.set(name, { ...known, atMs: -Infinity });
    if (this.#reading !== null) this.#outdated.add(name);
  }

  async #read(due: ReadonlyMap<string, Item>): Promise<void> {
    this.#outdated.clear();
    const values = (await this.#options.read([...due.values()])).values();
    const atMs = this.#options.clock.monotonicMs();
    for (const name of due.keys()) {
      const value = values.next().value ?? null;
      this.#known.set(name, { value, atMs: this.#outdated.has(name) ? -Infinity : atMs });
    }
  }
}
