import type { BookContent, Content } from './content.js';
import type { BookSnapshot, BookUpdate } from './facts.js';
import { Followed } from './followed.js';
import { LevelBook } from './level-book.js';
import { Listeners, type StopListening } from './listeners.js';
import type { Subscription } from './subscription.js';

/** What changed: a snapshot is the whole book, an update the levels that differ from before. */
export type BookChange = BookSnapshot | BookUpdate;

/** ORDERBOOK as its messages add up. */
export class BookContents implements Content {
  readonly levels = new LevelBook();
  readonly changes = new Listeners<BookChange>();
  readonly book: BookContent = {
    canResume: true,
    clear: () => this.levels.clear(),
    takeSnapshot: (message) => {
      if (message.type !== 'ORDERBOOK_SNAPSHOT') return 'WRONG';
      this.levels.set(message.body);
      if (this.levels.hash !== message.levelsHash) return 'WRONG';
      this.#snapshot = message;
      return 'WHOLE';
    },
    hash: () => this.levels.hash,
    onWhole: () => {
      if (this.#snapshot !== null) this.changes.tell(this.#snapshot);
      this.#snapshot = null;
    },
  };
  #snapshot: BookSnapshot | null = null;

  apply(message: Parameters<Content['apply']>[0]): void {
    if (message.type !== 'ORDERBOOK_UPDATE') return;
    this.levels.set(message.body);
    this.changes.tell(message);
  }
}

/** One pool's price levels, as they are now. */
export class FollowedBook extends Followed {
  readonly #contents: BookContents;

  constructor(contents: BookContents, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Whole only while the state is `LIVE`. */
  get book(): LevelBook {
    return this.#contents.levels;
  }

  /** The book is as after the change when the listener is called. */
  onChange(listener: (change: BookChange) => void): StopListening {
    return this.#contents.changes.add(listener);
  }
}
