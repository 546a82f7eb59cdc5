import { durationText } from './display.js';
import { create, setText } from './elements.js';

/** Heartbeats whose offsets are kept: the one that was on its way the shortest counts. */
const KEPT = 12;

/** The server's time, by which requests end: the browser's clock may be wrong. */
export class ServerClock {
  readonly #aheadMs: number[] = [];

  constructor() {
    setInterval(() => this.#count(), 1_000);
  }

  /** A heartbeat has come, sent at this time of the server, Unix milliseconds. */
  hear(serverTimeMs: number): void {
    const isFirst = this.#aheadMs.length === 0;
    this.#aheadMs.push(serverTimeMs - Date.now());
    if (this.#aheadMs.length > KEPT) this.#aheadMs.shift();
    if (isFirst) this.#count();
  }

  /** Unix milliseconds; by the browser's clock until the first heartbeat. */
  nowMs(): number {
    return Date.now() + (this.#aheadMs.length === 0 ? 0 : Math.max(...this.#aheadMs));
  }

  /** Unix seconds, rounded down. */
  now(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /** Text that counts down to this time, Unix seconds, for as long as it is in the document. */
  countdown(until: number): HTMLElement {
    const element = create('span', 'countdown');
    element.dataset.until = String(until);
    this.#write(element);
    return element;
  }

  #count(): void {
    for (const element of document.querySelectorAll<HTMLElement>('.countdown')) this.#write(element);
  }

  #write(element: HTMLElement): void {
    const leftMs = Number(element.dataset.until) * 1000 - this.nowMs();
    setText(element, leftMs > 0 ? `${durationText(leftMs)} left` : 'ended');
  }
}
