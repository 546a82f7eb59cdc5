import type { FollowState, Healing } from './follow-state.js';
import type { StopListening } from './listeners.js';
import type { Subscription } from './subscription.js';

/** What every followed channel has. */
export abstract class Followed {
  readonly #subscription: Subscription;
  readonly #close: () => void;

  /** `close`: gives the channel back to its connection. */
  constructor(subscription: Subscription, close: () => void) {
    this.#subscription = subscription;
    this.#close = close;
  }

  get state(): FollowState {
    return this.#subscription.state;
  }

  onState(listener: (state: FollowState) => void): StopListening {
    return this.#subscription.states.add(listener);
  }

  /** Something was missing or wrong; it is being put right, and the state says when it is. */
  onHealing(listener: (why: Healing) => void): StopListening {
    return this.#subscription.healings.add(listener);
  }

  /** Resolves once it is live; rejects with the server's refusal, or when it is closed before. */
  whenLive(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (state: FollowState): void => {
        if (state === 'LIVE') resolve();
        else if (state === 'REFUSED' || state === 'CLOSED') reject(this.#subscription.refusal ?? new Error('Closed'));
        else return;
        stop();
      };
      const stop = this.onState(settle);
      settle(this.state);
    });
  }

  close(): void {
    this.#close();
  }
}
