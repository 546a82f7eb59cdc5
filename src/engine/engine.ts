import { assert } from './assert.js';
import { ChainTrail, type TrailBlock } from './chain-trail.js';
import type { ChainPosition, ChainRole, Command, Stamp } from './command.js';
import type { EngineEvent } from './event.js';
import { type LevelTotal, type ListedOrder, NO_BLOCK } from './order-book.js';
import { OrderStore } from './order-store.js';
import { type DeployedPool, PoolRegistry } from './pool-registry.js';
import * as query from './queries.js';
import type { Hex, Order, Pool } from './quote.js';
import { Protections } from './protections.js';
import { RfqStore } from './rfq-store.js';
import { StateMachine } from './state-machine.js';
import { type EngineParts, type EngineState, exportParts, hashParts, importParts, sumParts } from './state-rows.js';

export interface EngineOptions {
  /** Blocks of either chain that a reorg may undo, at least 1. A log is replayed with the depth it was written with. */
  readonly reorgDepth: number;
  /** Hex digest of a text, for `stateHash`. */
  readonly sha256: (text: string) => string;
  /** 32 bits that no maker knows, for the index of orders; the state does not depend on them. Absent: 0. */
  readonly idSalt?: number;
}

/**
 * The book as a function of its log: commands in, events out, no clock, no randomness, no I/O. A command that does not
 * apply (a repeated publication, a fill of an unknown quote) gives no event and changes nothing but the position read.
 * The engine throws on bugs alone.
 */
export class Engine {
  readonly #parts: EngineParts;
  readonly #sha256: EngineOptions['sha256'];
  readonly #machine: StateMachine;
  #index = 0;
  #tsMs = 0;

  constructor({ reorgDepth, sha256, idSalt }: EngineOptions) {
    assert(Number.isInteger(reorgDepth) && reorgDepth >= 1, 'reorgDepth counts blocks, from 1');
    this.#sha256 = sha256;
    this.#parts = {
      stream: new ChainTrail(reorgDepth),
      settlement: new ChainTrail(reorgDepth),
      pools: new PoolRegistry(),
      store: new OrderStore(idSalt),
      rfqs: new RfqStore(),
      protections: new Protections(),
    };
    this.#machine = new StateMachine(this.#parts);
  }

  /** Index of the last record applied, 0 before the first. */
  get index(): number {
    return this.#index;
  }

  /** Number of the last event, 0 before the first. */
  get seq(): number {
    return this.#machine.seq;
  }

  /** Engine time of the last record, milliseconds. */
  get tsMs(): number {
    return this.#tsMs;
  }

  /** First lets go of what time has run out for by the stamp, then does what the command says. */
  apply(command: Command, stamp: Stamp): EngineEvent[] {
    assert(stamp.index === this.#index + 1, 'records are applied one after the other');
    assert(stamp.tsMs >= this.#tsMs, 'engine time never goes back');
    this.#index = stamp.index;
    this.#tsMs = stamp.tsMs;
    return this.#machine.run(command, Math.floor(stamp.tsMs / 1000));
  }

  /** The order with that id, also one that is not live (`state` says which); undefined when it is not known. */
  get(quoteId: Hex): Order | undefined {
    return this.#parts.store.get(quoteId);
  }

  /** Best first, just enough to cover the size, or all there is. */
  cover(about: query.CoverTarget): Order[] {
    return query.cover(this.#parts.store.book, about);
  }

  /** Quotes private to a taker, best first. */
  privateQuotes(about: query.PrivateQuery): Order[] {
    return query.privateQuotes(this.#parts.store.book, about);
  }

  /** Live and invalid orders by any mix of filters, newest first. */
  orders(about: query.OrdersQuery = {}): query.OrdersResult {
    return query.orders(this.#parts.store, about);
  }

  /** The withdrawal of a quote; undefined: it is not withdrawn. The quote need not be known. */
  withdrawal(quoteId: Hex): { readonly provider: Hex } | undefined {
    return this.#parts.store.withdrawals.get(quoteId);
  }

  /** Whether a command with that nonce changes nothing, because the provider has signed with it before. */
  isSpent(provider: Hex, nonce: bigint): boolean {
    return this.#parts.store.withdrawals.isSpent(provider, nonce);
  }

  /** Nonces that are kept until their deadlines: of the provider, and of all. */
  spentNonces(provider: Hex): { readonly ofProvider: number; readonly total: number } {
    const { withdrawals } = this.#parts.store;
    return { ofProvider: withdrawals.noncesOf(provider), total: withdrawals.nonceCount };
  }

  /** Of the nonces that are kept of a provider, or of all (null), Unix seconds; Infinity: there are none. */
  nearestNonceDeadline(provider: Hex | null): number {
    return this.#parts.store.withdrawals.nearestDeadline(provider);
  }

  /** Authorisations of keys by providers, with their timers, and fill limits. */
  get protections(): Pick<
    Protections,
    'authorization' | 'authorizations' | 'authorizationsOf' | 'authorizationsTo' | 'limitsOf' | 'counts'
  > {
    return this.#parts.protections;
  }

  /**
   * Quotes of a maker that are not withdrawn, at most `most`: first those of the book, then gone ones, which a reorg may
   * bring back. Every timer asks, so it reads the maker's quotes and those of the last blocks, not the whole book.
   */
  notWithdrawnOf(provider: Hex, most: number): Hex[] {
    const { store } = this.#parts;
    const found: Hex[] = [];
    const take = (orders: Iterable<ListedOrder>): void => {
      for (const { quote, isWithdrawn } of orders) {
        if (found.length === most) return;
        if (!isWithdrawn && quote.provider === provider) found.push(quote.quoteId);
      }
    };
    take(store.book.provider(provider) ?? []);
    if (found.length < most) take(store.goneAfter(NO_BLOCK));
    return found;
  }

  /** How many orders `orders` reads. */
  candidateCount(about: query.OrdersQuery): number {
    return query.candidateCount(this.#parts.store, about);
  }

  /** Live, invalid and withdrawn orders of a maker, in no particular order. */
  ordersOf(provider: Hex): Iterable<Order> {
    return this.#parts.store.book.provider(provider) ?? [];
  }

  /** Live, invalid and withdrawn orders of a pool, public and private, in no particular order. */
  ordersIn(poolAddress: Hex): Iterable<Order> {
    return this.#parts.store.book.pool(poolAddress)?.orders ?? [];
  }

  /** Every live, invalid or withdrawn order. */
  *known(): Iterable<Order> {
    for (const { orders } of this.#parts.store.book.pools()) yield* orders;
  }

  /** Pools with live, invalid or withdrawn orders. */
  *quotedPools(): Iterable<Pool> {
    for (const { pool } of this.#parts.store.book.pools()) yield pool;
  }

  /** Makers with live, invalid or withdrawn orders. */
  providers(): Iterable<Hex> {
    return this.#parts.store.book.providers();
  }

  /** Price levels of a side, best first. */
  levels(about: query.LevelsQuery, depth = Infinity): LevelTotal[] {
    return query.levels(this.#parts.store.book, about, depth);
  }

  /** One price level of a side; all zeros when it is empty. */
  levelAt(about: query.LevelsQuery, price: bigint): LevelTotal {
    return query.levelAt(this.#parts.store.book, about, price);
  }

  /** The pool when it is deployed and has not matured. */
  pool(poolAddress: Hex): DeployedPool | undefined {
    return this.#parts.pools.get(poolAddress);
  }

  /** Whether the pool is deployed and has not matured. */
  hasPool(poolAddress: Hex): boolean {
    return this.#parts.pools.has(poolAddress);
  }

  /** Pools that are deployed and have not matured. */
  pools(): Iterable<DeployedPool> {
    return this.#parts.pools.all();
  }

  /** Requests for quotes: those that are live, and the last of the others. */
  get rfqs(): Pick<RfqStore, 'get' | 'all' | 'liveCount' | 'liveCountOf'> {
    return this.#parts.rfqs;
  }

  /** How far each chain is read; null before its first block. */
  positions(): { readonly stream: ChainPosition | null; readonly settlement: ChainPosition | null } {
    return { stream: this.#parts.stream.position, settlement: this.#parts.settlement.position };
  }

  /** Blocks a chain was read through, oldest first: what a common ancestor is looked for among. */
  trail(chain: ChainRole): readonly TrailBlock[] {
    return this.#parts[chain].blocks;
  }

  /**
   * Orders, removed ones too, that settlement blocks after `blockNumber` touched, oldest first. A rewind to that block
   * states all of them anew. A second call just before the rewind shows whether more came while they were read.
   */
  touchedSince(blockNumber: number): Order[] {
    return this.#parts.store.touchedAfter(blockNumber);
  }

  /** Of these, the ones that are gone, in no particular order. */
  goneSince(blockNumber: number): Order[] {
    return this.#parts.store.goneAfter(blockNumber);
  }

  /** Engine time in milliseconds at which a quote, a pool or a request next expires; null when nothing is left to. */
  nextDueMs(): number | null {
    const { store, pools, rfqs } = this.#parts;
    const due = Math.min(store.nextDue ?? Infinity, pools.nextMaturity ?? Infinity, rfqs.nextDue ?? Infinity);
    return due === Infinity ? null : due * 1000;
  }

  /** Orders that will be due at that Unix second, gone ones too: at most `most` and no certain ones, first due first. */
  dueBy(second: number, most: number): Order[] {
    return this.#parts.store.dueBy(second, most);
  }

  /** Whether more orders than `most` will be due at that Unix second. */
  hasMoreDueBy(second: number, most: number): boolean {
    return this.#parts.store.hasMoreDueBy(second, most);
  }

  /**
   * Hex digest of everything that the engine will answer or do about quotes and pools, leaving out what only counts
   * records and events.
   */
  stateHash(): string {
    return hashParts(this.#parts, this.#sha256);
  }

  /**
   * Hex digest of what the engine goes by, in time that goes with what changed since the last call and not with the
   * book: 0.3 us for each order. It is for finding faults: unlike with `stateHash`, two states with one sum can be
   * made. docs/reference/log-format.md says what it computes.
   */
  stateSum(): string {
    return sumParts(this.#parts, this.#sha256);
  }

  /**
   * A part of the work of the next `stateSum`, at most `limit` orders; true when no order is left. For a caller that must
   * not hold the event loop for the whole of it.
   */
  prepareSum(limit: number): boolean {
    return this.#parts.store.sum.update(limit);
  }

  exportState(): EngineState {
    return { counters: [this.#index, this.seq, this.#tsMs], ...exportParts(this.#parts) };
  }

  /** Into an engine that has applied nothing yet. */
  importState(state: EngineState): void {
    assert(this.#index === 0 && this.#parts.store.nextDue === undefined, 'a state goes into a new engine');
    [this.#index, this.#machine.seq, this.#tsMs] = state.counters;
    importParts(this.#parts, state);
  }

  /** Walks everything and throws when two parts disagree. For tests: it takes time in proportion to the book. */
  checkInvariants(): void {
    this.#parts.store.checkInvariants();
    this.#parts.stream.checkInvariants();
    this.#parts.settlement.checkInvariants();
    assert((this.nextDueMs() ?? Infinity) > this.#tsMs - (this.#tsMs % 1000), 'nothing is kept past its time');
  }
}
