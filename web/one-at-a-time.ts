import { problemText } from './wallet.js';

interface WorkDisplay {
  /** Shows whether work is under way on the buttons that start it. */
  readonly hold: () => void;
  readonly say: (text: string) => void;
  /** Said while the work is under way. */
  readonly waiting: string;
  readonly onEnd?: () => void;
}

/** Work that buttons start, one at a time: a second press would sign or send the same once more. */
export class OneAtATime {
  readonly #display: WorkDisplay;
  #isBusy = false;

  constructor(display: WorkDisplay) {
    this.#display = display;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Says what `work` resolves to, or its problem. Does nothing while other work is under way. */
  async run(work: () => Promise<string>): Promise<void> {
    if (this.#isBusy) return;
    const { hold, say, waiting, onEnd } = this.#display;
    this.#isBusy = true;
    hold();
    say(waiting);
    try {
      say(await work());
    } catch (error) {
      say(problemText(error));
    }
    this.#isBusy = false;
    hold();
    onEnd?.();
  }
}
