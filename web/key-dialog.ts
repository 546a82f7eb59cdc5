import { byId, found, setText } from './elements.js';
import { readText, storeText } from './storage.js';

/** Asks for an API key, and again when one is refused. It is kept for as long as the tab. */
export class KeyDialog {
  readonly #dialog = found('connect', HTMLDialogElement);
  readonly #input = found('key', HTMLInputElement);

  /** `onKey`: somebody gave one. */
  constructor(onKey: (apiKey: string) => void) {
    byId('change-key').addEventListener('click', () => this.ask());
    this.#dialog.addEventListener('close', () => {
      const apiKey = this.#input.value.trim();
      this.#input.value = '';
      // Escape and "Close" close it, too, and give none.
      if (apiKey === '' || this.#dialog.returnValue !== GIVEN) return;
      storeText(STORED_AS, apiKey, 'TAB');
      onKey(apiKey);
    });
  }

  get kept(): string | null {
    return readText(STORED_AS, 'TAB');
  }

  /** `problem`: what was wrong with the last one. */
  ask(problem = ''): void {
    setText(byId('connect-problem'), problem);
    // What it was closed with last stays there otherwise.
    this.#dialog.returnValue = '';
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  forget(): void {
    storeText(STORED_AS, null, 'TAB');
  }
}

const STORED_AS = 'quotebook.apiKey';
/** Value of the form's button. */
const GIVEN = 'connect';
