import type {
  ChainPosition,
  ChainRole,
  Command,
  EarlyEvent,
  FillBounds,
  FillQuote,
  QuoteState,
  SignedNonce,
  Stamp,
  WithdrawalReason,
} from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Cause, EngineEvent, QuoteRemoved } from '../../src/engine/event.js';
import type { LevelTotal } from '../../src/engine/order-book.js';
import type { DeployedPool } from '../../src/engine/pool-registry.js';
import type * as query from '../../src/engine/queries.js';
import {
  type Hex,
  type InvalidReason,
  type Order,
  type Origin,
  type Pool,
  type Quote,
  sideOf,
  ZERO_ADDRESS,
} from '../../src/engine/quote.js';

/** The part of an engine that suites use, so that they run on this one and on the real one. */
export type EngineUnderTest = Pick<
  Engine,
  | 'apply'
  | 'get'
  | 'cover'
  | 'privateQuotes'
  | 'orders'
  | 'ordersOf'
  | 'quotedPools'
  | 'providers'
  | 'levels'
  | 'levelAt'
  | 'pool'
  | 'pools'
  | 'positions'
  | 'touchedSince'
  | 'nextDueMs'
  | 'withdrawal'
  | 'isSpent'
>;

interface NaiveOrder extends Order {
  readonly quote: Quote;
  fillableSize: bigint;
  state: Order['state'];
  reason: InvalidReason | null;
  touched: number;
  read: number;
}

interface NaiveChain {
  position: ChainPosition | null;
  /** Every block number read on the present branch. */
  read: number[];
  floor: number;
}

/** An event before it has its number. */
type Unnumbered = EngineEvent extends infer E ? (E extends EngineEvent ? Omit<E, 'seq'> : never) : never;

/**
 * The rules once more, with one sorted array of everything and a scan for each question: slow, and plainly right. It is
 * what the real engine is compared with.
 */
export class NaiveEngine implements EngineUnderTest {
  readonly #reorgDepth: number;
  readonly #chains: Record<ChainRole, NaiveChain> = {
    stream: { position: null, read: [], floor: -1 },
    settlement: { position: null, read: [], floor: -1 },
  };
  /** All that is known, oldest first. */
  #known: NaiveOrder[] = [];
  #pools: DeployedPool[] = [];
  #withdrawn: { readonly quoteId: Hex; readonly provider: Hex; readonly due: number }[] = [];
  #spent: { readonly provider: Hex; readonly nonce: bigint; readonly deadline: number }[] = [];
  #limits: {
    readonly provider: Hex;
    readonly poolAddress: Hex;
    readonly until: number;
    readonly bounds: FillBounds;
    fills: { readonly block: number; readonly time: number; readonly size: bigint }[];
  }[] = [];
  #now = 0;
  #seq = 0;
  #events: EngineEvent[] = [];

  constructor(reorgDepth: number) {
    this.#reorgDepth = reorgDepth;
  }

  apply(command: Command, stamp: Stamp): EngineEvent[] {
    this.#events = [];
    this.#now = Math.floor(stamp.tsMs / 1000);
    this.#expire();
    this.#run(command);
    const { floor } = this.#chains.settlement;
    for (const order of this.#known) if (order.touched <= floor) order.touched = order.read = -1;
    const isFinal = (order: NaiveOrder) => order.state === 'gone' && order.touched <= floor;
    const final = this.#known.filter(isFinal).map(({ quote }) => quote.quoteId);
    this.#known = this.#known.filter((order) => !isFinal(order));
    this.#withdrawn = this.#withdrawn.filter(({ quoteId }) => !final.includes(quoteId));
    return this.#events;
  }

  #expire(): void {
    const due = this.#known.filter(({ quote }) => isExpired(quote, this.#now));
    due.sort((a, b) => dueOf(a.quote) - dueOf(b.quote) || byAge(a, b));
    for (const order of due) {
      if (order.state !== 'gone') this.#remove(order, 'EXPIRED', null);
      this.#forget(order);
    }
    this.#pools = this.#pools.filter(({ pool }) => this.#now < pool.poolKey.maturity);
    this.#withdrawn = this.#withdrawn.filter((withdrawn) => withdrawn.due > this.#now);
    this.#spent = this.#spent.filter(({ deadline }) => deadline >= this.#now);
    this.#limits = this.#limits.filter(({ until }) => until > this.#now);
  }

  #run(command: Command): void {
    switch (command.type) {
      case 'ENTER_QUOTE': {
        const { quote, state, settlementBlock, position } = command;
        this.#advance(position);
        if (this.#find(quote.quoteId) !== undefined || isExpired(quote, this.#now)) return;
        const order: NaiveOrder = {
          quote,
          fillableSize: state.fillableSize,
          state: this.#stateOf(quote.quoteId, state),
          reason: state.fillableSize === 0n ? null : state.reason,
          touched: settlementBlock,
          read: settlementBlock,
        };
        this.#known = [...this.#known, order].sort(byAge);
        if (this.withdrawal(quote.quoteId) !== undefined) return;
        const { early = [] } = command;
        if (early.length > 0) return this.#replay(order, early, state);
        if (order.state === 'gone') return;
        const { fillableSize, reason } = order;
        this.#tell({ type: 'QUOTE_POSTED', cause: because('stream', quote.origin), order, fillableSize, reason });
        return;
      }
      case 'FILL_QUOTE':
        this.#fill(command);
        return this.#guard(command);
      case 'CANCEL_QUOTE': {
        this.#advance(command.position);
        const order = this.#find(command.quoteId);
        if (order === undefined || order.state === 'gone') return;
        order.fillableSize = 0n;
        order.touched = Math.max(order.touched, command.origin.blockNumber);
        this.#remove(order, 'CANCELLED', because('settlement', command.origin));
        return;
      }
      case 'SET_VALIDITY': {
        this.#advance(command.position);
        const order = this.#find(command.quoteId);
        if (order === undefined || order.state === 'gone' || command.position.blockNumber < order.touched) return;
        order.touched = command.position.blockNumber;
        this.#setReason(order, command.reason, command.origin && because('settlement', command.origin));
        return;
      }
      case 'DEPLOY_POOL': {
        const { pool, deployedAt, origin, position } = command;
        this.#advance(position);
        if (this.pool(pool.poolAddress) !== undefined || this.#now >= pool.poolKey.maturity) return;
        this.#pools.push({ pool, deployedAt, origin });
        this.#tell({ type: 'POOL_DEPLOYED', cause: because('settlement', origin), pool });
        return;
      }
      case 'REWIND_STREAM': {
        this.#rewind(command.position);
        for (const order of this.#known) {
          if (order.quote.origin.blockNumber <= command.position.blockNumber) continue;
          if (order.state !== 'gone') this.#remove(order, 'REWOUND', null);
          this.#forget(order);
        }
        return;
      }
      case 'REWIND_SETTLEMENT': {
        this.#rewind(command.position);
        for (const limit of this.#limits) {
          limit.fills = limit.fills.filter(({ block }) => block <= command.position.blockNumber);
        }
        if (command.undoesTrades === true) {
          this.#tell({ type: 'TRADES_UNDONE', cause: null, blockNumber: command.position.blockNumber });
        }
        const undone = this.#pools.filter(({ origin }) => origin.blockNumber > command.position.blockNumber);
        undone.sort(
          (a, b) =>
            a.origin.blockNumber - b.origin.blockNumber ||
            a.origin.logIndex - b.origin.logIndex ||
            (a.pool.poolAddress < b.pool.poolAddress ? -1 : 1),
        );
        this.#pools = this.#pools.filter((pool) => !undone.includes(pool));
        for (const { pool } of undone) this.#tell({ type: 'POOL_WITHDRAWN', cause: null, pool });
        for (const { quoteId, state } of command.restated) {
          const order = this.#find(quoteId);
          if (order !== undefined) this.#restate(order, state, command.settlementBlock);
        }
        return;
      }
      case 'ADVANCE_POSITION':
        return this.#advance(command.position);
      case 'PUBLISH_RFQ':
        return this.#tell({ type: 'RFQ_PUBLISHED', cause: null, rfq: command.rfq });
      case 'EXPIRE_QUOTES':
        for (const quoteId of command.quoteIds) {
          const order = this.#find(quoteId);
          if (order === undefined || !isExpired(order.quote, command.second)) continue;
          if (order.state !== 'gone') this.#remove(order, 'EXPIRED', null);
          this.#forget(order);
        }
        return;
      case 'TICK':
        return;
      case 'CANCEL_RFQ':
        // Requests have a model of their own, in rfqs.test.ts.
        return;
      case 'WITHDRAW_QUOTES': {
        const { provider, quoteIds, reason, signed } = command;
        if (!this.#spend(provider, signed)) return;
        for (const quoteId of quoteIds) {
          const order = this.#find(quoteId);
          if (order?.quote.provider === provider) this.#withdraw(order, reason, null);
        }
        return;
      }
      case 'AUTHORIZE_KEY':
        this.#spend(command.provider, command.signed);
        return;
      case 'SET_TIMER':
        // Timers run outside of the engine.
        return;
      case 'SET_FILL_LIMIT': {
        const { provider, poolAddress, until, bounds, signed } = command;
        if (!this.#spend(provider, signed) || until <= this.#now) return;
        this.#limits = this.#limits.filter((limit) => limit.provider !== provider || limit.poolAddress !== poolAddress);
        if (bounds !== null) this.#limits.push({ provider, poolAddress, until, bounds, fills: [] });
        return;
      }
      case 'RESTORE_QUOTES': {
        const { provider, quoteIds, signed } = command;
        if (!this.#spend(provider, signed)) return;
        for (const quoteId of quoteIds) {
          if (this.withdrawal(quoteId)?.provider !== provider) continue;
          this.#withdrawn = this.#withdrawn.filter((withdrawn) => withdrawn.quoteId !== quoteId);
          const order = this.#find(quoteId);
          if (order?.state !== 'withdrawn') continue;
          const { reason, fillableSize } = order;
          order.state = reason === null ? 'live' : 'invalid';
          this.#tell({ type: 'QUOTE_RESTORED', cause: null, order, fillableSize, reason });
        }
        return;
      }
    }
  }

  #fill(command: FillQuote): void {
    this.#advance(command.position);
    const { trade, quoteId, position } = command;
    if (trade !== undefined) {
      const cause = because('settlement', command.origin);
      const made = { ...trade, quoteId, size: command.size, blockHash: position.blockHash };
      this.#tell({ type: 'TRADE_RECORDED', cause, trade: made });
    }
    const order = this.#find(quoteId);
    if (order === undefined || order.state === 'gone') return;
    if (command.origin.blockNumber <= order.read || command.size === 0n) return;
    const size = command.size > order.fillableSize ? order.fillableSize : command.size;
    const valid = order.state === 'live';
    const cause = because('settlement', command.origin);
    order.fillableSize -= size;
    order.touched = Math.max(order.touched, command.origin.blockNumber);
    const filled = { cause, order, fillableSize: order.fillableSize, size };
    if (order.state === 'withdrawn') this.#tell({ type: 'WITHDRAWN_QUOTE_FILLED', ...filled });
    else this.#tell({ type: 'QUOTE_FILLED', ...filled, valid });
    if (order.fillableSize === 0n) this.#remove(order, 'FILLED', cause);
  }

  /** Withdraws all of a provider in a pool once more was filled there than it wants. */
  #guard({ trade, size, origin }: FillQuote): void {
    const limit = this.#limits.find(
      ({ provider, poolAddress }) => provider === trade?.provider && poolAddress === trade.pool.poolAddress,
    );
    if (trade === undefined || limit === undefined) return;
    const { bounds, provider, poolAddress } = limit;
    limit.fills = [...limit.fills, { block: origin.blockNumber, time: trade.time, size }];
    limit.fills = limit.fills.filter(({ time }) => time > trade.time - bounds.seconds);
    const sum = limit.fills.reduce((filled, fill) => filled + fill.size, 0n);
    const isOver =
      (bounds.contracts > 0n && sum > bounds.contracts) || (bounds.fills > 0 && limit.fills.length > bounds.fills);
    if (!isOver) return;
    limit.fills = [];
    for (const order of this.#known) {
      const { quote } = order;
      if (quote.provider !== provider || quote.pool.poolAddress !== poolAddress) continue;
      this.#withdraw(order, 'FILL_LIMIT', because('settlement', origin));
    }
  }

  #withdraw(order: NaiveOrder, reason: WithdrawalReason, cause: Cause | null): void {
    const { quoteId, provider } = order.quote;
    if (this.withdrawal(quoteId) !== undefined) return;
    this.#withdrawn.push({ quoteId, provider, due: dueOf(order.quote) });
    if (order.state === 'gone') return;
    const valid = order.state === 'live';
    order.state = 'withdrawn';
    const { fillableSize } = order;
    this.#tell({ type: 'QUOTE_WITHDRAWN', cause, order, fillableSize, reason, valid });
  }

  #spend(provider: Hex, signed: SignedNonce | null): boolean {
    if (signed === null) return true;
    if (signed.deadline < this.#now || this.isSpent(provider, signed.nonce)) return false;
    this.#spent.push({ provider, ...signed });
    return true;
  }

  #stateOf(quoteId: Hex, to: QuoteState): Order['state'] {
    if (to.fillableSize === 0n) return 'gone';
    if (this.withdrawal(quoteId) !== undefined) return 'withdrawn';
    return to.reason === null ? 'live' : 'invalid';
  }

  withdrawal(quoteId: Hex): { readonly provider: Hex } | undefined {
    return this.#withdrawn.find((withdrawn) => withdrawn.quoteId === quoteId);
  }

  isSpent(provider: Hex, nonce: bigint): boolean {
    return this.#spent.some((spent) => spent.provider === provider && spent.nonce === nonce);
  }

  #restate(order: NaiveOrder, to: QuoteState, settlementBlock: number): void {
    const { state, fillableSize } = order;
    order.touched = order.read = settlementBlock;
    if (to.fillableSize === 0n) {
      order.fillableSize = 0n;
      if (state !== 'gone') this.#remove(order, 'REWOUND', null);
    } else if (state === 'gone' || fillableSize !== to.fillableSize) {
      Object.assign(order, to, { state: this.#stateOf(order.quote.quoteId, to) });
      if (order.state === 'withdrawn') {
        this.#tell({ type: 'WITHDRAWN_QUOTE_RESTATED', cause: null, order, fillableSize: to.fillableSize });
      } else this.#tell({ type: 'QUOTE_RESTATED', cause: null, order, wasValid: state === 'live', ...to });
    } else this.#setReason(order, to.reason, null);
  }

  /** Back to what the order was, then forward to `final` one early event after another. */
  #replay(order: NaiveOrder, early: readonly EarlyEvent[], final: QuoteState): void {
    const { quote } = order;
    const isCancelled = final.fillableSize === 0n && early.some(({ size }) => size === null);
    let filled = 0n;
    for (const { size } of early) filled += size ?? 0n;
    let start = isCancelled ? quote.size : final.fillableSize + filled;
    if (start > quote.size) start = quote.size;
    if (start === 0n) return;
    Object.assign(order, { fillableSize: start, state: 'live', reason: null });
    const posted = { cause: because('stream', quote.origin), order, fillableSize: start, reason: null };
    this.#tell({ type: 'QUOTE_POSTED', ...posted });
    for (const { size, origin } of early) {
      if (order.state === 'gone' || (size === null && !isCancelled)) continue;
      const cause = because('settlement', origin);
      if (size === null) {
        order.fillableSize = 0n;
        this.#remove(order, 'CANCELLED', cause);
        continue;
      }
      const open = order.fillableSize - final.fillableSize;
      const taken = size > open ? open : size;
      if (taken === 0n) continue;
      order.fillableSize -= taken;
      const { fillableSize } = order;
      this.#tell({ type: 'QUOTE_FILLED', cause, order, fillableSize, size: taken, valid: true });
      if (fillableSize === 0n) this.#remove(order, 'FILLED', cause);
    }
    if (order.state === 'live') this.#setReason(order, final.reason, null);
  }

  #setReason(order: NaiveOrder, reason: InvalidReason | null, cause: Cause | null): void {
    const before = order.state;
    const { fillableSize } = order;
    order.reason = reason;
    if (before === 'withdrawn') return;
    order.state = reason === null ? 'live' : 'invalid';
    if (before === 'invalid' && reason === null) this.#tell({ type: 'QUOTE_REVALIDATED', cause, order, fillableSize });
    if (before === 'live' && reason !== null) {
      this.#tell({ type: 'QUOTE_INVALIDATED', cause, order, fillableSize, reason });
    }
  }

  #remove(order: NaiveOrder, why: QuoteRemoved['why'], cause: Cause | null): void {
    const valid = order.state === 'live';
    order.state = 'gone';
    order.reason = null;
    this.#tell({ type: 'QUOTE_REMOVED', cause, order, fillableSize: order.fillableSize, why, valid });
  }

  #forget(order: NaiveOrder): void {
    this.#known = this.#known.filter((other) => other !== order);
  }

  #find(quoteId: Hex): NaiveOrder | undefined {
    return this.#known.find(({ quote }) => quote.quoteId === quoteId);
  }

  #tell(event: Unnumbered): void {
    this.#seq += 1;
    this.#events.push({ ...event, seq: this.#seq });
  }

  #advance(position: ChainPosition): void {
    const chain = this.#chains[position.chain];
    const last = chain.position;
    if (last !== null) {
      if (position.blockNumber < last.blockNumber) return;
      if (position.blockNumber === last.blockNumber) {
        if (position.blockHash !== last.blockHash || logOf(position) <= logOf(last)) return;
      }
    }
    chain.position = position;
    if (!chain.read.includes(position.blockNumber)) chain.read.push(position.blockNumber);
    for (const blockNumber of chain.read) {
      if (blockNumber <= position.blockNumber - this.#reorgDepth) chain.floor = Math.max(chain.floor, blockNumber);
    }
  }

  #rewind(position: ChainPosition): void {
    const chain = this.#chains[position.chain];
    if (position.blockNumber < chain.floor) throw new Error('deeper than reorgDepth');
    chain.position = position;
    chain.read = [...chain.read.filter((blockNumber) => blockNumber < position.blockNumber), position.blockNumber];
  }

  get(quoteId: Hex): Order | undefined {
    return this.#find(quoteId);
  }

  cover({ poolAddress, side, size, provider, taker }: query.CoverTarget): Order[] {
    const found: Order[] = [];
    for (const order of this.#bestFirst({ poolAddress, side, taker: taker ?? null })) {
      if (found.reduce((sum, { fillableSize }) => sum + fillableSize, 0n) >= size) break;
      if (provider === undefined || order.quote.provider === provider) found.push(order);
    }
    return found;
  }

  privateQuotes({ poolAddress, side, taker }: query.PrivateQuery): Order[] {
    return this.#bestFirst({ poolAddress, side, taker }).filter(({ quote }) => quote.taker === taker);
  }

  orders({
    poolAddress,
    side,
    provider,
    taker,
    minFillableSize,
    quoteIds,
    olderThan,
    limit = Infinity,
  }: query.OrdersQuery = {}): query.OrdersResult {
    const found = this.#known.filter(({ quote, fillableSize, state }) => {
      if (state === 'gone' || state === 'withdrawn') return false;
      if (olderThan !== undefined && compareOrigin(quote.origin, olderThan) >= 0) return false;
      if (poolAddress !== undefined && quote.pool.poolAddress !== poolAddress) return false;
      if (side !== undefined && sideOf(quote) !== side) return false;
      if (provider !== undefined && quote.provider !== provider) return false;
      if (minFillableSize !== undefined && fillableSize < minFillableSize) return false;
      if (quoteIds !== undefined && !quoteIds.includes(quote.quoteId)) return false;
      if (quote.taker === ZERO_ADDRESS) return true;
      return taker !== undefined ? quote.taker === taker : quoteIds !== undefined;
    });
    found.reverse();
    const page = found.slice(0, limit);
    const last = page.at(-1)?.quote.origin;
    return {
      valid: page.filter(({ state }) => state === 'live'),
      invalid: page.filter(({ state }) => state === 'invalid'),
      next: last && page.length < found.length ? { blockNumber: last.blockNumber, logIndex: last.logIndex } : null,
    };
  }

  ordersOf(provider: Hex): Order[] {
    return this.#known.filter(({ quote, state }) => quote.provider === provider && state !== 'gone');
  }

  quotedPools(): Pool[] {
    const ofAddress = new Map(this.#known.map(({ quote: { pool } }) => [pool.poolAddress, pool]));
    return [...ofAddress.values()].filter(({ poolAddress }) =>
      this.#known.some(({ quote, state }) => quote.pool.poolAddress === poolAddress && state !== 'gone'),
    );
  }

  providers(): Hex[] {
    return [...new Set(this.#known.filter(({ state }) => state !== 'gone').map(({ quote }) => quote.provider))];
  }

  levels(about: query.LevelsQuery, depth = Infinity): LevelTotal[] {
    const orders = this.#bestFirst(about);
    const prices = [...new Set(orders.map(({ quote }) => quote.price))];
    return prices.slice(0, depth).map((price) => this.levelAt(about, price));
  }

  levelAt(about: query.LevelsQuery, price: bigint): LevelTotal {
    const orders = this.#bestFirst(about).filter(({ quote }) => quote.price === price);
    return { price, size: orders.reduce((sum, order) => sum + order.fillableSize, 0n), count: orders.length };
  }

  pool(poolAddress: Hex): DeployedPool | undefined {
    return this.#pools.find(({ pool }) => pool.poolAddress === poolAddress);
  }

  pools(): DeployedPool[] {
    return this.#pools;
  }

  positions(): { stream: ChainPosition | null; settlement: ChainPosition | null } {
    return { stream: this.#chains.stream.position, settlement: this.#chains.settlement.position };
  }

  touchedSince(blockNumber: number): Order[] {
    return this.#known.filter(({ touched }) => touched > blockNumber && touched > this.#chains.settlement.floor);
  }

  nextDueMs(): number | null {
    const due = this.#known.map(({ quote }) => dueOf(quote));
    due.push(...this.#pools.map(({ pool }) => pool.poolKey.maturity));
    return due.length === 0 ? null : Math.min(...due) * 1000;
  }

  #bestFirst({ poolAddress, side, taker }: query.LevelsQuery): NaiveOrder[] {
    const sign = side === 'ask' ? 1 : -1;
    return this.#known
      .filter(({ quote, state }) => {
        if (state !== 'live' || quote.pool.poolAddress !== poolAddress || sideOf(quote) !== side) return false;
        return quote.taker === ZERO_ADDRESS || quote.taker === taker;
      })
      .sort((a, b) => sign * Number(a.quote.price - b.quote.price) || byAge(a, b));
  }
}

function isExpired(quote: Quote, now: number): boolean {
  return now > quote.deadline || now >= quote.pool.poolKey.maturity;
}

function dueOf(quote: Quote): number {
  return Math.min(quote.deadline + 1, quote.pool.poolKey.maturity);
}

function byAge(a: Order, b: Order): number {
  const [x, y] = [a.quote.origin, b.quote.origin];
  return x.blockNumber - y.blockNumber || x.logIndex - y.logIndex || (a.quote.quoteId < b.quote.quoteId ? -1 : 1);
}

function logOf(position: ChainPosition): number {
  return position.logIndex ?? Infinity;
}

function because(chain: ChainRole, { blockNumber, txHash, logIndex }: Origin): Cause {
  return { chain, blockNumber, txHash, logIndex };
}

function compareOrigin(a: query.Age, b: query.Age): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}
