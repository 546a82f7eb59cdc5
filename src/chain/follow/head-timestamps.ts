import type { Clock } from '../../engine/ports.js';
import type { BlockHead } from '../contracts/blocks-and-logs.js';

/**
 * Decides which heads time follows. Engine time never goes back, and what expires is logged: so one wrong timestamp in
 * one answer must not expire the book. A timestamp that leaps counts once another node gives the block the same one, or
 * a later block shows it, too. The first head after a start is taken as it is.
 */
export class HeadTimestamps {
  /** Unix seconds, and the monotonic moment when it came; null before the first. */
  #newest: { readonly timestamp: number; readonly atMs: number } | null = null;
  #doubted: BlockHead | null = null;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    /** How far a timestamp may be ahead of the time that has passed since the newest one. */
    private readonly leapMs: number,
    /** The block of that number as another node has it, where there is one; rejects where it has none. */
    private readonly readAgain: (blockNumber: number) => Promise<BlockHead>,
    /** Called with each timestamp that is newer than all before, Unix seconds. */
    private readonly onNewest: (timestamp: number) => void,
  ) {}

  /** To be awaited before the next head. Resolves once time follows the head, or does not. */
  async add(head: BlockHead): Promise<void> {
    // A block that was seen before says nothing of how much time has passed since.
    if (this.#newest !== null && head.timestamp <= this.#newest.timestamp) return;
    if (this.#leaps(head) && !this.#isLaterThanDoubted(head) && !(await this.#isConfirmed(head))) {
      this.#doubted = head;
      return;
    }
    this.#newest = { timestamp: head.timestamp, atMs: this.clock.monotonicMs() };
    this.#doubted = null;
    this.onNewest(head.timestamp);
  }

  #leaps({ timestamp }: BlockHead): boolean {
    if (this.#newest === null) return false;
    const passedMs = this.clock.monotonicMs() - this.#newest.atMs;
    return (timestamp - this.#newest.timestamp) * 1000 > passedMs + this.leapMs;
  }

  #isLaterThanDoubted({ number, timestamp }: BlockHead): boolean {
    const doubted = this.#doubted;
    return doubted !== null && number > doubted.number && timestamp >= doubted.timestamp;
  }

  async #isConfirmed({ number, hash, timestamp }: BlockHead): Promise<boolean> {
    const again = await this.readAgain(number).catch(() => null);
    return again?.hash === hash && again.timestamp === timestamp;
  }
}
