import { networkOf } from './address.js';
import type { TrustedProxies } from './trusted-proxies.js';

/** Which bound has no room. */
export type CapacityFault = 'IN_ALL' | 'OF_ADDRESS';

/**
 * Limits a resource for all clients together and for each address (for IPv6, each /64 network). A trusted proxy that
 * names no client has only the total limit, since all its clients may share its address.
 */
export class Capacity {
  readonly #inAll: number;
  readonly #perAddress: number;
  readonly #proxies: TrustedProxies;
  /** Sum of `#taken`, and of what proxies have. */
  #total = 0;
  /** By network; none of them is 0. */
  readonly #taken = new Map<string, number>();

  constructor(inAll: number, perAddress: number, proxies: TrustedProxies) {
    this.#inAll = inAll;
    this.#perAddress = perAddress;
    this.#proxies = proxies;
  }

  /** Takes all of `amount`, and returns null, or takes nothing. */
  take(address: string, amount: number): CapacityFault | null {
    if (this.#total + amount > this.#inAll) return 'IN_ALL';
    if (!this.#proxies.isTrusted(address)) {
      const network = networkOf(address);
      const taken = (this.#taken.get(network) ?? 0) + amount;
      if (taken > this.#perAddress) return 'OF_ADDRESS';
      this.#taken.set(network, taken);
    }
    this.#total += amount;
    return null;
  }

  /** Gives back what `take` granted to the same address. */
  release(address: string, amount: number): void {
    this.#total -= amount;
    if (this.#proxies.isTrusted(address)) return;
    const network = networkOf(address);
    const left = (this.#taken.get(network) ?? 0) - amount;
    if (left > 0) this.#taken.set(network, left);
    else this.#taken.delete(network);
  }
}
