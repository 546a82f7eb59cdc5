import type { Engine } from '../engine/engine.js';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Sequencer } from '../engine/sequencer.js';
import { repeat } from '../system/timers.js';

export interface GoneKeysParts {
  readonly engine: Pick<Engine, 'protections'>;
  readonly sequencer: Pick<Sequencer, 'submit'>;
  /** Reads the list of keys anew, and says which of these ids are in it no more. */
  readonly keys: { missing(ids: ReadonlySet<string>): Promise<ReadonlySet<string>> };
  readonly clock: Pick<Clock, 'after'>;
  readonly onFault: (error: unknown) => void;
  readonly limits: { readonly goneKeyLookMs: number };
}

/** Records of one turn of the event loop. */
const ENDED_PER_LOOK = 500;

/**
 * Ends the authorisations of keys that were revoked or replaced. Otherwise they count towards every bound until they
 * expire, and no route lists the ids that their makers need to revoke them.
 *
 * - An authorisation stays while a timer of it runs: the timer runs out without the key, and withdraws the quotes first.
 * - Two looks in a row must miss the key: in a cluster a server that lags behind may answer with an older list.
 */
export class GoneKeys {
  readonly #parts: GoneKeysParts;
  #missed: ReadonlySet<string> = new Set();
  #isStopped = false;
  #cancel: CancelTimer = () => undefined;

  constructor(parts: GoneKeysParts) {
    this.#parts = parts;
  }

  start(): void {
    const { clock, limits, onFault } = this.#parts;
    this.#cancel = repeat(clock, limits.goneKeyLookMs, () => this.#look(), onFault);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    const { engine, sequencer, keys } = this.#parts;
    const owners = new Set(Array.from(engine.protections.authorizations(), ({ owner }) => owner));
    // A cluster begins without a list of keys.
    const missing = owners.size === 0 ? owners : await keys.missing(owners);
    const before = this.#missed;
    this.#missed = missing;
    if (this.#isStopped) return;
    const ended = [...engine.protections.authorizations()].filter(
      ({ owner, timers }) =>
        missing.has(owner) && before.has(owner) && timers.HEARTBEAT === 0 && timers.CONNECTION === 0,
    );
    for (const { provider, owner } of ended.slice(0, ENDED_PER_LOOK)) {
      const { refusal } = sequencer.submit({ type: 'AUTHORIZE_KEY', provider, owner, until: 0, signed: null });
      // The next look tries again.
      if (refusal !== null) return;
    }
  }
}
