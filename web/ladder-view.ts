import type { Level, LevelBook, Pool } from 'quotebook/client';
import { contracts, drawn } from './amounts.js';
import { byId, create, setText } from './elements.js';
import { premiumText } from './option.js';

/** Levels of each side that have a row, whether there is anything in it or not. */
const ROWS = 9;

interface Row {
  readonly bar: HTMLElement;
  readonly price: HTMLElement;
  readonly rest: readonly HTMLElement[];
}

/** Price levels around the spread: asks above it, the best nearest, bids below. */
export class LadderView {
  readonly #asks: readonly Row[];
  readonly #bids: readonly Row[];
  readonly #spread = create('td', '', '–');

  constructor() {
    const body = byId('ladder-rows');
    const made = (side: 'bid' | 'ask') => {
      const bar = create('i');
      const price = create('span');
      const rest = [create('td'), create('td'), create('td')];
      return { bar, price, rest, row: create('tr', side, create('td', '', bar, price), ...rest) };
    };
    const asks = Array.from({ length: ROWS }, () => made('ask'));
    const bids = Array.from({ length: ROWS }, () => made('bid'));
    this.#spread.colSpan = 4;
    this.#asks = asks;
    this.#bids = bids;
    const rowsOf = (sides: typeof asks) => sides.map(({ row }) => row);
    body.append(...rowsOf(asks).reverse(), create('tr', 'spread', this.#spread), ...rowsOf(bids));
  }

  draw(pool: Pool, { bids, asks }: Pick<LevelBook, 'bids' | 'asks'>): void {
    const largest = Math.max(total(bids.slice(0, ROWS)), total(asks.slice(0, ROWS)));
    drawSide(this.#asks, pool, asks, largest);
    drawSide(this.#bids, pool, bids, largest);
    const [bid, ask] = [bids[0], asks[0]];
    const spread = bid === undefined || ask === undefined ? null : ask.price - bid.price;
    const text =
      spread === null ? 'no spread: a side is empty' : `spread ${premiumText(pool, spread < 0n ? 0n : spread)}`;
    setText(this.#spread, text);
  }
}

function drawSide(rows: readonly Row[], pool: Pool, levels: readonly Level[], largest: number): void {
  let sum = 0n;
  rows.forEach(({ bar, price, rest }, i) => {
    const level = levels[i];
    sum += level?.size ?? 0n;
    const texts = level === undefined ? ['', '', ''] : [contracts(level.size), contracts(sum), String(level.count)];
    setText(price, level === undefined ? '' : premiumText(pool, level.price));
    rest.forEach((cell, place) => setText(cell, texts[place] ?? ''));
    // A transform: the bar's length moves nothing.
    bar.style.transform = `scaleX(${level === undefined || largest === 0 ? 0 : drawn(sum) / largest})`;
  });
}

function total(levels: readonly Level[]): number {
  return drawn(levels.reduce((sum, { size }) => sum + size, 0n));
}
