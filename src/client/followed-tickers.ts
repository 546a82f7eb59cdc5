import type { TickerJson } from '../wire/feed-messages.js';
import type { BookContent, Content } from './content.js';
import { Followed } from './followed.js';
import { Listeners, type StopListening } from './listeners.js';
import type { Hex } from './set-hash.js';
import type { Subscription } from './subscription.js';

/** TICKER as its messages add up: of each pool the newest. */
export class TickersContents implements Content {
  readonly tickers = new Map<string, TickerJson>();
  readonly changes = new Listeners<TickerJson>();
  readonly wholes = new Listeners<ReadonlyMap<string, TickerJson>>();
  readonly book: BookContent = {
    canResume: false,
    clear: () => this.tickers.clear(),
    takeSnapshot: (message) => {
      if (message.type !== 'TICKER_SNAPSHOT') return 'WRONG';
      for (const ticker of message.body) this.tickers.set(ticker.poolAddress, ticker);
      return message.more ? 'MORE' : 'WHOLE';
    },
    hash: () => null,
    onWhole: () => this.wholes.tell(this.tickers),
  };

  apply(message: Parameters<Content['apply']>[0]): void {
    if (message.type !== 'TICKER') return;
    this.tickers.set(message.body.poolAddress, message.body);
    this.changes.tell(message.body);
  }
}

/** Every pool at a glance: the best price of each side, and what was filled in 24 hours. */
export class FollowedTickers extends Followed {
  readonly #contents: TickersContents;

  constructor(contents: TickersContents, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Undefined: the pool is not deployed, and has no quotes. */
  of(poolAddress: Hex): TickerJson | undefined {
    return this.#contents.tickers.get(poolAddress.toLowerCase());
  }

  /** In no order; pools that have expired since the last snapshot among them. */
  all(): Iterable<TickerJson> {
    return this.#contents.tickers.values();
  }

  onTicker(listener: (ticker: TickerJson) => void): StopListening {
    return this.#contents.changes.add(listener);
  }

  /** All tickers were replaced: at the start, and with every new connection. */
  onSnapshot(listener: () => void): StopListening {
    return this.#contents.wholes.add(listener);
  }
}
