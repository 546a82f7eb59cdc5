import { create, replaceChildren } from './elements.js';

/** A row of buttons of which one is pressed. */
export class Choices {
  readonly #element: HTMLElement;
  readonly #onChoice: (value: string) => void;
  #values: readonly string[] = [];

  constructor(element: HTMLElement, onChoice: (value: string) => void) {
    this.#element = element;
    this.#onChoice = onChoice;
  }

  show(values: readonly string[], chosen: string | undefined): void {
    if (values.join() !== this.#values.join()) this.#build(values);
    for (const [i, button] of [...this.#element.children].entries()) {
      button.setAttribute('aria-pressed', String(values[i] === chosen));
    }
  }

  #build(values: readonly string[]): void {
    this.#values = values;
    const buttons = values.map((value) => {
      const button = create('button', '', value);
      button.type = 'button';
      button.dataset.key = value;
      button.addEventListener('click', () => this.#onChoice(value));
      return button;
    });
    replaceChildren(this.#element, buttons);
  }
}
