import type { Level, LevelBook, Pool } from 'quotebook/client';
import { contracts, drawn } from './amounts.js';
import { byId, found, setText } from './elements.js';
import { premiumText, priceDigits, spreadText } from './option.js';

const WIDTH = 400;
const HEIGHT = 240;
/** Levels of each side that are drawn. */
const LEVELS = 60;

/** What is on offer up to each price: bids fall to the left of the middle, asks rise to the right of it. */
export class DepthView {
  readonly #svg = found('depth', SVGSVGElement);
  readonly #bid = found('depth', SVGSVGElement).querySelector<SVGPathElement>('.bid');
  readonly #ask = found('depth', SVGSVGElement).querySelector<SVGPathElement>('.ask');

  draw(pool: Pool, book: Pick<LevelBook, 'bids' | 'asks'>): void {
    const [bids, asks] = [book.bids.slice(0, LEVELS), book.asks.slice(0, LEVELS)];
    const middle = middleOf(bids[0], asks[0]);
    const reach = Math.max(...[...bids, ...asks].map(({ price }) => Math.abs(drawn(price) - middle)), 1e-18) * MARGIN;
    const tallest = Math.max(sumOf(bids), sumOf(asks), 1e-18) * MARGIN;
    const x = (price: bigint): number => (WIDTH / 2) * (1 + (drawn(price) - middle) / reach);
    const y = (sum: bigint): number => HEIGHT * (1 - drawn(sum) / tallest);
    this.#bid?.setAttribute('d', steps(bids, x, y, 0));
    this.#ask?.setAttribute('d', steps(asks, x, y, WIDTH));
    const [low, high] = [bids.at(-1), asks.at(-1)];
    const [bid, ask] = [bids[0]?.price, asks[0]?.price];
    const digits = priceDigits(pool, [bid, ask]);
    setText(byId('depth-low'), low === undefined ? '–' : premiumText(pool, low.price, 'bid', digits));
    setText(byId('depth-high'), high === undefined ? '–' : premiumText(pool, high.price, 'ask', digits));
    const crossing = bid !== undefined && ask !== undefined && bid > ask ? spreadText(pool, bid, ask) : null;
    setText(byId('depth-middle'), crossing ?? 'cumulative size');
    const sums = `Depth: ${contracts(exactSum(bids))} bid, ${contracts(exactSum(asks))} asked`;
    const label = crossing === null ? sums : `${sums}, ${crossing}`;
    if (this.#svg.getAttribute('aria-label') !== label) this.#svg.setAttribute('aria-label', label);
  }
}

/** Room beyond the last level and above the tallest step. */
const MARGIN = 1.08;

function middleOf(bid: Level | undefined, ask: Level | undefined): number {
  const [best, other] = [bid ?? ask, ask ?? bid];
  return best === undefined || other === undefined ? 0 : (drawn(best.price) + drawn(other.price)) / 2;
}

/** From the best level outwards, down to the ground at `edge`. */
function steps(
  levels: readonly Level[],
  x: (price: bigint) => number,
  y: (sum: bigint) => number,
  edge: number,
): string {
  const [best] = levels;
  if (best === undefined) return '';
  let sum = 0n;
  let path = `M${x(best.price).toFixed(1)} ${HEIGHT}`;
  for (const { price, size } of levels) {
    path += `H${x(price).toFixed(1)}`;
    sum += size;
    path += `V${y(sum).toFixed(1)}`;
  }
  return `${path}H${edge}V${HEIGHT}Z`;
}

function exactSum(levels: readonly Level[]): bigint {
  return levels.reduce((sum, { size }) => sum + size, 0n);
}

function sumOf(levels: readonly Level[]): number {
  return drawn(exactSum(levels));
}
