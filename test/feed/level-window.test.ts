import fc from 'fast-check';
import t from 'tap';
import { OrderBook, BookOrder } from '../../src/engine/order-book.js';
import { type Hex, type Side, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { BookHash } from '../../src/feed/book-hash.js';
import { LevelWindow, SIDES } from '../../src/feed/level-window.js';
import { address, POOL, sampleQuote, TAKER } from '../engine/samples.js';
import { keccak256 } from './keccak.js';

const { poolAddress } = POOL;
const hash = new BookHash(keccak256);

interface Change {
  readonly price: number;
  readonly whose: Hex;
  readonly side: Side;
  /** 0: the quote goes. */
  readonly left: number;
}

const change: fc.Arbitrary<Change> = fc.record({
  price: fc.nat(7),
  whose: fc.constantFrom(ZERO_ADDRESS, ZERO_ADDRESS, TAKER, TAKER, address(0x21)),
  side: fc.constantFrom(...SIDES),
  left: fc.nat(2),
});
/** What each record changes. */
const records = fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { maxLength: 60, size: 'max' });

/** One quote for each price, side and taker, there or not. */
class Market {
  readonly book = new OrderBook();
  readonly #orders = new Map<string, BookOrder>();

  set({ price, whose, side, left }: Change): bigint {
    const name = `${price} ${whose} ${side}`;
    const at = 100n + BigInt(price);
    const about = { n: this.#orders.size, price: at, taker: whose, isBuy: side === 'bid' };
    const order = this.#orders.get(name) ?? new BookOrder(sampleQuote(about));
    this.#orders.set(name, order);
    this.book.set(order, BigInt(left), null);
    return at;
  }
}

t.test('what a window told adds up to what it would show if it were opened now', async () => {
  const taker = fc.constantFrom(null, TAKER);
  fc.assert(
    fc.property(records, taker, fc.integer({ min: 1, max: 6 }), (script, taker, depth) => {
      const market = new Market();
      const view = { poolAddress, taker, depth };
      const window = new LevelWindow(market.book, view, hash);
      const told = { bid: new Map<bigint, string>(), ask: new Map<bigint, string>() };
      for (const changes of script) {
        const touched = { bid: new Set<bigint>(), ask: new Set<bigint>() };
        for (const each of changes) {
          const price = market.set(each);
          if (each.whose === ZERO_ADDRESS || each.whose === taker) touched[each.side].add(price);
        }
        for (const side of SIDES) {
          for (const { price, size, count } of window.follow(side, touched[side])) {
            if (count === 0) told[side].delete(price);
            else told[side].set(price, `${size} in ${count}`);
          }
        }
        const opened = new LevelWindow(market.book, view, hash);
        if (window.hash !== opened.hash) throw new Error('another hash');
        for (const side of SIDES) {
          const levels = opened.levels(side);
          const isSame = levels.every(({ price, size, count }) => told[side].get(price) === `${size} in ${count}`);
          if (!isSame || told[side].size !== levels.length) throw new Error('other levels');
        }
      }
    }),
    { numRuns: 300, endOnFailure: true },
  );
});

t.test(
  'a level that enters a window with room is published, though counted twice its levels exceed the limit',
  async (t) => {
    const market = new Market();
    const view = { poolAddress, taker: TAKER, depth: 3 };
    for (const whose of [ZERO_ADDRESS, TAKER]) {
      for (const price of [0, 1]) market.set({ price, whose, side: 'ask', left: 1 });
    }
    const window = new LevelWindow(market.book, view, hash);
    const price = market.set({ price: 2, whose: ZERO_ADDRESS, side: 'ask', left: 1 });
    t.strictSame(window.follow('ask', new Set([price])), [{ price, size: 1n, count: 1 }]);
  },
);
