import { ApiError, type Level, type OrderbookClient, type Pool } from 'quotebook/client';
import { timeText } from './display.js';
import { byId, found, setText } from './elements.js';
import type { ServerClock } from './server-clock.js';
import { problemText } from './wallet.js';

/** Places of the slider; the last one is the present. */
const PLACES = 1_000;
/** The server reads its log for each answer: it is asked when the slider has rested for so long. */
const AFTER_MS = 120;

/** The price levels of a pool as they were. */
export interface PastBook {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
  /** The event that they are as of. */
  readonly seq: number;
  /** Unix milliseconds by the server's time. */
  readonly tsMs: number;
}

/** A slider over what the server keeps of the log: shows the chosen pool's book as it was. */
export class HistoryView {
  readonly #clock: ServerClock;
  readonly #onChange: () => void;
  readonly #slider = found('history-at', HTMLInputElement);
  readonly #live = found('history-live', HTMLButtonElement);
  #client: OrderbookClient | null = null;
  #pool: Pool | null = null;
  #book: PastBook | null = null;
  /** Unix milliseconds of the oldest state that the server has; null: not known yet. */
  #oldestMs: number | null = null;
  /** The end of the slider since it has left the present, so that its other places stay where they are; else null. */
  #newestMs: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;

  /** `onChange`: another book is to be shown. */
  constructor(clock: ServerClock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#slider.max = String(PLACES);
    this.#slider.addEventListener('input', () => {
      if (Number(this.#slider.value) === PLACES) return this.#goLive();
      this.#newestMs ??= this.#clock.nowMs();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#read(), AFTER_MS);
    });
    this.#live.addEventListener('click', () => this.#goLive());
    this.#goLive();
  }

  /** Null: the present is shown. */
  get book(): PastBook | null {
    return this.#book;
  }

  open(client: OrderbookClient, pool: Pool): void {
    if (client !== this.#client) this.#oldestMs = null;
    if (client === this.#client && pool.poolAddress === this.#pool?.poolAddress) return;
    this.#client = client;
    this.#pool = pool;
    this.#goLive();
  }

  #goLive(): void {
    clearTimeout(this.#timer);
    this.#newestMs = null;
    this.#slider.value = String(PLACES);
    this.#show(null, 'live');
  }

  #show(book: PastBook | null, text: string): void {
    this.#book = book;
    this.#live.disabled = Number(this.#slider.value) === PLACES;
    this.#slider.setAttribute('aria-valuetext', text);
    byId('pool').toggleAttribute('data-past', book !== null);
    setText(byId('history-text'), text);
    this.#onChange();
  }

  /** One answer at a time, as the server wants it; the place that the slider has by then is the one that counts. */
  async #read(): Promise<void> {
    const [client, pool, newestMs] = [this.#client, this.#pool, this.#newestMs];
    if (client === null || pool === null || newestMs === null || this.#isReading) return;
    this.#isReading = true;
    const place = this.#slider.value;
    try {
      const oldestMs = (this.#oldestMs ??= await oldestOf(client, pool));
      const atMs = Math.round(oldestMs + ((newestMs - oldestMs) * Number(place)) / PLACES);
      const { seq, bids, asks } = await client.rest.book(pool.poolAddress, { asOfTime: String(atMs) });
      if (pool === this.#pool && place === this.#slider.value) {
        const book = { bids: bids.map(levelOf), asks: asks.map(levelOf), seq, tsMs: atMs };
        this.#show(book, `as of ${timeText(atMs)}, event ${seq}`);
      }
    } catch (error) {
      // The oldest state has moved on: the next answer asks for it again.
      this.#oldestMs = null;
      if (pool === this.#pool && place === this.#slider.value) this.#show(null, `No past: ${problemText(error)}`);
    }
    this.#isReading = false;
    if (Number(this.#slider.value) !== PLACES && place !== this.#slider.value) void this.#read();
  }
}

/** Unix milliseconds of the oldest state that the server has. */
async function oldestOf({ rest }: OrderbookClient, { poolAddress }: Pool): Promise<number> {
  const stateAt = async (seq: number): Promise<number> =>
    (await rest.book(poolAddress, { asOfSeq: String(seq), depth: '1' })).tsMs;
  try {
    return await stateAt(0);
  } catch (error) {
    if (!(error instanceof ApiError) || error.oldestSeq === null) throw error;
    return stateAt(error.oldestSeq);
  }
}

function levelOf({ price, size, count }: { readonly price: string; readonly size: string; readonly count: number }) {
  return { price: BigInt(price), size: BigInt(size), count };
}
