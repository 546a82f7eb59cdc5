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

/** Lights the element up for a moment; again when it is lit already. */
export function flash(element: HTMLElement): void {
  element.classList.remove('changed');
  // Asking for the animations makes the browser see the element without the class first.
  element.getAnimations();
  element.classList.add('changed');
}
