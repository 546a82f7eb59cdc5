import type { Content } from './content.js';
import type { RfqFact } from './facts.js';
import { Followed } from './followed.js';
import { Listeners, type StopListening } from './listeners.js';
import type { Subscription } from './subscription.js';

/** RFQ: requests come and are gone, and add up to nothing. */
export class RfqContents implements Content {
  readonly book = null;
  readonly requests = new Listeners<RfqFact>();

  apply(message: Parameters<Content['apply']>[0]): void {
    if (message.type === 'RFQ') this.requests.tell(message);
  }
}

/** Takers' requests for quotes. */
export class FollowedRfqs extends Followed {
  readonly #contents: RfqContents;

  constructor(contents: RfqContents, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  onRfq(listener: (rfq: RfqFact) => void): StopListening {
    return this.#contents.requests.add(listener);
  }
}
