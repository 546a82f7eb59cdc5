import { assert } from './assert.js';
import type { BookOrder } from './book-order.js';
import { Level } from './level.js';
import type { Levels } from './levels.js';
import type { Hex, Side } from './quote.js';
import { SizedLevels } from './sized-levels.js';

/**
 * The bids or the asks of one pool. Private quotes are kept beside the public ones, by taker, so that a query for
 * public quotes never meets them; readers merge the two.
 */
export class SideBook {
  readonly side: Side;
  readonly publicLevels: Levels<Level>;
  readonly #byTaker = new Map<Hex, Levels<Level>>();

  constructor(side: Side) {
    this.side = side;
    this.publicLevels = new SizedLevels(side, newLevel);
  }

  /** The levels of that taker's private quotes; undefined when it has none. */
  privateLevels(taker: Hex): Levels<Level> | undefined {
    return this.#byTaker.get(taker);
  }

  add(order: BookOrder): void {
    const levels = order.isPrivate ? this.#takerLevels(order.quote.taker) : this.publicLevels;
    levels.open(order.quote.price).add(order);
  }

  remove(order: BookOrder): void {
    const { level } = order;
    assert(level !== null, 'only an order of the book leaves it');
    level.remove(order);
    if (level.count > 0) return;
    if (!order.isPrivate) return this.publicLevels.close(level);
    const levels = this.#takerLevels(order.quote.taker);
    levels.close(level);
    if (levels.size === 0) this.#byTaker.delete(order.quote.taker);
  }

  /** Sets what is fillable of an order that stays where it is. */
  resize(order: BookOrder, fillableSize: bigint): void {
    const { level } = order;
    assert(level !== null, 'only an order of the book counts in a level');
    level.resize(order, fillableSize);
  }

  /** Returns the number of orders. */
  checkInvariants(): number {
    let count = 0;
    for (const level of this.publicLevels) count += checkLevel(level, false);
    for (const [taker, levels] of this.#byTaker) {
      assert(levels.size > 0, 'a taker without private quotes is not kept');
      for (const level of levels) {
        count += checkLevel(level, true);
        assert(level.oldest?.quote.taker === taker, 'private quotes are kept with their taker');
      }
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
