import { OrderStore } from '../../src/engine/order-store.js';
import { cover } from '../../src/engine/queries.js';
import type { Pool, Quote, Side } from '../../src/engine/quote.js';
import { SeededRandom } from './random.js';
import { CONTRACT, makerOf, poolOf, quoteOf } from './quotes.js';

/** Prices are whole multiples of it, 1e-18. */
export const TICK = 10n ** 13n;
/** Makers that the quotes are spread over. */
const MAKERS = 20;
const SETTLEMENT_BLOCK = 500;

export const enum Step {
  /** Inserts quote `subject`. */
  Insert,
  /** Cancels quote `subject`. */
  Cancel,
  /** Cancels quote `subject` and inserts quote `other`. */
  Replace,
  /** Quote `subject` comes, meets the best of the other side, and both are gone. */
  Cross,
  /** Inserts quote `subject`, then takes its size from the best of its own side. */
  InsertAndTake,
}

/** In the order of a mix. */
const STEPS = [Step.Insert, Step.Cancel, Step.Replace, Step.Cross, Step.InsertAndTake] as const;

/**
 * The input of every book: the same steps on the same quotes. A quote that left the book comes back later: twice as
 * many quotes as rest are used again and again, so that fetching them from memory is not what is measured.
 */
export interface BookScript {
  readonly pool: Pool;
  readonly quotes: readonly Quote[];
  /** So many of the first quotes rest in the book before the first step. */
  readonly resting: number;
  readonly steps: readonly Step[];
  readonly subjects: Uint32Array;
  readonly others: Uint32Array;
}

export interface ScriptShape {
  readonly resting: number;
  readonly steps: number;
  /** Prices on each side of the book; each quote has one of them, all as likely. */
  readonly ticksPerSide: number;
  /** Contracts of a quote: from 1 to this. */
  readonly maxSize: number;
  /** Shares of 100 of each kind of step, in the order of `STEPS`. */
  readonly mix: readonly [insert: number, cancel: number, replace: number, cross: number, insertAndTake: number];
}

/** Plays the steps through once, so that what is cancelled is there; the books that are compared then draw nothing. */
export function writeScript(shape: ScriptShape): BookScript {
  const model = new Model(shape);
  const steps: Step[] = [];
  const subjects = new Uint32Array(shape.steps);
  const others = new Uint32Array(shape.steps);
  for (let i = 0; i < shape.steps; i++) {
    const kind = kindOf(model.random.below(100), shape.mix);
    steps.push(kind);
    if (kind === Step.Cancel || kind === Step.Replace) subjects[i] = model.cancelAny();
    if (kind === Step.Replace) others[i] = model.insertNext();
    else if (kind === Step.Cross) subjects[i] = model.cross();
    else if (kind !== Step.Cancel) subjects[i] = model.insertNext();
    if (kind === Step.InsertAndTake) model.takeFromSideOf(subjects[i] ?? 0);
  }
  return { pool: model.pool, quotes: model.quotes, resting: shape.resting, steps, subjects, others };
}

function kindOf(roll: number, mix: ScriptShape['mix']): Step {
  let below = 0;
  for (const [at, kind] of STEPS.entries()) {
    below += mix[at] ?? 0;
    if (roll < below) return kind;
  }
  return Step.Insert;
}

/** The book that a script is written against. */
class Model {
  readonly random = new SeededRandom(7);
  readonly pool = poolOf(0);
  readonly quotes: Quote[] = [];
  readonly #store = new OrderStore();
  readonly #live: number[] = [];
  /** Of each quote in the book: where in `#live` it is. */
  readonly #places = new Map<number, number>();
  readonly #numbers = new Map<string, number>();
  /** Out of the book for longest first. */
  readonly #spare: number[] = [];

  constructor(shape: ScriptShape) {
    for (let n = 0; n < 2 * shape.resting; n++) this.#make(n, shape);
    for (let n = 0; n < shape.resting; n++) this.#insert(n);
    for (let n = shape.resting; n < 2 * shape.resting; n++) this.#spare.push(n);
  }

  insertNext(): number {
    const n = this.#nextSpare();
    this.#insert(n);
    return n;
  }

  cancelAny(): number {
    const n = this.#live[this.random.below(this.#live.length)] ?? 0;
    this.#remove(n);
    return n;
  }

  /** One comes and meets the best of the other side. */
  cross(): number {
    const n = this.#nextSpare();
    const coming = this.#quote(n);
    this.#take(coming.isBuy ? 'ask' : 'bid', coming.size);
    this.#spare.push(n);
    return n;
  }

  takeFromSideOf(n: number): void {
    const { isBuy, size } = this.#quote(n);
    this.#take(isBuy ? 'bid' : 'ask', size);
  }

  #make(n: number, { ticksPerSide, maxSize }: ScriptShape): void {
    const isBuy = this.random.below(2) === 0;
    const away = this.random.below(ticksPerSide);
    const price = BigInt(isBuy ? ticksPerSide - away : ticksPerSide + 1 + away) * TICK;
    const size = BigInt(1 + this.random.below(maxSize)) * CONTRACT;
    const quote = quoteOf({ n, pool: this.pool, price, size, isBuy, provider: makerOf(this.random.below(MAKERS)) });
    this.quotes.push(quote);
    this.#numbers.set(quote.quoteId, n);
  }

  #quote(n: number): Quote {
    const quote = this.quotes[n];
    if (quote === undefined) throw new RangeError(`There is no quote ${n}`);
    return quote;
  }

  #nextSpare(): number {
    const n = this.#spare.shift();
    if (n === undefined) throw new Error('No quote to spare: the mix inserts more than it takes out');
    return n;
  }

  #insert(n: number): void {
    const quote = this.#quote(n);
    this.#places.set(n, this.#live.push(n) - 1);
    this.#store.set(this.#store.add(quote), quote.size, null, SETTLEMENT_BLOCK, true);
  }

  #remove(n: number): void {
    const order = this.#store.get(this.#quote(n).quoteId);
    const place = this.#places.get(n);
    const last = this.#live.pop();
    if (order === undefined || place === undefined || last === undefined)
      throw new Error(`Quote ${n} is not in the book`);
    if (place < this.#live.length) {
      this.#live[place] = last;
      this.#places.set(last, place);
    }
    this.#places.delete(n);
    this.#spare.push(n);
    this.#store.forget(order);
  }

  #take(side: Side, size: bigint): void {
    let rest = size;
    for (const { quote, fillableSize } of cover(this.#store.book, { poolAddress: this.pool.poolAddress, side, size })) {
      const order = this.#store.get(quote.quoteId);
      if (order === undefined) continue;
      const part = rest < fillableSize ? rest : fillableSize;
      rest -= part;
      if (part === fillableSize) this.#remove(this.#numbers.get(quote.quoteId) ?? 0);
      else this.#store.set(order, fillableSize - part, null, SETTLEMENT_BLOCK, false);
    }
  }
}
