import type { LevelBook, Pool } from 'quotebook/client';
import { contracts, drawn } from './amounts.js';
import { Crosshair, type Reading } from './crosshair.js';
import { byId, found, setText } from './elements.js';
import { premiumDecimal, spreadText } from './option.js';
import type { ShownBook, ShownLevel } from './price-steps.js';

const WIDTH = 400;
const HEIGHT = 240;

/** What is drawn, and where: prices from `middle - reach` to `middle + reach`. */
interface Drawn extends ShownBook {
  readonly middle: number;
  readonly reach: number;
}

/** What is on offer up to each price: bids fall to the left of the middle, asks rise to the right of it. */
export class DepthView {
  readonly #svg = found('depth', SVGSVGElement);
  readonly #bid = this.#svg.querySelector('.bid');
  readonly #ask = this.#svg.querySelector('.ask');
  readonly #crossed = this.#svg.querySelector('.crossed');
  readonly #crosshair = new Crosshair(this.#svg, byId('depth-reading'), (at) => this.#reading(at));
  #drawn: Drawn | null = null;

  /** `exact`: the book as it is, whatever the steps. */
  draw(pool: Pool, exact: Pick<LevelBook, 'bids' | 'asks'>, book: ShownBook): void {
    const { bids, asks, digits } = book;
    const middle = middleOf(bids[0], asks[0]);
    const reach = Math.max(...[...bids, ...asks].map(({ premium }) => Math.abs(drawn(premium) - middle)), 1e-18);
    this.#drawn = { ...book, middle, reach: reach * MARGIN };
    const tallest = Math.max(drawn(sumOf(bids)), drawn(sumOf(asks)), 1e-18) * MARGIN;
    const x = (premium: bigint): number => (WIDTH / 2) * (1 + (drawn(premium) - middle) / (reach * MARGIN));
    const y = (sum: bigint): number => HEIGHT * (1 - drawn(sum) / tallest);
    this.#bid?.setAttribute('d', steps(bids, x, y, 0));
    this.#ask?.setAttribute('d', steps(asks, x, y, WIDTH));
    const [low, high] = [bids.at(-1), asks.at(-1)];
    setText(byId('depth-low'), low === undefined ? '–' : premiumDecimal(low.premium, 'bid', digits));
    setText(byId('depth-high'), high === undefined ? '–' : premiumDecimal(high.premium, 'ask', digits));
    const [bid, ask] = [exact.bids[0]?.price, exact.asks[0]?.price];
    const crossing = bid !== undefined && ask !== undefined && bid > ask ? spreadText(pool, bid, ask) : null;
    const [from, to] = [asks[0]?.premium, bids[0]?.premium];
    const isBand = crossing !== null && from !== undefined && to !== undefined && to > from;
    this.#crossed?.setAttribute(
      'd',
      isBand ? `M${x(from).toFixed(1)} 0H${x(to).toFixed(1)}V${HEIGHT}H${x(from).toFixed(1)}Z` : '',
    );
    setText(byId('depth-middle'), crossing ?? 'cumulative size');
    const sums = `Depth: ${contracts(sumOf(bids))} bid, ${contracts(sumOf(asks))} asked`;
    const label = crossing === null ? sums : `${sums}, ${crossing}`;
    if (this.#svg.getAttribute('aria-label') !== label) this.#svg.setAttribute('aria-label', label);
    this.#crosshair.draw();
  }

  /** The size that can be traded at the price there or a better one. */
  #reading(at: number): Reading | null {
    if (this.#drawn === null) return null;
    const { bids, asks, digits, middle, reach } = this.#drawn;
    const price = middle + (at * 2 - 1) * reach;
    const offered = [
      ['bid', bids.filter(({ premium }) => drawn(premium) >= price)] as const,
      ['ask', asks.filter(({ premium }) => drawn(premium) <= price)] as const,
    ].flatMap(([side, levels]) => {
      const last = levels.at(-1);
      if (last === undefined) return [];
      const what = side === 'bid' ? 'bid down to' : 'asked up to';
      return [`${contracts(sumOf(levels))} ${what} ${premiumDecimal(last.premium, side, digits)}`];
    });
    return { at, text: offered.length === 0 ? 'nothing at this price' : offered.join(', ') };
  }
}

/** Room beyond the last level and above the tallest step. */
const MARGIN = 1.08;

function middleOf(bid: ShownLevel | undefined, ask: ShownLevel | undefined): number {
  const [best, other] = [bid ?? ask, ask ?? bid];
  return best === undefined || other === undefined ? 0 : (drawn(best.premium) + drawn(other.premium)) / 2;
}

/** From the best level outwards, down to the ground at `edge`. */
function steps(
  levels: readonly ShownLevel[],
  x: (premium: bigint) => number,
  y: (sum: bigint) => number,
  edge: number,
): string {
  const [best] = levels;
  if (best === undefined) return '';
  let sum = 0n;
  let path = `M${x(best.premium).toFixed(1)} ${HEIGHT}`;
  for (const { premium, size } of levels) {
    path += `H${x(premium).toFixed(1)}`;
    sum += size;
    path += `V${y(sum).toFixed(1)}`;
  }
  return `${path}H${edge}V${HEIGHT}Z`;
}

function sumOf(levels: readonly ShownLevel[]): bigint {
  return levels.reduce((sum, { size }) => sum + size, 0n);
}
