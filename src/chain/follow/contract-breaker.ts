import type { CancelTimer, Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import type { ContractCall } from '../contracts/abi-encoding.js';

export interface ContractBreakerLimits {
  /** Contracts remembered; beyond it the ones that tripped longest ago are forgotten. */
  readonly contracts: number;
  /** Pause before the first probe of a contract; doubles with each failure, up to `maxPauseMs`. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /** Between two probes, of whatever contracts. */
  readonly probeGapMs: number;
}

interface Tripped {
  /** The call that took too much gas: it is the probe. */
  readonly call: ContractCall;
  readonly pauseMs: number;
  /** Open: the time of its next probe. Closed: when it was closed. */
  readonly sinceMs: number;
  readonly isOpen: boolean;
}

/**
 * A circuit breaker for each contract that runs foreign code: pools, which call the tokens they were made for, and these
 * tokens. One that takes all the gas a check may have is open from then on: `Multicall` asks it nothing, and its checks
 * count as failed. A probe asks again the one call that failed, beside all other reading, one contract at a time and
 * after growing pauses. The first that is answered closes the breaker.
 */
export class ContractBreaker {
  /** In the order in which they tripped. */
  readonly #tripped = new Map<Hex, Tripped>();
  #cancel: CancelTimer | null = null;
  #isStopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly limits: ContractBreakerLimits,
    /** Whether the call is answered within its gas, at the newest block. */
    private readonly probe: (call: ContractCall) => Promise<boolean>,
    private readonly onClosed: (contract: Hex) => void,
  ) {}

  isOpen(contract: Hex): boolean {
    return this.#tripped.get(contract)?.isOpen === true;
  }

  /** The call took all the gas that it may have. */
  trip(call: ContractCall): void {
    const known = this.#tripped.get(call.to);
    if (known?.isOpen === true) return;
    const nowMs = this.clock.monotonicMs();
    const { contracts, pauseMs: first, maxPauseMs } = this.limits;
    // One that was well for a while starts anew; one that blinks is asked as rarely as if it had stayed bad.
    const isAgain = known !== undefined && nowMs - known.sinceMs < maxPauseMs;
    this.#open(call, isAgain ? Math.min(2 * known.pauseMs, maxPauseMs) : first, nowMs);
    for (const contract of this.#tripped.keys()) {
      if (this.#tripped.size <= contracts) break;
      this.#tripped.delete(contract);
    }
    this.#cancel ??= this.#arm(first);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #open(call: ContractCall, pauseMs: number, nowMs: number): void {
    this.#tripped.delete(call.to);
    this.#tripped.set(call.to, { call, pauseMs, sinceMs: nowMs + pauseMs, isOpen: true });
  }

  #arm(delayMs: number): CancelTimer | null {
    if (this.#isStopped) return null;
    return this.clock.after(delayMs, () => void this.#probeNext());
  }

  async #probeNext(): Promise<void> {
    const next = this.#nextOpen();
    const waitMs = next === null ? 0 : next.sinceMs - this.clock.monotonicMs();
    if (next !== null && waitMs <= 0) await this.#probe(next);
    // No longer than a contract that trips meanwhile may wait for its first probe.
    const { probeGapMs, pauseMs } = this.limits;
    this.#cancel = next === null ? null : this.#arm(Math.max(probeGapMs, Math.min(waitMs, pauseMs)));
  }

  async #probe({ call, pauseMs }: Tripped): Promise<void> {
    // Without an answer of the chain nothing is known, and the next pause is as long as the last.
    const isAnswered = await this.probe(call).catch(() => null);
    if (this.#isStopped || !this.isOpen(call.to)) return;
    const nowMs = this.clock.monotonicMs();
    if (isAnswered !== true) {
      const next = isAnswered === null ? pauseMs : Math.min(2 * pauseMs, this.limits.maxPauseMs);
      return this.#open(call, next, nowMs);
    }
    this.#tripped.set(call.to, { call, pauseMs, sinceMs: nowMs, isOpen: false });
    this.onClosed(call.to);
  }

  #nextOpen(): Tripped | null {
    let next: Tripped | null = null;
    for (const tripped of this.#tripped.values()) {
      if (tripped.isOpen && (next === null || tripped.sinceMs < next.sinceMs)) next = tripped;
    }
    return next;
  }
}
