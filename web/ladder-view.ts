import type { Level, LevelBook, Pool } from 'quotebook/client';
import { contracts, drawn } from './amounts.js';
import { byId, create, setText } from './elements.js';
import { premiumText, priceDigits, spreadText } from './option.js';

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
    const [bid, ask] = [bids[0]?.price, asks[0]?.price];
    const digits = priceDigits(pool, [bid, ask]);
    const textOf = (side: 'bid' | 'ask') => (price: bigint) => premiumText(pool, price, side, digits);
    drawSide(this.#asks, textOf('ask'), asks, largest);
    drawSide(this.#bids, textOf('bid'), bids, largest);
    const isEmpty = bid === undefined || ask === undefined;
    setText(this.#spread, isEmpty ? 'no spread: a side is empty' : spreadText(pool, bid, ask));
  }
}

function drawSide(
  rows: readonly Row[],
  textOf: (price: bigint) => string,
  levels: readonly Level[],
  largest: number,
): void {
  let sum = 0n;
  rows.forEach(({ bar, price, rest }, i) => {
    const level = levels[i];
    sum += level?.size ?? 0n;
    const texts = level === undefined ? ['', '', ''] : [contracts(level.size), contracts(sum), String(level.count)];
    setText(price, level === undefined ? '' : textOf(level.price));
    rest.forEach((cell, place) => setText(cell, texts[place] ?? ''));
    // A transform: the bar's length moves nothing.
    bar.style.transform = `scaleX(${level === undefined || largest === 0 ? 0 : drawn(sum) / largest})`;
  });
}

function total(levels: readonly Level[]): number {
  return drawn(levels.reduce((sum, { size }) => sum + size, 0n));
}
