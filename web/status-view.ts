import type { ConnectionState, HeartbeatMessage } from 'quotebook/client';
import { durationText, timeText } from './display.js';
import { byId, setText } from './elements.js';

const WORDS: Readonly<Record<ConnectionState, string>> = {
  CONNECTING: 'connecting',
  OPEN: 'live',
  WAITING: 'reconnecting',
  UNAUTHORIZED: 'key refused',
  CLOSED: 'not connected',
};

/** Events whose delay is looked at: the median is shown. */
const DELAYS = 21;

/** The connection's state, how far behind each chain is, and how the feed is. */
export class StatusView {
  readonly #outage = byId('outage');
  /** A screen reader reads it out. */
  readonly #what = byId('outage-what');
  /** Changes every second, so that no screen reader follows it. */
  readonly #detail = byId('outage-detail');
  readonly #delaysMs: number[] = [];
  /** Last event that a heartbeat named; null: there was none. */
  #seq: number | null = null;
  /** The page's copy of the book had the hash of the server's. */
  #isChecked = false;
  #lostAtMs: number | null = null;
  /** Why the book does not follow a chain; null: it follows both. */
  #late: { readonly sinceMs: number; readonly reasons: string } | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** An event of the feed has come. */
  heard(tsMs: number): void {
    this.#delaysMs.push(Date.now() - tsMs);
    if (this.#delaysMs.length > DELAYS) this.#delaysMs.shift();
  }

  /** Last event of a heartbeat, and whether the book has its hash; null: it has none of the book. */
  showFeed(seq: number, isChecked: boolean | null): void {
    this.#seq = seq;
    this.#isChecked = isChecked ?? this.#isChecked;
    this.#drawFeed();
  }

  /** The book is another, or no longer live: no heartbeat has said anything of it. */
  uncheck(): void {
    this.#isChecked = false;
    this.#drawFeed();
  }

  #drawFeed(): void {
    if (this.#seq === null) return;
    const delay = [...this.#delaysMs].sort((a, b) => a - b)[Math.floor(this.#delaysMs.length / 2)];
    const delayText = delay === undefined ? '' : `, ${Math.max(0, delay)} ms`;
    const element = byId('feed');
    setText(element, `event ${this.#seq}${delayText}${this.#isChecked ? ', verified' : ''}`);
    element.title = 'Last event, the delay from the server to here by both clocks, and whether the book has its hash';
  }

  /**
   * Says since when the connection is lost, and when the next attempt is; `nextAttemptMs` is Unix time. With a
   * connection it says since when the book does not follow a chain.
   */
  #showOutage(nextAttemptMs: () => number | null): void {
    this.#outage.hidden = this.#lostAtMs === null && this.#late === null;
    if (this.#lostAtMs === null) {
      if (this.#late === null) return;
      const since = `The book has not followed the chain since ${timeText(this.#late.sinceMs)}.`;
      setText(this.#what, `${since} What is shown may be old, and no quote can be placed.`);
      setText(this.#detail, `Reason: ${this.#late.reasons}.`);
      return;
    }
    const next = nextAttemptMs();
    const soon =
      next === null || next <= Date.now()
        ? 'Trying again now.'
        : `Next attempt in ${durationText(next - Date.now() + 999)}.`;
    setText(this.#what, `No connection since ${timeText(this.#lostAtMs)}. What is shown is from then.`);
    setText(this.#detail, soon);
  }

  showConnection(state: ConnectionState, nextAttemptMs: () => number | null): void {
    if (state === 'OPEN' || state === 'UNAUTHORIZED' || state === 'CLOSED') {
      clearInterval(this.#timer);
      this.#lostAtMs = null;
    } else if (state === 'WAITING' && this.#lostAtMs === null) {
      this.#lostAtMs = Date.now();
      clearInterval(this.#timer);
      this.#timer = setInterval(() => this.#showOutage(nextAttemptMs), 1_000);
    }
    this.#showOutage(nextAttemptMs);
    const element = byId('connection');
    element.dataset.state = state;
    setText(element, WORDS[state]);
    // What the last heartbeat said of the chains grows old; the next one says it anew.
    if (state !== 'OPEN') byId('chains').setAttribute('aria-busy', 'true');
  }

  /** True: the book follows both chains, so that the server publishes quotes. */
  showChains({ settlement, stream }: HeartbeatMessage['chains']): boolean {
    showChain(byId('settlement'), settlement);
    showChain(byId('stream'), stream);
    byId('chains').setAttribute('aria-busy', 'false');
    const reasons = [...new Set([settlement.stale, stream.stale].filter((reason) => reason !== null))];
    const sinceMs = this.#late?.sinceMs ?? Date.now();
    this.#late = reasons.length === 0 ? null : { sinceMs, reasons: reasons.join('; ') };
    this.#showOutage(() => null);
    return this.#late === null;
  }
}

function showChain(element: HTMLElement, { block, lateMs, stale }: HeartbeatMessage['chains']['stream']): void {
  const place = block === null ? 'no block yet' : `block ${block.blockNumber}`;
  const age = lateMs === null ? '' : `, ${ageText(lateMs)} old`;
  setText(element, stale === null ? `${place}${age}` : `late: ${stale}`);
  element.title = stale ?? '';
  element.toggleAttribute('data-stale', stale !== null);
}

function ageText(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
