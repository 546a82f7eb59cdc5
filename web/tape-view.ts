import type { OrderbookQuote, Pool, QuoteEvent, RfqEvent } from 'quotebook/client';
import { contracts } from './amounts.js';
import { Choices } from './choices.js';
import { timeText } from './display.js';
import { byId, create, flash, setText } from './elements.js';
import type { Market } from './market.js';
import { nameOf } from './option.js';

/** Rows that are there from the start: what is new moves through them, and moves nothing else. */
export const TAPE_ROWS = 16;
/** Events that are kept, so that a filter has some to show. */
const KEPT = 200;
const FILTERS = ['Everything', 'Quotes', 'Fills', 'Requests'];

interface Entry {
  readonly tsMs: number;
  readonly what: string;
  /** Looked up when it is drawn: a pool may be listed later. Undefined: an RFQ's key told no pool. */
  readonly poolAddress: string | undefined;
  readonly side: 'bid' | 'ask';
  /** Null: an RFQ names none. */
  readonly price: bigint | null;
  readonly size: bigint;
}

const WORDS: Readonly<Record<QuoteEvent['type'], string>> = {
  POST_QUOTE: 'Quote',
  FILL_QUOTE: 'Fill',
  REMOVE_QUOTE: 'Filled',
  CANCEL_QUOTE: 'Cancelled',
  EXPIRE_QUOTE: 'Expired',
  INVALIDATE_QUOTE: 'Invalid',
  REVALIDATE_QUOTE: 'Valid again',
  UNDO_QUOTE: 'Undone',
  WITHDRAW_QUOTE: 'Withdrawn',
  RESTORE_QUOTE: 'Shown again',
};

/** The latest events, newest first. */
export class TapeView {
  readonly #market: Market;
  readonly #entries: Entry[] = [];
  readonly #filters: Choices;
  #filter = FILTERS[0];
  /** Of each row what has a text: the cells, the price's one in two parts. */
  readonly #rows: readonly (readonly HTMLElement[])[];
  #hasNews = false;

  constructor(market: Market) {
    this.#market = market;
    this.#rows = Array.from({ length: TAPE_ROWS }, () => this.#addRow());
    this.#filters = new Choices(byId('tape-filter'), (filter) => {
      this.#filter = filter;
      this.draw();
    });
  }

  #addRow(): readonly HTMLElement[] {
    const [price, usd] = [create('span'), create('small', 'usd')];
    const before = [create('td'), create('td'), create('td'), create('td')];
    const size = create('td');
    byId('tape-rows').append(create('tr', '', ...before, create('td', '', price, ' ', usd), size));
    return [...before, price, usd, size];
  }

  addEvent(event: QuoteEvent): void {
    const { type, tsMs, body } = event;
    const size = type === 'FILL_QUOTE' ? event.size : body.fillableSize === '0' ? body.size : body.fillableSize;
    this.#add(this.#entryOf(WORDS[type], tsMs, body, size));
  }

  /** `newest` quotes, the newest first, for a tape that has heard of nothing yet. */
  begin(newest: readonly OrderbookQuote[]): void {
    if (this.#entries.length > 0) return;
    for (const quote of [...newest].reverse()) {
      this.#add(this.#entryOf(WORDS.POST_QUOTE, quote.ts * 1000, quote, quote.size));
    }
    this.#hasNews = false;
  }

  addRfq({ tsMs, body }: RfqEvent): void {
    const poolAddress = this.#market.requestedPool(body);
    this.#add({ tsMs, what: 'RFQ', poolAddress, side: body.side, price: null, size: BigInt(body.size) });
  }

  draw(): void {
    this.#filters.show(FILTERS, this.#filter);
    const shown = this.#entries.filter(({ what }) => this.#filter === FILTERS[0] || kindOf(what) === this.#filter);
    this.#rows.forEach((row, i) => {
      const entry = shown[i];
      const texts = entry === undefined ? [] : this.#textsOf(entry);
      row.forEach((element, place) => setText(element, texts[place] ?? ''));
      const [, , , side] = row;
      if (side !== undefined) side.className = entry === undefined ? '' : `${entry.side}-text`;
    });
    const empty = 'Nothing of this kind yet. It appears here as it happens.';
    setText(byId('tape-empty'), shown.length === 0 ? empty : '');
    const newest = this.#rows[0]?.[1];
    if (this.#hasNews && newest !== undefined) flash(newest);
    this.#hasNews = false;
  }

  #entryOf(what: string, tsMs: number, { poolAddress, isBuy, price }: OrderbookQuote, size: string): Entry {
    const side = isBuy ? 'bid' : 'ask';
    return { tsMs, what, poolAddress, side, price: BigInt(price), size: BigInt(size) };
  }

  #textsOf({ tsMs, what, poolAddress, side, price, size }: Entry): readonly string[] {
    const pool = poolAddress === undefined ? undefined : this.#market.pool(poolAddress);
    const time = timeText(tsMs);
    return [
      time,
      what,
      pool === undefined ? 'another pool' : nameOf(pool),
      side,
      this.#priceText(pool, side, price),
      pool === undefined || price === null ? '' : this.#market.usdOfPrice(pool, price, side),
      contracts(size),
    ];
  }

  #priceText(pool: Pool | undefined, side: 'bid' | 'ask', price: bigint | null): string {
    if (price === null) return '–';
    return pool === undefined ? '…' : this.#market.priceText(pool, price, side);
  }

  #add(entry: Entry): void {
    this.#entries.unshift(entry);
    this.#entries.splice(KEPT);
    this.#hasNews = true;
  }
}

function kindOf(what: string): string {
  if (what === 'RFQ') return 'Requests';
  return what.startsWith('Fill') ? 'Fills' : 'Quotes';
}
