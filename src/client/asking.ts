import { ConnectionLostError, RefusedError } from './errors.js';
import type { CancelTimer, ClientClock } from './ports.js';

/** What became of a message. An error is a RefusedError, or a ConnectionLostError. */
export type Outcome<A> =
  | { readonly ok: true; readonly answer: A }
  | { readonly ok: false; readonly error: RefusedError | ConnectionLostError };

interface Question<A> {
  readonly message: object;
  /** Called in the tick of the answer: what follows it on the socket must find its effect. */
  readonly onOutcome: (outcome: Outcome<A>) => void;
}

export interface AskingOptions {
  readonly send: (message: object) => void;
  readonly clock: ClientClock;
  /** How long an answer may take. */
  readonly answerMs: number;
  /** It took longer: taken as a dead connection. */
  readonly onSilence: () => void;
}

/**
 * Answers carry no name of what they answer, so one message is asked at a time: the next INFO or ERROR is its answer.
 */
export class Asking<A> {
  readonly #options: AskingOptions;
  readonly #waiting: Question<A>[] = [];
  #asked: Question<A> | null = null;
  #cancelTimer: CancelTimer = () => undefined;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  ask(message: object, onOutcome: (outcome: Outcome<A>) => void): void {
    this.#waiting.push({ message, onOutcome });
    this.#next();
  }

  answered(answer: A): void {
    this.#finish({ ok: true, answer });
  }

  refused(why: string): void {
    this.#finish({ ok: false, error: new RefusedError(why) });
  }

  /** Nothing more will be answered. */
  end(): void {
    this.#cancelTimer();
    const open = [...(this.#asked === null ? [] : [this.#asked]), ...this.#waiting.splice(0)];
    this.#asked = null;
    for (const { onOutcome } of open) onOutcome({ ok: false, error: new ConnectionLostError() });
  }

  #next(): void {
    if (this.#asked !== null) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#asked = next;
    const { clock, answerMs, onSilence, send } = this.#options;
    this.#cancelTimer = clock.after(answerMs, onSilence);
    send(next.message);
  }

  #finish(outcome: Outcome<A>): void {
    this.#cancelTimer();
    const asked = this.#asked;
    this.#asked = null;
    asked?.onOutcome(outcome);
    this.#next();
  }
}
