import type { BookContent, Content } from './content.js';
import { isQuoteFact, type QuoteFact } from './facts.js';
import { Followed } from './followed.js';
import { Listeners, type StopListening } from './listeners.js';
import { QuoteBook } from './quote-book.js';
import type { Subscription } from './subscription.js';

/** QUOTES as its messages add up. */
export class QuotesContents implements Content {
  readonly quotes = new QuoteBook();
  readonly facts = new Listeners<QuoteFact>();
  readonly wholes = new Listeners<QuoteBook>();
  readonly book: BookContent = {
    canResume: true,
    clear: () => this.quotes.clear(),
    takeSnapshot: (message) => {
      if (message.type !== 'QUOTES_SNAPSHOT') return 'WRONG';
      const { key, body, more, hash } = message;
      for (const quote of body) this.quotes.set(key, quote);
      if (more) return 'MORE';
      return this.quotes.hash(key) === hash ? 'WHOLE' : 'WRONG';
    },
    hash: (key) => this.quotes.hash(key),
    onWhole: () => this.wholes.tell(this.quotes),
  };

  apply(message: Parameters<Content['apply']>[0]): void {
    if (!isQuoteFact(message)) return;
    this.quotes.apply(message);
    this.facts.tell(message);
  }
}

/** Every quote that a filter shows, and what happens to each. */
export class FollowedQuotes extends Followed {
  readonly #contents: QuotesContents;

  constructor(contents: QuotesContents, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Whole only while the state is `LIVE`. */
  get book(): QuoteBook {
    return this.#contents.quotes;
  }

  /** The book is as after the fact when the listener is called. */
  onFact(listener: (fact: QuoteFact) => void): StopListening {
    return this.#contents.facts.add(listener);
  }

  /** The book was replaced by a snapshot, at the start and where events could not be had again. */
  onSnapshot(listener: (book: QuoteBook) => void): StopListening {
    return this.#contents.wholes.add(listener);
  }
}
