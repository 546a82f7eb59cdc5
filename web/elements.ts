/** The element of index.html with this id. */
export function byId(id: string): HTMLElement {
  return found(id, HTMLElement);
}

/** The element of index.html with this id, which is of this kind there. */
export function found<T extends Element>(id: string, kind: abstract new () => T): T {
  const element = document.getElementById(id) as Element | null;
  if (!(element instanceof kind)) throw new Error(`index.html has no ${kind.name} #${id}`);
  return element;
}

export function create<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = '',
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  element.append(...children);
  return element;
}

/** Replaces the children. Keyboard focus on an old child moves to the new one with the same `data-key`. */
export function replaceChildren(element: Element, children: readonly Node[]): void {
  const { activeElement } = document;
  const key = element.contains(activeElement) ? activeElement?.getAttribute('data-key') : null;
  element.replaceChildren(...children);
  if (typeof key !== 'string') return;
  element.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/** Touches the document only when the text is another; true then. */
export function setText(element: Element, text: string): boolean {
  if (element.textContent === text) return false;
  element.textContent = text;
  return true;
}

/** A text with its value in US dollars beside it; `usd` is empty where that is not known. */
export function withUsd(text: string, usd: string): DocumentFragment {
  const both = document.createDocumentFragment();
  both.append(text, ' ', create('small', 'usd', usd));
  return both;
}

/** Lights the element up for a moment; again when it is lit already. */
export function flash(element: HTMLElement): void {
  element.classList.remove('changed');
  // Asking for the animations makes the browser see the element without the class first.
  element.getAnimations();
  element.classList.add('changed');
}

/** Shows that a button waits for work. Unlike a disabled one it keeps the keyboard focus; the work has to check itself. */
export function hold(button: Element, isHeld: boolean): void {
  if (isHeld) button.setAttribute('aria-disabled', 'true');
  else button.removeAttribute('aria-disabled');
}

/** A button of a row: its text, and what it does. */
export type Action = readonly [label: string, act: () => void];

/**
 * A row of texts. `actions`: buttons of its last cell, in a table that has such a column. `key` keeps the keyboard focus
 * on a button when rows are drawn anew.
 */
export function tableRow(
  key: string,
  cells: readonly (string | Node)[],
  actions?: readonly Action[],
): HTMLTableRowElement {
  const row = create('tr', '', ...cells.map((cell) => create('td', '', cell)));
  if (actions === undefined) return row;
  const about = cells.slice(0, 2).map((cell) => (typeof cell === 'string' ? cell : cell.textContent));
  const buttons = actions.map(([label, act]) => {
    const button = create('button', '', label);
    // A screen reader does not announce the row of a button that is reached by keyboard.
    button.setAttribute('aria-label', `${label}: ${about.join(', ')}`);
    button.type = 'button';
    button.dataset.key = `${key} ${label}`;
    button.addEventListener('click', act);
    return button;
  });
  row.append(create('td', 'act', ...buttons));
  return row;
}

/** Replaces a table's rows; without any it shows what to do next. */
export function fillRows(body: HTMLElement, rows: readonly HTMLTableRowElement[], empty: string): void {
  const cell = create('td', 'empty', empty);
  cell.colSpan = body.closest('table')?.tHead?.rows[0]?.cells.length ?? 1;
  replaceChildren(body, rows.length > 0 ? rows : [create('tr', '', cell)]);
}
