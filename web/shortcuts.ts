import type { Tab } from './display.js';
import { byId, create, found } from './elements.js';
import { readText, storeText } from './storage.js';

interface Shortcut {
  readonly key: string;
  readonly what: string;
  /** The part of the page that a phone has to show first. */
  readonly tab?: Tab;
  /** What is pressed before; an id. */
  readonly press?: string;
  /** Selector of the element that has the keyboard then. */
  readonly focus?: string;
}

const SHORTCUTS: readonly Shortcut[] = [
  {
    key: 'o',
    what: 'Options: arrow keys move between prices, Enter opens one',
    tab: 'options',
    focus: '#chain-rows [aria-current=true]',
  },
  { key: 'b', what: 'Buy', tab: 'trade', press: 'ticket-buy', focus: '#ticket-size' },
  { key: 's', what: 'Sell', tab: 'trade', press: 'ticket-sell', focus: '#ticket-size' },
  { key: 'q', what: 'Quote a bid and an ask', tab: 'trade', focus: '#quote-bid' },
  { key: 'r', what: 'Ask makers for a quote', tab: 'requests', focus: '#rfq-size' },
  { key: 'd', what: 'Depth chart: left and right arrow read it', tab: 'book', focus: '#depth' },
  { key: 'h', what: 'History of the book: arrow keys go back in time', tab: 'book', focus: '#history-at' },
  { key: 'l', what: 'Back to live', tab: 'book', press: 'history-live' },
  { key: 'w', what: 'Connect a wallet', press: 'wallet' },
  { key: '?', what: 'This list', press: 'show-help' },
];
const STORED_AS = 'quotebook.shortcuts';

/** Keys that lead to the parts of the page, their list, and the switch that turns them off (WCAG 2.2, 2.1.4). */
export class Shortcuts {
  readonly #show: (tab: Tab) => void;
  readonly #switch = found('shortcuts', HTMLInputElement);
  readonly #help = found('help', HTMLDialogElement);

  constructor(show: (tab: Tab) => void) {
    this.#show = show;
    this.#switch.checked = readText(STORED_AS) !== 'false';
    this.#switch.addEventListener('change', () => storeText(STORED_AS, String(this.#switch.checked)));
    byId('help-keys').append(
      ...SHORTCUTS.map(({ key, what }) =>
        create('div', '', create('dt', '', create('kbd', '', key)), create('dd', '', what)),
      ),
    );
    byId('show-help').addEventListener('click', () => this.#help.showModal());
    byId('help-close').addEventListener('click', () => this.#help.close());
    addEventListener('keydown', (event) => this.#take(event));
  }

  #take(event: KeyboardEvent): void {
    const { key, target, altKey, ctrlKey, metaKey } = event;
    const isTyping =
      target instanceof Element &&
      target.closest('input:not([type=radio], [type=range], [type=checkbox]), select, textarea') !== null;
    if (!this.#switch.checked || isTyping || altKey || ctrlKey || metaKey) return;
    const shortcut = SHORTCUTS.find((each) => each.key === key);
    if (shortcut === undefined || document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    const { tab, press, focus } = shortcut;
    if (tab !== undefined) this.#show(tab);
    if (press !== undefined) byId(press).click();
    if (focus !== undefined) document.querySelector<HTMLElement>(focus)?.focus();
  }
}
