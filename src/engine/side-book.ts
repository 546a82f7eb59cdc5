import { assert } from './assert.js';
import type { BookOrder } from './book-order.js';
import { Level, type LevelTotal } from './level.js';
import type { Levels } from './levels.js';
import type { Hex, Side } from './quote.js';
import { SizedLevels } from './sized-levels.js';

/** What all takers' private quotes of one price add up to. */
class PrivateTotal implements LevelTotal {
  readonly price: bigint;
  size = 0n;
  count = 0;

  constructor(price: bigint) {
    this.price = price;
  }
}

/**
 * The bids or the asks of one pool. Private quotes are kept beside the public ones, by taker, so that a query for
 * public quotes never meets them; readers merge the two.
 */
export class SideBook {
  readonly side: Side;
  readonly publicLevels: Levels<Level>;
  /** Over all takers, for those who may see every quote. */
  readonly privateTotals: Levels<PrivateTotal>;
  readonly #byTaker = new Map<Hex, Levels<Level>>();

  constructor(side: Side) {
    this.side = side;
    this.publicLevels = new SizedLevels(side, newLevel);
    this.privateTotals = new SizedLevels(side, newTotal);
  }

  /** The levels of that taker's private quotes; undefined when it has none. */
  privateLevels(taker: Hex): Levels<Level> | undefined {
    return this.#byTaker.get(taker);
  }

  add(order: BookOrder): void {
    const levels = order.isPrivate ? this.#takerLevels(order.quote.taker) : this.publicLevels;
    levels.open(order.quote.price).add(order);
    if (order.isPrivate) this.#changeTotal(order.quote.price, order.fillableSize, 1);
  }

  remove(order: BookOrder): void {
    const { level } = order;
    assert(level !== null, 'only an order of the book leaves it');
    level.remove(order);
    if (!order.isPrivate) {
      if (level.count === 0) this.publicLevels.close(level);
      return;
    }
    this.#changeTotal(level.price, -order.fillableSize, -1);
    if (level.count > 0) return;
    const levels = this.#takerLevels(order.quote.taker);
    levels.close(level);
    if (levels.size === 0) this.#byTaker.delete(order.quote.taker);
  }

  /** Sets what is fillable of an order that stays where it is. */
  resize(order: BookOrder, fillableSize: bigint): void {
    const { level } = order;
    assert(level !== null, 'only an order of the book counts in a level');
    if (order.isPrivate) this.#changeTotal(level.price, fillableSize - order.fillableSize, 0);
    level.resize(order, fillableSize);
  }

  /** Returns the number of orders. */
  checkInvariants(): number {
    let count = 0;
    for (const level of this.publicLevels) count += checkLevel(level, false);
    const totals = new Map<bigint, { size: bigint; count: number }>();
    for (const [taker, levels] of this.#byTaker) {
      assert(levels.size > 0, 'a taker without private quotes is not kept');
      for (const level of levels) {
        count += checkLevel(level, true);
        assert(level.oldest?.quote.taker === taker, 'private quotes are kept with their taker');
        const total = totals.get(level.price) ?? { size: 0n, count: 0 };
        totals.set(level.price, { size: total.size + level.size, count: total.count + level.count });
      }
    }
    assert(this.privateTotals.size === totals.size, 'there is a total for every price of a private quote');
    for (const { price, size, count } of this.privateTotals) {
      const total = totals.get(price);
      assert(total?.size === size && total.count === count, 'private quotes add up');
    }
    return count;
  }

  #takerLevels(taker: Hex): Levels<Level> {
    let levels = this.#byTaker.get(taker);
    if (levels === undefined) {
      levels = new SizedLevels(this.side, newLevel);
      this.#byTaker.set(taker, levels);
    }
    return levels;
  }

  #changeTotal(price: bigint, size: bigint, count: number): void {
    const total = this.privateTotals.open(price);
    total.size += size;
    total.count += count;
    if (total.count === 0) this.privateTotals.close(total);
  }
}

function checkLevel(level: Level, isPrivate: boolean): number {
  level.checkInvariants();
  assert(level.count > 0, 'an empty level is not kept');
  for (let order = level.oldest; order !== null; order = order.newer) {
    assert(order.state === 'live' && order.fillableSize > 0n, 'the book holds what can be filled');
    assert(order.isPrivate === isPrivate, 'public and private quotes are kept apart');
  }
  return level.count;
}

function newLevel(price: bigint): Level {
  return new Level(price);
}

function newTotal(price: bigint): PrivateTotal {
  return new PrivateTotal(price);
}
