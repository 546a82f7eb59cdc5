import type { NetOptions } from './net.js';

/**
 * How many times `spareDescriptors` have to be free again before connections are taken again: with just as many it would
 * stop and begin in turns.
 */
export const ENOUGH_AGAIN = 2;

/**
 * Whether a server on node:http has file descriptors for another connection. Where there are none at all, Node lets go
 * of who comes by means of one that it keeps for this; but when another thread opens a file in that very moment, it has
 * lost it, and tries again as fast as it can, which keeps a core busy (20.20). So some are left.
 */
export class DescriptorRoom {
  readonly #options: Pick<NetOptions, 'descriptors' | 'limits'>;
  #isFew = false;

  constructor(options: Pick<NetOptions, 'descriptors' | 'limits'>) {
    this.#options = options;
  }

  /** To be asked about each connection: 20 us, and less often than requests come. */
  hasRoom(): boolean {
    const { descriptors, limits } = this.#options;
    if (descriptors === undefined) return true;
    const least = this.#isFew ? ENOUGH_AGAIN * limits.spareDescriptors : limits.spareDescriptors;
    const isFew = descriptors.spare() < least;
    if (isFew !== this.#isFew) descriptors.onFew(isFew);
    this.#isFew = isFew;
    return !isFew;
  }
}
