import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { ProtectionResult, QuoteProtections } from './quote-protection.js';

/** The calling key and a timer that runs while a connection of it is open. */
export interface ConnectionTimers {
  /** Renews the timer until `isGone`. 0 seconds: it no longer does, for any connection of the key. */
  follow(keyId: string, provider: Hex, seconds: number, isGone: () => boolean): Promise<ProtectionResult>;
}

interface FollowedConnections {
  readonly keyId: string;
  readonly provider: Hex;
  seconds: number;
  connections: (() => boolean)[];
  cancel: CancelTimer;
}

/** Renewals of a connection's timer within its time. */
const RENEWALS = 3;
/** Requests of connections that are kept for one key and provider: beyond that the oldest counts no more. */
const MOST_CONNECTIONS = 256;

/**
 * Renews the timer of a key and a provider for as long as one of the connections that asked for it is open, wherever the
 * timers run. A process that ends renews nothing, so its connections count as closed, too.
 */
export class OpenConnections implements ConnectionTimers {
  readonly #protections: QuoteProtections;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #onFault: (fault: unknown) => void;
  /** By provider and key. */
  readonly #followed = new Map<string, FollowedConnections>();

  constructor(protections: QuoteProtections, clock: Pick<Clock, 'after'>, onFault: (fault: unknown) => void) {
    this.#protections = protections;
    this.#clock = clock;
    this.#onFault = onFault;
  }

  stop(): void {
    for (const name of [...this.#followed.keys()]) this.#drop(name);
  }

  async follow(keyId: string, provider: Hex, seconds: number, isGone: () => boolean): Promise<ProtectionResult> {
    const name = `${provider} ${keyId}`;
    const result = await this.#protections.ask({ type: 'TIMER', kind: 'CONNECTION', provider, keyId, seconds });
    if (result.type !== 'DONE') return result;
    const known = this.#followed.get(name);
    if (seconds === 0) this.#drop(name);
    else if (known !== undefined) {
      known.seconds = seconds;
      known.connections = [...known.connections.filter((isClosed) => !isClosed()), isGone].slice(-MOST_CONNECTIONS);
      this.#wait(name, known);
    } else {
      const followed = { keyId, provider, seconds, connections: [isGone], cancel: () => undefined };
      this.#followed.set(name, followed);
      this.#wait(name, followed);
    }
    return result;
  }

  #wait(name: string, followed: FollowedConnections): void {
    followed.cancel();
    followed.cancel = this.#clock.after((followed.seconds * 1000) / RENEWALS, () => {
      this.#renew(name, followed).catch(this.#onFault);
    });
  }

  async #renew(name: string, followed: FollowedConnections): Promise<void> {
    if (this.#followed.get(name) !== followed) return;
    followed.connections = followed.connections.filter((isClosed) => !isClosed());
    if (followed.connections.length === 0) return this.#drop(name);
    const { keyId, provider, seconds } = followed;
    try {
      const { type } = await this.#protections.ask({ type: 'TIMER', kind: 'CONNECTION', provider, keyId, seconds });
      // Its authorisation has ended. Anything else may pass.
      if (type === 'NOT_AUTHORIZED') this.#drop(name);
    } finally {
      if (this.#followed.get(name) === followed) this.#wait(name, followed);
    }
  }

  #drop(name: string): void {
    this.#followed.get(name)?.cancel();
    this.#followed.delete(name);
  }
}
