import type { LevelBook, Level, Pool } from 'quotebook/client';
import { decimal, decimalsOf } from './amounts.js';
import { found, setText } from './elements.js';
import { premiumOf, priceDigits } from './option.js';

/** A price level as it is shown. */
export interface ShownLevel {
  /** 1e-18 tokens per contract. */
  readonly premium: bigint;
  /** 1e-18 contracts. */
  readonly size: bigint;
  /** Quotes. */
  readonly count: number;
}

/** Price levels as they are shown, the best first, and the decimals of their prices. */
export interface ShownBook {
  readonly bids: readonly ShownLevel[];
  readonly asks: readonly ShownLevel[];
  readonly digits: number;
}

/** In units of the fourth significant digit of the best price; 0: each price has a level of its own. */
const MULTIPLES = [0, 1, 5, 10, 50, 100];

/** The control that chooses how far apart the levels are. */
export class PriceSteps {
  readonly #select = found('step', HTMLSelectElement);

  constructor(onChange: () => void) {
    this.#select.append(...MULTIPLES.map((multiple) => new Option('', String(multiple))));
    this.#select.addEventListener('change', onChange);
  }

  /** The book in the chosen steps. */
  shown(pool: Pool, { bids, asks }: Pick<LevelBook, 'bids' | 'asks'>): ShownBook {
    const best = asks[0] ?? bids[0];
    const unit = best === undefined ? null : unitOf(premiumOf(pool, best.price, 'ask'));
    for (const [i, option] of [...this.#select.options].entries()) setText(option, stepText(unit, MULTIPLES[i] ?? 0));
    const multiple = unit === null ? 0 : Number(this.#select.value);
    const step = (unit ?? 0n) * BigInt(multiple);
    return {
      bids: levelsOf(pool, bids, 'bid', step),
      asks: levelsOf(pool, asks, 'ask', step),
      digits: step === 0n ? priceDigits(pool, [bids[0]?.price, asks[0]?.price]) : decimalsOf(step, 1),
    };
  }
}

/** 1e-18: of the fourth significant digit. */
function unitOf(premium: bigint): bigint {
  return 10n ** BigInt(Math.max(0, premium.toString().length - 4));
}

function stepText(unit: bigint | null, multiple: number): string {
  if (multiple === 0) return 'each price';
  if (unit === null) return `${multiple} units`;
  const step = unit * BigInt(multiple);
  return decimal(step, decimalsOf(step, 1), 'DOWN');
}

/** Rounded against the taker: bids down to a step, asks up. `step` 0: none. */
function levelsOf(pool: Pool, levels: readonly Level[], side: 'bid' | 'ask', step: bigint): ShownLevel[] {
  const shown: ShownLevel[] = [];
  for (const { price, size, count } of levels) {
    const exact = premiumOf(pool, price, side);
    const premium = step === 0n ? exact : ((exact + (side === 'ask' ? step - 1n : 0n)) / step) * step;
    const last = shown.at(-1);
    if (step === 0n || last?.premium !== premium) shown.push({ premium, size, count });
    else shown[shown.length - 1] = { premium, size: last.size + size, count: last.count + count };
  }
  return shown;
}
