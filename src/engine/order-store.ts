import { assert } from './assert.js';
import { OrderIndex } from './order-index.js';
import { BookOrder, compareAge, dueSecond, type ListedOrder, NO_BLOCK, OrderBook } from './order-book.js';
import type { Hex, InvalidReason, Quote } from './quote.js';
import { MultisetHash, type WordHasher } from './state-hash.js';
import { TimeIndex } from './time-index.js';
import { Withdrawal, Withdrawals } from './withdrawals.js';

/**
 * Every order that is known, gone ones too, each in the indexes that time and reorgs ask for. An order that is gone is
 * kept only while a reorg could undo the settlement block that last touched it.
 */
export class OrderStore {
  readonly book = new OrderBook();
  /** Over every order that is known, with all that it is. */
  readonly sum = new MultisetHash<BookOrder>(hashOrder);
  readonly withdrawals = new Withdrawals();
  readonly #orders: OrderIndex<BookOrder>;
  readonly #byDue = new TimeIndex<BookOrder>((order, place) => (order.placeByDue = place));
  /** By the stream block that published them, while that block can be undone. */
  readonly #byOrigin = new TimeIndex<BookOrder>((order, place) => (order.placeByOrigin = place));
  /** By the settlement block that last touched them, while that block can be undone. */
  readonly #byTouch = new TimeIndex<BookOrder>((order, place) => (order.placeByTouch = place));
  #streamFloor = NO_BLOCK;
  #settlementFloor = NO_BLOCK;

  /** `idSalt`: see OrderIndex. */
  constructor(idSalt = 0) {
    this.#orders = new OrderIndex<BookOrder>(idSalt);
  }

  get(quoteId: Hex): BookOrder | undefined {
    return this.#orders.get(quoteId);
  }

  all(): OrderIndex<BookOrder> {
    return this.#orders;
  }

  get nextDue(): number | undefined {
    return this.#byDue.lowest;
  }

  /** Makes an order known; it is gone until `set` says otherwise. */
  add(quote: Quote): BookOrder {
    const order = new BookOrder(quote);
    order.isWithdrawn = this.withdrawals.has(quote.quoteId);
    this.#orders.add(order);
    this.sum.markChanged(order);
    order.placeByDue = this.#byDue.add(order.due, order);
    if (order.blockNumber > this.#streamFloor) order.placeByOrigin = this.#byOrigin.add(order.blockNumber, order);
    return order;
  }

  /**
   * Settlement block `blockNumber` decided what is fillable, or why not; `read`: at its end, the whole state was read.
   */
  set(order: BookOrder, fillableSize: bigint, reason: InvalidReason | null, blockNumber: number, read: boolean): void {
    this.book.set(order, fillableSize, reason);
    this.sum.markChanged(order);
    const touchedBlock = read ? blockNumber : Math.max(blockNumber, order.touchedBlock);
    if (read) order.readBlock = blockNumber;
    this.#touch(order, touchedBlock);
  }

  /** Hides an order that is not withdrawn. */
  withdraw(order: ListedOrder): void {
    const { quoteId, provider } = order.quote;
    this.withdrawals.add(new Withdrawal(quoteId, provider, dueSecond(order.quote)));
    order.isWithdrawn = true;
    this.book.set(order, order.fillableSize, order.reason);
  }

  /** Shows a withdrawn order again, as what the chain has made of it. */
  show(order: BookOrder): void {
    this.withdrawals.remove(order.quote.quoteId);
    order.isWithdrawn = false;
    this.book.set(order, order.fillableSize, order.reason);
  }

  /** Every order that time has run out for, gone ones too, first due and oldest first; they are no longer known. */
  takeDue(nowSeconds: number): BookOrder[] {
    const due = this.#byDue.takeThrough(nowSeconds);
    return due.length > 1 ? due.sort(compareDue) : due;
  }

  /** Orders that `takeDue` would take then, at most `most` and no certain ones, first due and oldest first. */
  dueBy(nowSeconds: number, most: number): BookOrder[] {
    return this.#byDue.through(nowSeconds, most).sort(compareDue);
  }

  /** Whether `takeDue` would take more than `most` then. */
  hasMoreDueBy(nowSeconds: number, most: number): boolean {
    return this.#byDue.hasMoreThrough(nowSeconds, most);
  }

  /** Oldest first. */
  publishedAfter(blockNumber: number): BookOrder[] {
    return this.#byOrigin.above(blockNumber).sort(compareAge);
  }

  /** Oldest first. */
  touchedAfter(blockNumber: number): BookOrder[] {
    return this.#byTouch.above(blockNumber).sort(compareAge);
  }

  /** Orders that a reorg may bring back, and that settlement blocks after this one touched last; in no particular order. */
  goneAfter(blockNumber: number): BookOrder[] {
    return this.#byTouch.above(blockNumber).filter(({ state }) => state === 'gone');
  }

  /** Takes an order out of everything but the withdrawals. It keeps the size it had. */
  forget(order: BookOrder): void {
    this.book.takeOut(order);
    this.sum.remove(order);
    this.#orders.remove(order);
    this.#byDue.remove(order.due, order.placeByDue);
    this.#byOrigin.remove(order.blockNumber, order.placeByOrigin);
    this.#byTouch.remove(order.touchedBlock, order.placeByTouch);
  }

  /** No reorg of the stream chain goes below `floor` any more. */
  finalizeStream(floor: number): void {
    if (floor === this.#streamFloor) return;
    this.#streamFloor = floor;
    this.#byOrigin.takeThrough(floor);
  }

  /** No reorg of the settlement chain goes below `floor` any more: what is gone by then stays gone. */
  finalizeSettlement(floor: number): void {
    if (floor === this.#settlementFloor) return;
    this.#settlementFloor = floor;
    for (const order of this.#byTouch.takeThrough(floor)) this.#settle(order);
  }

  /** Puts an order of a snapshot back as it was. */
  restore(order: BookOrder, fillableSize: bigint, reason: InvalidReason | null): void {
    this.book.set(order, fillableSize, reason);
    if (order.touchedBlock !== NO_BLOCK) order.placeByTouch = this.#byTouch.add(order.touchedBlock, order);
  }

  checkInvariants(): void {
    let listed = 0;
    let undoable = 0;
    for (const order of this.#orders) {
      assert(this.#orders.get(order.quote.quoteId) === order, 'an order is known by its own id');
      assert(order.isWithdrawn === this.withdrawals.has(order.quote.quoteId), 'an order knows that it is withdrawn');
      assert(this.#byDue.has(order.due, order.placeByDue, order), 'every known order has its due time');
      assert(
        this.#byOrigin.has(order.blockNumber, order.placeByOrigin, order) === order.blockNumber > this.#streamFloor,
        'an order is listed by its publication just while that can be undone',
      );
      const touched = order.touchedBlock !== NO_BLOCK;
      const isListed = this.#byTouch.has(order.touchedBlock, order.placeByTouch, order);
      assert(isListed === touched, 'an order is listed by what touched it');
      assert(!touched || order.touchedBlock > this.#settlementFloor, 'what is final is not listed as touched');
      assert(order.readBlock <= order.touchedBlock, 'reading a state touches the order');
      assert(touched || order.state !== 'gone', 'an order that is gone for good is forgotten');
      assert((order.state === 'gone') === (order.fillableSize === 0n), 'just the gone orders have nothing fillable');
      if (order.state !== 'gone') listed += 1;
      if (touched) undoable += 1;
    }
    assert(this.book.checkInvariants() === listed, 'the book lists just the orders that are not gone');
    assert(this.#byDue.count() === this.#orders.size, 'just the known orders have a due time');
    assert(this.#byTouch.count() === undoable, 'just known orders are listed as touched');
  }

  #touch(order: BookOrder, blockNumber: number): void {
    if (order.touchedBlock !== blockNumber) {
      this.#byTouch.remove(order.touchedBlock, order.placeByTouch);
      order.touchedBlock = blockNumber;
      if (blockNumber > this.#settlementFloor) order.placeByTouch = this.#byTouch.add(blockNumber, order);
    }
    if (blockNumber <= this.#settlementFloor) this.#settle(order);
  }

  /** Marks the last change of the order as final. */
  #settle(order: BookOrder): void {
    order.touchedBlock = NO_BLOCK;
    order.readBlock = NO_BLOCK;
    this.sum.markChanged(order);
    if (order.state !== 'gone') return;
    this.forget(order);
    if (order.isWithdrawn) this.withdrawals.remove(order.quote.quoteId);
  }
}

/**
 * An order as the state sum has it: what it is by its id, when it came, and what became of it. The id is the digest of
 * all that the maker signed, so that looking at the rest of the quote would find little more, and take five times as
 * long: a dozen strings that are in no cache.
 */
function hashOrder(order: BookOrder, hasher: WordHasher): void {
  const { quoteId, ts } = order.quote;
  hasher.begin();
  hasher.hex(quoteId);
  hasher.count(ts);
  hasher.count(order.blockNumber);
  hasher.count(order.logIndex);
  hasher.amount(order.fillableSize);
  hasher.word(order.reason ?? 0);
  hasher.count(order.touchedBlock);
  hasher.count(order.readBlock);
}

function compareDue(a: BookOrder, b: BookOrder): number {
  return a.due - b.due || compareAge(a, b);
}
