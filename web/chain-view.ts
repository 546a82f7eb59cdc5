import type { Pool } from 'quotebook/client';
import { contracts } from './amounts.js';
import { Choices } from './choices.js';
import { byId, create, flash, replaceChildren, setText } from './elements.js';
import type { Market } from './market.js';
import { expiryOrder, nameOf, pairOf, premiumText, premiumToken } from './option.js';

/** One option's half of a row. */
interface Half {
  readonly pool: Pool | undefined;
  readonly cells: readonly HTMLTableCellElement[];
  readonly bid: HTMLElement;
  readonly ask: HTMLElement;
  readonly bidSize: HTMLElement;
  readonly askSize: HTMLElement;
}

/** The options of one pair and expiry: a row for each strike, its call left, its put right. */
export class ChainView {
  readonly #market: Market;
  readonly #onChoice: (pool: Pool) => void;
  readonly #rows = byId('chain-rows');
  readonly #pairs: Choices;
  readonly #expiries: Choices;
  #pair: string | undefined;
  #expiry: string | undefined;
  #chosen: Pool | null = null;
  #halves: readonly Half[] = [];
  #shown = '';

  /** `onChoice`: somebody picked that pool. */
  constructor(market: Market, onChoice: (pool: Pool) => void) {
    this.#market = market;
    this.#onChoice = onChoice;
    this.#pairs = new Choices(byId('pairs'), (pair) => {
      this.#pair = pair;
      this.draw();
    });
    this.#expiries = new Choices(byId('expiries'), (expiry) => {
      this.#expiry = expiry;
      this.draw();
    });
  }

  /** Shows the pool's pair and expiry, and marks it. */
  choose(pool: Pool): void {
    this.#chosen = pool;
    this.#pair = pairOf(pool);
    this.#expiry = pool.expiration;
    this.draw();
  }

  draw(): void {
    const { pools } = this.#market;
    const pairs = [...new Set(pools.map(pairOf))];
    if (this.#pair === undefined || !pairs.includes(this.#pair)) this.#pair = pairs[0];
    const ofPair = pools.filter((pool) => pairOf(pool) === this.#pair);
    const expiries = [...new Set(ofPair.map(({ expiration }) => expiration))].sort(
      (a, b) => expiryOrder(a) - expiryOrder(b),
    );
    if (this.#expiry === undefined || !expiries.includes(this.#expiry)) this.#expiry = expiries[0];
    this.#pairs.show(pairs, this.#pair);
    this.#expiries.show(expiries, this.#expiry);
    this.#build(ofPair.filter(({ expiration }) => expiration === this.#expiry));
    for (const half of this.#halves) this.#drawHalf(half);
  }

  /** Rows are made anew only when other options are shown. */
  #build(pools: readonly Pool[]): void {
    const shown = pools.map(({ poolAddress }) => poolAddress).join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    const strikes = [...new Set(pools.map(({ strike }) => strike))].sort((a, b) => a - b);
    const rows = strikes.map((strike) => {
      const find = (type: 'C' | 'P') => pools.find((pool) => pool.strike === strike && pool.type === type);
      const [call, put] = [this.#half(find('C')), this.#half(find('P'))];
      const title = create('th', '', String(strike));
      title.scope = 'row';
      return { halves: [call, put], row: create('tr', '', ...call.cells, title, ...put.cells) };
    });
    this.#halves = rows.flatMap(({ halves }) => halves);
    replaceChildren(
      this.#rows,
      rows.map(({ row }) => row),
    );
    const unit = (type: 'C' | 'P') => pools.filter((pool) => pool.type === type).map(premiumToken)[0];
    setText(byId('call-unit'), `Calls, ${unit('C') ?? '–'}`);
    setText(byId('put-unit'), `Puts, ${unit('P') ?? '–'}`);
  }

  #half(pool: Pool | undefined): Half {
    const size = () => create('td', 'size');
    const [bidSize, askSize] = [size(), size()];
    const priced = (side: 'bid' | 'ask') => {
      const button = create('button');
      button.type = 'button';
      button.disabled = pool === undefined;
      if (pool !== undefined) {
        button.dataset.pool = pool.poolAddress;
        button.dataset.key = `${pool.poolAddress} ${side}`;
        button.addEventListener('click', () => this.#onChoice(pool));
      }
      const cell = create('td', '', button);
      cell.dataset.side = side;
      return { button, cell };
    };
    const [bid, ask] = [priced('bid'), priced('ask')];
    const cells = [bidSize, bid.cell, ask.cell, askSize];
    return { pool, cells, bid: bid.button, ask: ask.button, bidSize, askSize };
  }

  #drawHalf({ pool, cells, bid, ask, bidSize, askSize }: Half): void {
    if (pool === undefined) return;
    this.#drawBest(pool, 'bid', bid, bidSize);
    this.#drawBest(pool, 'ask', ask, askSize);
    const isChosen = pool.poolAddress === this.#chosen?.poolAddress;
    for (const cell of cells) cell.toggleAttribute('data-chosen', isChosen);
    for (const button of [bid, ask]) button.setAttribute('aria-current', String(isChosen));
  }

  #drawBest(pool: Pool, side: 'bid' | 'ask', price: HTMLElement, size: HTMLElement): void {
    const best = this.#market.best(pool, side);
    const wasEmpty = price.textContent === '';
    const text = best === null ? '–' : premiumText(pool, best.price, side, this.#market.digits(pool));
    const changed = setText(price, text);
    // A screen reader does not announce row and column of an element reached by keyboard.
    if (changed) price.setAttribute('aria-label', `${nameOf(pool)} ${side} ${best === null ? 'none' : text}`);
    if (setText(size, best === null ? '' : contracts(best.size)) || changed) if (!wasEmpty) flash(price);
  }
}
