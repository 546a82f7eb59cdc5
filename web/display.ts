import { Choices } from './choices.js';
import { byId, found } from './elements.js';
import { expiryTime } from './option.js';
import { readText, storeText } from './storage.js';

/** Parts of the page that a phone shows one at a time. */
const TABS = ['options', 'book', 'trade', 'account', 'requests', 'activity'] as const;
export type Tab = (typeof TABS)[number];

/** How the reader wants the page: theme, density and time zone, kept by the browser, and on a phone the part shown. */
export class Display {
  readonly #tabs = new Choices(byId('tabs'), (name) => {
    const tab = TABS.find((each) => title(each) === name);
    if (tab !== undefined) this.show(tab);
  });
  readonly #main = byId('main');

  /** `onZone`: times have to be written anew. */
  constructor(onZone: () => void) {
    this.show('options');
    const theme = found('theme', HTMLSelectElement);
    const zone = found('zone', HTMLSelectElement);
    const compact = found('compact', HTMLInputElement);
    theme.value = readText(stored('theme')) ?? '';
    zone.value = readText(stored('zone')) ?? '';
    compact.checked = readText(stored('compact')) === 'true';
    const apply = (): void => {
      document.documentElement.dataset.theme = theme.value;
      document.documentElement.toggleAttribute('data-compact', compact.checked);
      isInUtc = zone.value === 'UTC';
      storeText(stored('theme'), theme.value);
      storeText(stored('zone'), zone.value);
      storeText(stored('compact'), String(compact.checked));
    };
    for (const control of [theme, compact]) control.addEventListener('change', apply);
    zone.addEventListener('change', () => {
      apply();
      onZone();
    });
    apply();
    for (const menu of document.querySelectorAll<HTMLDetailsElement>('details.menu')) {
      menu.addEventListener('keydown', ({ key }) => {
        if (key !== 'Escape' || !menu.open) return;
        menu.open = false;
        menu.querySelector('summary')?.focus();
      });
    }
  }

  show(tab: Tab): void {
    this.#main.dataset.tab = tab;
    this.#tabs.show(TABS.map(title), title(tab));
  }
}

function title(tab: Tab): string {
  return tab.charAt(0).toUpperCase() + tab.slice(1);
}

function stored(name: string): string {
  return `quotebook.${name}`;
}

/** The reader chose UTC in place of the zone of the browser. */
let isInUtc = false;

/** A time of day in the zone that the reader chose. */
export function timeText(ms: number): string {
  const timeZone = isInUtc ? { timeZone: 'UTC' } : {};
  return new Date(ms).toLocaleTimeString([], { hour12: false, ...timeZone });
}

/** How long something takes or has taken, in its two largest units. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return '0 s';
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/**
 * A reason such as InsufficientCollateralBalance, QuoteOBExpired or HEARTBEAT_MISSED as words; sentences stay as they
 * are.
 */
export function words(reason: string): string {
  if (reason.includes(' ')) return reason;
  if (reason === reason.toUpperCase()) return reason.replaceAll('_', ' ').toLowerCase();
  return reason.replace('OB', '').replace(/\B([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** When options with this expiration end, such as "expires 08:00 UTC, in 8 d 13 h". */
export function expiryText(expiration: string): string {
  const left = expiryTime(expiration) - Date.now();
  return left <= 0 ? 'expired at 08:00 UTC' : `expires 08:00 UTC, in ${durationText(left)}`;
}
