import type { EarlyEvent } from '../../engine/command.js';
import type { Hex, Quote } from '../../engine/quote.js';
import { originOf, type SettlementEvent } from './settlement-events.js';

/** A fill, or a cancel with the provider that the pool names. */
type Known = Exclude<SettlementEvent, { readonly type: 'POOL' }>;

/**
 * Fills and cancels of quotes that the book does not know yet. Both chains are read side by side, settlement first: a
 * quote that is added and filled at once is seen as filled before it is seen as published. Its ENTER_QUOTE takes the
 * events along, so that listeners do not miss the trade. The book's state never depends on them.
 *
 * Anyone may emit such events in any number, so the oldest quotes go when there are too many. A restart forgets all.
 */
export class EarlyEvents {
  /** By pool and quote id, the ones seen last at the end; of each quote by block and log index. */
  readonly #events = new Map<string, Map<string, Known>>();
  #count = 0;

  constructor(private readonly most: number) {}

  get count(): number {
    return this.#count;
  }

  /** An event that is read a second time counts once. */
  remember(event: SettlementEvent): void {
    if (event.type === 'POOL' || (event.type === 'FILL' && event.size === 0n)) return;
    const key = keyOf(event.log.address, event.quoteId);
    const events = this.#events.get(key) ?? new Map<string, Known>();
    const place = `${event.log.blockHash} ${event.log.logIndex}`;
    if (events.has(place)) return;
    this.#events.delete(key);
    this.#events.set(key, events.set(place, event));
    this.#count += 1;
    for (const oldest of this.#events.keys()) {
      if (this.#count <= this.most) return;
      this.#forget(oldest);
    }
  }

  /** Removes and returns the events seen of this quote. A cancel counts only when it is the provider's own. */
  take({ pool, quoteId, provider }: Pick<Quote, 'pool' | 'quoteId' | 'provider'>): readonly EarlyEvent[] {
    const key = keyOf(pool.poolAddress, quoteId);
    const events = this.#events.get(key)?.values() ?? [];
    this.#forget(key);
    return [...events]
      .filter((event) => event.type === 'FILL' || event.provider === provider)
      .sort(({ log: a }, { log: b }) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
      .map((event) => ({ size: event.type === 'FILL' ? event.size : null, origin: originOf(event.log) }));
  }

  /** The blocks after this one are on the chain no more. */
  rewind(blockNumber: number): void {
    for (const [key, events] of this.#events) {
      for (const [place, { log }] of events) {
        if (log.blockNumber <= blockNumber || !events.delete(place)) continue;
        this.#count -= 1;
      }
      if (events.size === 0) this.#events.delete(key);
    }
  }

  #forget(key: string): void {
    this.#count -= this.#events.get(key)?.size ?? 0;
    this.#events.delete(key);
  }
}

function keyOf(poolAddress: Hex, quoteId: Hex): string {
  return `${poolAddress} ${quoteId}`;
}
