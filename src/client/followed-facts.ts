import type { Content } from './content.js';
import { isQuoteFact, type QuoteFact } from './facts.js';
import { Followed } from './followed.js';
import { Listeners, type StopListening } from './listeners.js';
import type { Subscription } from './subscription.js';

/** QUOTES for those who keep no quotes. */
export class FactsContents implements Content {
  readonly book = null;
  readonly facts = new Listeners<QuoteFact>();

  apply(message: Parameters<Content['apply']>[0]): void {
    if (isQuoteFact(message)) this.facts.tell(message);
  }
}

/** What happens to quotes, from now on, however many there are. */
export class FollowedFacts extends Followed {
  readonly #contents: FactsContents;

  constructor(contents: FactsContents, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  onFact(listener: (fact: QuoteFact) => void): StopListening {
    return this.#contents.facts.add(listener);
  }
}
