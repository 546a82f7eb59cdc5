import type { Pool } from 'quotebook/client';
import { contracts, decimal } from './amounts.js';
import { Choices } from './choices.js';
import { expiryText } from './display.js';
import { byId, create, flash, found, replaceChildren, setText } from './elements.js';
import type { Market } from './market.js';
import { expiryTime, nameOf, pairOf, premiumText, premiumToken } from './option.js';
import { readText, storeText } from './storage.js';

type Side = 'bid' | 'ask';

/** A column of the options. */
interface Column {
  readonly name: string;
  readonly title: string;
  /** Share of the width, about pixels. */
  readonly width: number;
  /** Shown from this width of the window on, unless the user chose. */
  readonly from: number;
  /** Of the book: a button that chooses the option. */
  readonly side?: Side;
  /** Empty: not known. */
  readonly text: (market: Market, pool: Pool) => string;
}

/** Of calls from the left; of puts mirrored, so that bid and ask are nearest to the strike on both sides. */
const COLUMNS: readonly Column[] = [
  { name: 'volume', title: '24 h', width: 46, from: 1400, text: volumeText },
  { name: 'last', title: 'Last', width: 72, from: 1400, text: lastText },
  {
    name: 'usd',
    title: 'Mark $',
    width: 60,
    from: 1400,
    text: (market, pool) => usdText(market.estimate(pool)?.usdValue),
  },
  { name: 'mark', title: 'Mark', width: 72, from: 1100, text: markText },
  {
    name: 'delta',
    title: 'Delta',
    width: 44,
    from: 1100,
    text: (market, pool) => fixed(market.estimate(pool)?.delta, 2),
  },
  {
    name: 'volatility',
    title: 'IV',
    width: 52,
    from: 1100,
    text: (market, pool) => percent(market.estimate(pool)?.bidVolatility),
  },
  { name: 'size', title: 'Size', width: 52, from: 641, text: (market, pool) => sizeText(market, pool, 'bid') },
  {
    name: 'price',
    title: 'Bid',
    width: 76,
    from: 0,
    side: 'bid',
    text: (market, pool) => bestText(market, pool, 'bid'),
  },
  {
    name: 'price',
    title: 'Ask',
    width: 76,
    from: 0,
    side: 'ask',
    text: (market, pool) => bestText(market, pool, 'ask'),
  },
  { name: 'size', title: 'Size', width: 52, from: 641, text: (market, pool) => sizeText(market, pool, 'ask') },
  {
    name: 'volatility',
    title: 'IV',
    width: 52,
    from: 1100,
    text: (market, pool) => percent(market.estimate(pool)?.askVolatility),
  },
];
const CHOICES: readonly (readonly [name: string, label: string])[] = [
  ['size', 'Sizes'],
  ['volatility', 'Implied volatility'],
  ['delta', 'Delta'],
  ['mark', 'Mark'],
  ['usd', 'Mark in USD'],
  ['last', 'Last price'],
  ['volume', '24 h volume'],
];
const NO_OPTION = 'No option is listed. One appears here once its pool is deployed.';
const NOT_LISTED =
  'Options appear here once the service answers. If it asks for an API key, give one under “Settings”.';
const STRIKE_WIDTH = 64;
const STORED_AS = 'quotebook.columns';

/** One option's half of a row. */
interface Half {
  readonly pool: Pool;
  readonly cells: readonly { readonly column: Column; readonly cell: HTMLElement; readonly text: HTMLElement }[];
}

/** The options of a pair: a row for each strike, its call left, its put right; of one expiry or of all. */
export class ChainView {
  readonly #market: Market;
  readonly #onChoice: (pool: Pool) => void;
  readonly #table = found('chain-table', HTMLTableElement);
  readonly #rows = byId('chain-rows');
  readonly #pairs: Choices;
  readonly #expiries: Choices;
  readonly #all = byId('all-expiries');
  readonly #boxes = new Map<string, HTMLInputElement>();
  /** Null: those that the window has room for. */
  #chosenColumns: ReadonlySet<string> | null = storedColumns();
  #columns: readonly Column[] = [];
  #pair: string | undefined;
  #expiry: string | undefined;
  #showsAll = false;
  #chosen: Pool | null = null;
  #halves: readonly Half[] = [];
  #strikes: readonly { readonly row: HTMLElement; readonly strike: number }[] = [];
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
      this.#showsAll = false;
      this.draw();
    });
    this.#all.addEventListener('click', () => {
      this.#showsAll = !this.#showsAll;
      this.draw();
    });
    this.#rows.addEventListener('keydown', (event) => this.#move(event));
    for (const from of new Set(COLUMNS.map((column) => column.from))) {
      matchMedia(`(min-width: ${from}px)`).addEventListener('change', () => this.draw());
    }
    byId('columns').append(...CHOICES.map(([name, label]) => this.#chooser(name, label)));
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
      (a, b) => expiryTime(a) - expiryTime(b),
    );
    if (this.#expiry === undefined || !expiries.includes(this.#expiry)) this.#expiry = expiries[0];
    this.#pairs.show(pairs, this.#pair);
    this.#expiries.show(expiries, this.#showsAll ? undefined : this.#expiry);
    this.#all.setAttribute('aria-pressed', String(this.#showsAll));
    for (const [name, box] of this.#boxes) box.checked = this.#isShown(name);
    this.#build(ofPair, this.#showsAll || this.#expiry === undefined ? expiries : [this.#expiry]);
    for (const half of this.#halves) this.#drawHalf(half);
    const [first] = ofPair;
    const spot = first === undefined ? null : this.#market.spot(first);
    this.#drawMoney(spot);
    const spotText =
      first === undefined || spot === null ? '' : `${first.base} at ${decimal(spot, 2, 'DOWN')} ${first.quote}`;
    const ends = this.#showsAll || this.#expiry === undefined ? '' : expiryText(this.#expiry);
    setText(byId('chain-note'), [spotText, ends].filter((text) => text !== '').join('; '));
  }

  #chooser(name: string, label: string): HTMLElement {
    const box = create('input');
    box.type = 'checkbox';
    this.#boxes.set(name, box);
    box.addEventListener('change', () => {
      const shown = CHOICES.map(([each]) => each).filter((each) => (each === name ? box.checked : this.#isShown(each)));
      this.#chosenColumns = new Set(shown);
      storeText(STORED_AS, shown.join());
      this.draw();
    });
    return create('label', '', box, ` ${label}`);
  }

  #isShown(name: string): boolean {
    if (name === 'price') return true;
    if (this.#chosenColumns !== null) return this.#chosenColumns.has(name);
    return COLUMNS.some((column) => column.name === name && innerWidth >= column.from);
  }

  /** Rows are made anew only when other options or columns are shown. */
  #build(ofPair: readonly Pool[], expiries: readonly string[]): void {
    const columns = COLUMNS.filter(({ name }) => this.#isShown(name));
    const pools = ofPair.filter(({ expiration }) => expiries.includes(expiration));
    const names = columns.map(({ name }) => name);
    const shown = [...pools.map(({ poolAddress }) => poolAddress), ...names, this.#market.isListed].join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#columns = columns;
    this.#buildHead(pools);
    const strikesAll: { row: HTMLElement; strike: number }[] = [];
    const halves: Half[] = [];
    const rows = expiries.flatMap((expiry) => {
      const ofExpiry = pools.filter(({ expiration }) => expiration === expiry);
      const strikes = [...new Set(ofExpiry.map(({ strike }) => strike))].sort((a, b) => a - b);
      const made = strikes.map((strike) => {
        const find = (type: 'C' | 'P') => ofExpiry.find((pool) => pool.strike === strike && pool.type === type);
        const [call, put] = [this.#half(find('C'), columns), this.#half(find('P'), mirrored(columns))];
        for (const { half } of [call, put]) if (half !== null) halves.push(half);
        const title = create('th', '', String(strike));
        title.scope = 'row';
        const row = create('tr', '', ...call.cells, title, ...put.cells);
        strikesAll.push({ row, strike });
        return row;
      });
      if (expiries.length === 1) return made;
      const title = create('td', '', `${expiry}, ${expiryText(expiry)}`);
      title.colSpan = columns.length * 2 + 1;
      return [create('tr', 'expiry', title), ...made];
    });
    this.#halves = halves;
    this.#strikes = strikesAll;
    if (rows.length > 0) return replaceChildren(this.#rows, rows);
    const empty = create('td', 'empty', this.#market.isListed ? NO_OPTION : NOT_LISTED);
    empty.colSpan = columns.length * 2 + 1;
    replaceChildren(this.#rows, [create('tr', '', empty)]);
  }

  #buildHead(pools: readonly Pool[]): void {
    const [calls, puts] = [this.#columns, mirrored(this.#columns)];
    const unit = (type: 'C' | 'P') => pools.filter((pool) => pool.type === type).map(premiumToken)[0] ?? '–';
    const group = (id: string, text: string): HTMLElement => {
      const cell = create('th', '', text);
      [cell.id, cell.colSpan, cell.scope] = [id, calls.length, 'colgroup'];
      return cell;
    };
    const title = (text: string): HTMLTableCellElement => {
      const cell = create('th', '', text);
      cell.scope = 'col';
      return cell;
    };
    const strike = title('Strike');
    strike.rowSpan = 2;
    const total = columnsWidth(calls) * 2 + STRIKE_WIDTH;
    const cols = [...calls.map(({ width }) => width), STRIKE_WIDTH, ...puts.map(({ width }) => width)].map((width) => {
      const col = create('col');
      col.style.width = `${(width / total) * 100}%`;
      return col;
    });
    // Wider than the window it scrolls; the narrowest set of columns fits every window.
    this.#table.style.minWidth = calls.length > 2 ? `${total}px` : '0';
    const groups = create(
      'tr',
      '',
      group('call-unit', `Calls, ${unit('C')}`),
      strike,
      group('put-unit', `Puts, ${unit('P')}`),
    );
    const titles = create('tr', '', ...[...calls, ...puts].map((column) => title(column.title)));
    this.#table.tHead?.replaceChildren(groups, titles);
    this.#table.querySelector('colgroup')?.replaceChildren(...cols);
  }

  #half(pool: Pool | undefined, columns: readonly Column[]): { half: Half | null; cells: HTMLElement[] } {
    const made = columns.map((column) => {
      if (column.side === undefined) {
        const cell = create('td', column.name);
        return { column, cell, text: cell };
      }
      const button = create('button');
      button.type = 'button';
      button.disabled = pool === undefined;
      if (pool !== undefined) {
        button.dataset.pool = pool.poolAddress;
        button.dataset.key = `${pool.poolAddress} ${column.side}`;
        button.addEventListener('click', () => this.#onChoice(pool));
      }
      const cell = create('td', '', button);
      cell.dataset.side = column.side;
      return { column, cell, text: button };
    });
    return { half: pool === undefined ? null : { pool, cells: made }, cells: made.map(({ cell }) => cell) };
  }

  #drawHalf({ pool, cells }: Half): void {
    const isChosen = pool.poolAddress === this.#chosen?.poolAddress;
    for (const { column, cell, text } of cells) {
      cell.toggleAttribute('data-chosen', isChosen);
      const wasEmpty = text.textContent === '';
      const shown = column.text(this.#market, pool);
      const { side } = column;
      if (side !== undefined) text.setAttribute('aria-current', String(isChosen));
      if (!setText(text, shown) || side === undefined) continue;
      // A screen reader does not announce row and column of an element reached by keyboard.
      text.setAttribute('aria-label', `${nameOf(pool)} ${side} ${shown === NONE ? 'none' : shown}`);
      if (!wasEmpty) flash(text);
    }
  }

  /** Shades what is in the money, and draws a line where the spot price is between two strikes. */
  #drawMoney(spot: bigint | null): void {
    const at = spot === null ? null : Number(spot) / 1e18;
    this.#strikes.forEach(({ row, strike }, i) => {
      const isBelow = at !== null && strike < at;
      const next = this.#strikes[i + 1];
      row.toggleAttribute('data-call-in', isBelow);
      row.toggleAttribute('data-put-in', at !== null && strike > at);
      row.toggleAttribute('data-at-money', isBelow && next !== undefined && next.strike >= at && next.strike > strike);
    });
  }

  /** Arrow keys move between prices as they lie in the table. */
  #move(event: KeyboardEvent): void {
    const step = STEPS.get(event.key);
    const from = event.target instanceof Element ? event.target.closest('tr') : null;
    if (step === undefined || from === null || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [across, down] = step;
    const next = (row: Element): Element | null => (down > 0 ? row.nextElementSibling : row.previousElementSibling);
    let row: Element | null = down === 0 ? from : next(from);
    let place = [...from.querySelectorAll('button')].findIndex((button) => button === event.target) + across;
    while (row !== null) {
      const buttons = row.querySelectorAll('button');
      const target = buttons[place];
      if (target?.disabled === false) return target.focus();
      // Over options that are not listed, and over the headings of expiries.
      place += across;
      if (down !== 0) row = next(row);
      else if (place < 0 || place >= buttons.length) return;
    }
  }
}

const STEPS: ReadonlyMap<string, readonly [across: number, down: number]> = new Map([
  ['ArrowLeft', [-1, 0]],
  ['ArrowRight', [1, 0]],
  ['ArrowUp', [0, -1]],
  ['ArrowDown', [0, 1]],
]);
/** Nothing is quoted, or nothing is known. */
const NONE = '–';

/** Bid stays left of ask. */
function mirrored(columns: readonly Column[]): Column[] {
  const prices = columns.findIndex(({ side }) => side === 'bid');
  const bidOthers = columns.slice(0, prices).filter(({ name }) => name === 'size' || name === 'volatility');
  const outer = columns.slice(0, prices).filter((column) => !bidOthers.includes(column));
  return [...bidOthers, ...columns.slice(prices), ...outer.reverse()];
}

function columnsWidth(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}

function storedColumns(): ReadonlySet<string> | null {
  const stored = readText(STORED_AS);
  return stored === null ? null : new Set(stored.split(','));
}

function bestText(market: Market, pool: Pool, side: Side): string {
  const best = market.best(pool, side);
  return best === null ? NONE : premiumText(pool, best.price, side, market.digits(pool));
}

function sizeText(market: Market, pool: Pool, side: Side): string {
  const best = market.best(pool, side);
  return best === null ? '' : contracts(best.size);
}

function markText(market: Market, pool: Pool): string {
  const mark = market.mark(pool);
  return mark === null ? '' : premiumText(pool, mark, 'bid', market.digits(pool));
}

function lastText(market: Market, pool: Pool): string {
  const last = market.last(pool);
  return last === null ? '' : premiumText(pool, last, 'bid', market.digits(pool));
}

function volumeText(market: Market, pool: Pool): string {
  const filled = market.filledIn24Hours(pool);
  return filled === 0n ? '' : contracts(filled);
}

function fixed(value: number | null | undefined, digits: number): string {
  return value == null ? '' : value.toFixed(digits);
}

function percent(share: number | null | undefined): string {
  return share == null ? '' : `${(share * 100).toFixed(share < 1 ? 1 : 0)}%`;
}

function usdText(dollars: number | null | undefined): string {
  return dollars == null ? '' : dollars.toFixed(dollars < 1000 ? 2 : 0);
}
