import type { Hex } from 'viem';
import type { FollowedEvents } from '../followed.js';
import type { HeartbeatMessage, QuoteEvent } from '../messages.js';
import type { BaseOrderbookClient, QuotesFilter } from '../orderbook-client.js';
import type { ClientClock } from '../ports.js';
import { FeedNotLiveError, NotShownError } from './errors.js';

export interface WatchOptions {
  readonly client: Pick<BaseOrderbookClient, 'followEvents' | 'onHeartbeat'>;
  readonly clock: ClientClock;
  /** Quotes whose events can name the transactions. The server refuses those that the key may not see. */
  readonly filter: QuotesFilter;
  /** How long the feed may take to be live, and to show a transaction. */
  readonly feedMs: number;
}

/** Follows events of quotes while a call is under way: sees what its transactions do to the book. */
export class FeedWatch {
  readonly #options: WatchOptions;
  readonly #events: FollowedEvents;
  readonly #stopHeartbeats: () => void;
  /** Transactions that an event named. */
  readonly #shown = new Set<string>();
  /** Number of the last settlement block whose events the book has, by the newest heartbeat. */
  #readTo = -1;
  /** Each looks whether its transaction is shown by now. */
  readonly #waiting = new Set<() => void>();

  constructor(options: WatchOptions) {
    this.#options = options;
    const { client, filter } = options;
    this.#events = client.followEvents(filter);
    this.#events.onEvent((event) => this.#take(event));
    this.#stopHeartbeats = client.onHeartbeat((heartbeat) => this.#beat(heartbeat));
  }

  /** Rejects with FeedNotLiveError after `feedMs`, or with the server's refusal. */
  async live(): Promise<void> {
    const { clock, feedMs } = this.#options;
    await liveWithin(this.#events, clock, feedMs);
  }

  /**
   * Resolves once an event names the transaction. `isQuiet`: it may cause no event, so a heartbeat whose book has the
   * events of its block counts, too. Rejects with NotShownError.
   */
  async shows(hash: Hex, block: bigint, isQuiet: boolean): Promise<void> {
    const { clock, feedMs } = this.#options;
    const isShown = (): boolean => this.#shown.has(hash) || (isQuiet && this.#readTo >= block);
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.after(feedMs, () => {
        this.#waiting.delete(look);
        reject(new NotShownError(hash, feedMs));
      });
      const look = (): void => {
        if (!isShown()) return;
        this.#waiting.delete(look);
        cancel();
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  close(): void {
    this.#stopHeartbeats();
    this.#events.close();
  }

  #take({ cause }: QuoteEvent): void {
    if (cause?.chain !== 'settlement') return;
    this.#shown.add(cause.txHash);
    if (this.#shown.size > MOST_SHOWN) this.#shown.delete([...this.#shown][0] ?? '');
    for (const look of this.#waiting) look();
  }

  #beat({ chains: { settlement } }: HeartbeatMessage): void {
    if (settlement.readTo === null || settlement.stale !== null) return;
    this.#readTo = settlement.readTo;
    for (const look of this.#waiting) look();
  }
}

/** Rejects with FeedNotLiveError after `feedMs`, or with the server's refusal. */
async function liveWithin(
  followed: Pick<FollowedEvents, 'whenLive'>,
  clock: ClientClock,
  feedMs: number,
): Promise<void> {
  let cancel = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(feedMs, () => reject(new FeedNotLiveError(`The feed was not live after ${feedMs} ms`)));
  });
  await Promise.race([followed.whenLive(), late]).finally(() => cancel());
}

/** Transactions of other traders are remembered, too: more than happen while one call waits. */
const MOST_SHOWN = 10_000;
