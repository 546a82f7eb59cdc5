import type { LevelBook, Pool } from 'quotebook/client';
import { contracts, drawn } from './amounts.js';
import { byId, create, setText } from './elements.js';
import { premiumDecimal, spreadText } from './option.js';
import type { ShownBook, ShownLevel } from './price-steps.js';

/** Levels of each side that have a row, whether there is anything in it or not. */
const ROWS = 9;

interface Row {
  readonly bar: HTMLElement;
  readonly price: HTMLElement;
  readonly rest: readonly HTMLElement[];
}

/** Texts of a premium in 1e-18 tokens per contract. */
interface PriceTexts {
  readonly token: (premium: bigint) => string;
  /** Empty: not known. */
  readonly usd: (premium: bigint) => string;
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
      const rest = [create('td'), create('td'), create('td'), create('td')];
      return { bar, price, rest, row: create('tr', side, create('td', '', bar, price), ...rest) };
    };
    const asks = Array.from({ length: ROWS }, () => made('ask'));
    const bids = Array.from({ length: ROWS }, () => made('bid'));
    this.#spread.colSpan = 5;
    this.#asks = asks;
    this.#bids = bids;
    const rowsOf = (sides: typeof asks) => sides.map(({ row }) => row);
    body.append(...rowsOf(asks).reverse(), create('tr', 'spread', this.#spread), ...rowsOf(bids));
  }

  /** `exact`: the book as it is, whatever the steps. */
  draw(
    pool: Pool,
    exact: Pick<LevelBook, 'bids' | 'asks'>,
    { bids, asks, digits }: ShownBook,
    usd: PriceTexts['usd'],
  ): void {
    const largest = Math.max(total(bids.slice(0, ROWS)), total(asks.slice(0, ROWS)));
    const texts = (side: 'bid' | 'ask'): PriceTexts => ({
      token: (premium) => premiumDecimal(premium, side, digits),
      usd,
    });
    drawSide(this.#asks, texts('ask'), asks, largest);
    drawSide(this.#bids, texts('bid'), bids, largest);
    const [bid, ask] = [exact.bids[0]?.price, exact.asks[0]?.price];
    setText(this.#spread, middleText(pool, bid, ask));
  }
}

function middleText(pool: Pool, bid: bigint | undefined, ask: bigint | undefined): string {
  if (bid === undefined && ask === undefined) return 'no spread: place a quote, or ask makers';
  return bid === undefined || ask === undefined ? 'no spread: a side is empty' : spreadText(pool, bid, ask);
}

function drawSide(rows: readonly Row[], texts: PriceTexts, levels: readonly ShownLevel[], largest: number): void {
  let sum = 0n;
  rows.forEach(({ bar, price, rest }, i) => {
    const level = levels[i];
    sum += level?.size ?? 0n;
    const cells =
      level === undefined
        ? ['', '', '', '']
        : [texts.usd(level.premium), contracts(level.size), contracts(sum), String(level.count)];
    setText(price, level === undefined ? '' : texts.token(level.premium));
    rest.forEach((cell, place) => setText(cell, cells[place] ?? ''));
    // A transform: the bar's length moves nothing.
    const scale = `scaleX(${level === undefined || largest === 0 ? 0 : (drawn(sum) / largest).toFixed(4)})`;
    if (bar.style.transform !== scale) bar.style.transform = scale;
  });
}

function total(levels: readonly ShownLevel[]): number {
  return drawn(levels.reduce((sum, { size }) => sum + size, 0n));
}
