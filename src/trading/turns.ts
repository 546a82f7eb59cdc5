import { unlessChainFails } from '../chain/contracts/contract-errors.js';
import type { Hex } from '../engine/quote.js';
import type { Deadline } from '../system/timers.js';

/** The answer of one task. The next one with a key of it starts after `end`, which may be long after the answer. */
export interface TurnResult<T> {
  readonly answer: T;
  readonly end: Promise<unknown>;
}

/** Of a task after which the next one may start at once. */
export function atOnce<T>(answer: T): TurnResult<T> {
  return { answer, end: Promise.resolve() };
}

/** Lock key of transactions about one token, or pool, which run one after the other. */
export function turnOf(address: Hex): string {
  return address.toLowerCase();
}

/** Runs tasks that have a key in common one after the other, in the order of their calls. */
export class Turns {
  /** The end of the last task by key. */
  readonly #last = new Map<string, Promise<unknown>>();
  #waiting = 0;

  /** `mostWaiting`: tasks that may wait for others at once. */
  constructor(private readonly mostWaiting: number) {}

  /** Resolves to TOO_LONG when its turn did not come before the deadline, or too many wait: `task` is not called. */
  async run<T>(
    keys: readonly string[],
    deadline: Deadline,
    task: () => Promise<TurnResult<T>>,
  ): Promise<T | 'TOO_LONG'> {
    const earlier = keys.flatMap((key) => this.#last.get(key) ?? []);
    if (earlier.length > 0 && this.#waiting >= this.mostWaiting) return 'TOO_LONG';
    let release: () => void = () => undefined;
    const done = new Promise<void>((resolve) => (release = resolve));
    const ended = Promise.all([...earlier, done]).then(() => {
      for (const key of keys) if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    for (const key of keys) this.#last.set(key, ended);
    if (earlier.length > 0 && (await this.#wait(Promise.all(earlier), deadline)) === 'TOO_LONG') {
      release();
      return 'TOO_LONG';
    }
    try {
      const { answer, end } = await task();
      end.catch(() => undefined).finally(release);
      return answer;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** As `run`; a failure of the chain is an answer. */
  async runOnChain<T>(
    keys: readonly string[],
    deadline: Deadline,
    task: () => Promise<TurnResult<T>>,
  ): Promise<T | 'TOO_LONG' | { readonly type: 'CHAIN_UNREACHABLE' }> {
    return unlessChainFails(() => this.run(keys, deadline, task), { type: 'CHAIN_UNREACHABLE' });
  }

  async #wait(earlier: Promise<unknown>, deadline: Deadline): Promise<unknown> {
    this.#waiting += 1;
    try {
      return await deadline.wait(earlier);
    } finally {
      this.#waiting -= 1;
    }
  }
}
