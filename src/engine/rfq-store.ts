import type { Rfq, RequestTerms } from './command.js';
import type { Cause, EngineEvent, RfqProgress, RfqStatus } from './event.js';
import { type Hex, type Quote, sideOf } from './quote.js';
import { TimeIndex } from './time-index.js';

/** Requests that are kept, finished ones too: beyond that the oldest finished one goes. */
const MOST_KEPT = 4096;
/** Quotes that count as answers to one request: beyond that the worst of which nothing is filled does not. */
const MOST_ANSWERS = 32;
/** Fills of one answer that a reorg can undo one by one: beyond that the two oldest count as one. */
const MOST_FILLS = 16;

/** A fill of an answer by the request's taker: one log of the settlement chain. */
export type RfqFill = readonly [blockNumber: number, logIndex: number, size: bigint];

/** A quote that answers a request. It stays for as long as a reorg may bring it back or undo its fills. */
export interface RfqAnswer {
  readonly quoteId: Hex;
  readonly provider: Hex;
  readonly price: bigint;
  fillableSize: bigint;
  /** Whether it is in the book. */
  isLive: boolean;
  /** In the order in which they came. */
  fills: readonly RfqFill[];
}

/** A request for quotes with what became of it. */
export interface RfqState {
  readonly rfq: Rfq;
  readonly terms: RequestTerms;
  /** Unix seconds of engine time. */
  readonly openedAt: number;
  readonly progress: RfqProgress;
  /** Best first, and those that are not in the book last. */
  readonly answers: readonly Readonly<RfqAnswer>[];
}

interface TrackedRfq extends RfqState {
  progress: RfqProgress;
  answers: RfqAnswer[];
  isCancelled: boolean;
  /** Rises from request to request: what happens to several at once happens in this order. */
  readonly ordinal: number;
  /** Place in the index of what is due; null: it is not in there. */
  duePlace: number | null;
}

/** A request as plain positional data. */
export type RfqRow = readonly [
  rfq: Rfq,
  terms: RequestTerms,
  openedAt: number,
  isCancelled: boolean,
  answers: readonly (readonly [
    quoteId: Hex,
    provider: Hex,
    price: bigint,
    fillableSize: bigint,
    isLive: boolean,
    fills: readonly RfqFill[],
  ])[],
];

/** A request that something changed, and what on which chain did. */
export interface RfqChange {
  readonly state: RfqState;
  readonly cause: Cause | null;
}

const LIVE: ReadonlySet<RfqStatus> = new Set(['open', 'quoted', 'partly_filled']);

export function isLiveRfq({ progress }: Pick<RfqState, 'progress'>): boolean {
  return LIVE.has(progress.status);
}

/** The taker that the request is of, also where makers do not see it. */
export function takerOf({ rfq, terms }: Pick<RfqState, 'rfq' | 'terms'>): Hex {
  return terms.taker ?? rfq.taker;
}

/**
 * Requests for quotes, the quotes that answer them, and what was filled of these. It follows the engine's own events,
 * so that the same log gives the same requests.
 */
export class RfqStore {
  /** By id, oldest first. */
  readonly #all = new Map<string, TrackedRfq>();
  /** Live requests by what a quote has to name to answer them, oldest first. */
  readonly #live = new Map<string, TrackedRfq[]>();
  readonly #liveByOwner = new Map<string, number>();
  readonly #byQuote = new Map<Hex, TrackedRfq>();
  readonly #due = new TimeIndex<TrackedRfq>((state, place) => (state.duePlace = place));
  #liveCount = 0;
  #lastOrdinal = 0;

  get liveCount(): number {
    return this.#liveCount;
  }

  /** Unix seconds at which the next request expires. */
  get nextDue(): number | undefined {
    return this.#due.lowest;
  }

  liveCountOf(owner: string): number {
    return this.#liveByOwner.get(owner) ?? 0;
  }

  get(rfqId: string): RfqState | undefined {
    return this.#all.get(rfqId);
  }

  /** Oldest first. */
  all(): Iterable<RfqState> {
    return this.#all.values();
  }

  /** False: there is one with that id. */
  open(rfq: Rfq, terms: RequestTerms, openedAt: number): boolean {
    if (this.#all.has(terms.rfqId)) return false;
    this.#add(this.#tracked(rfq, terms, openedAt, false, []));
    this.#dropOldest();
    return true;
  }

  /** Undefined: it is not live, and nothing changes. */
  cancel(rfqId: string, nowSeconds: number): RfqChange | undefined {
    const state = this.#all.get(rfqId);
    if (state === undefined || !isLiveRfq(state) || state.terms.validUntil <= nowSeconds) return undefined;
    state.isCancelled = true;
    this.#forgetDue(state);
    this.#refresh(state, nowSeconds);
    return { state, cause: null };
  }

  /** Takes the events of a record in order, and lets go of what is due. Returns what they changed, each request once. */
  follow(events: readonly EngineEvent[], nowSeconds: number): RfqChange[] {
    if (this.#all.size === 0) return [];
    const touched = new Map<TrackedRfq, Cause | null>();
    const touch = (state: TrackedRfq, cause: Cause | null): void => {
      if (!touched.has(state)) touched.set(state, cause);
    };
    for (const event of events) {
      if (event.type === 'TRADES_UNDONE') {
        for (const state of this.#undo(event.blockNumber)) touch(state, null);
        continue;
      }
      const quoteId = quoteIdOf(event);
      if (quoteId === null) continue;
      const state = this.#byQuote.get(quoteId) ?? this.#requestAnsweredBy(event, nowSeconds);
      if (state === undefined) continue;
      this.#apply(state, event);
      touch(state, event.cause);
    }
    const due = this.#due.takeThrough(nowSeconds).sort((a, b) => a.ordinal - b.ordinal);
    for (const state of due) {
      state.duePlace = null;
      touch(state, null);
    }
    const changes: RfqChange[] = [];
    for (const [state, cause] of touched) if (this.#refresh(state, nowSeconds)) changes.push({ state, cause });
    return changes;
  }

  exportRows(): RfqRow[] {
    return [...this.#all.values()].map(({ rfq, terms, openedAt, isCancelled, answers }) => {
      const rows = answers.map(
        (each) => [each.quoteId, each.provider, each.price, each.fillableSize, each.isLive, each.fills] as const,
      );
      return [rfq, terms, openedAt, isCancelled, rows] as const;
    });
  }

  /** Into a new store. */
  importRows(rows: readonly RfqRow[], nowSeconds: number): void {
    for (const [rfq, terms, openedAt, isCancelled, answerRows] of rows) {
      const answers = answerRows.map(([quoteId, provider, price, fillableSize, isLive, fills]) => {
        return { quoteId, provider, price, fillableSize, isLive, fills };
      });
      const state = this.#tracked(rfq, terms, openedAt, isCancelled, answers);
      this.#add(state);
      for (const { quoteId } of answers) this.#byQuote.set(quoteId, state);
      if (isCancelled || terms.validUntil <= nowSeconds) this.#forgetDue(state);
      this.#refresh(state, nowSeconds);
    }
  }

  #tracked(rfq: Rfq, terms: RequestTerms, openedAt: number, isCancelled: boolean, answers: RfqAnswer[]): TrackedRfq {
    this.#lastOrdinal += 1;
    const ordinal = this.#lastOrdinal;
    return { rfq, terms, openedAt, progress: NOTHING_YET, answers, isCancelled, ordinal, duePlace: null };
  }

  #add(state: TrackedRfq): void {
    this.#all.set(state.terms.rfqId, state);
    state.duePlace = this.#due.add(state.terms.validUntil, state);
    this.#countLive(state, 1);
  }

  /** The request that a new quote answers: the oldest that its provider has not answered yet, else the newest. */
  #requestAnsweredBy(event: EngineEvent, nowSeconds: number): TrackedRfq | undefined {
    if (event.type !== 'QUOTE_POSTED') return undefined;
    const { quote } = event.order;
    const candidates = this.#live
      .get(matchKey(quote.pool.poolAddress, sideOf(quote), quote.taker))
      ?.filter(({ terms }) => terms.validUntil > nowSeconds && isSelected(terms, quote));
    return (
      candidates?.find(({ answers }) => !answers.some((each) => each.isLive && each.provider === quote.provider)) ??
      candidates?.at(-1)
    );
  }

  #apply(state: TrackedRfq, event: EngineEvent): void {
    if (event.type === 'TRADE_RECORDED') {
      const { trade, cause } = event;
      const answer = state.answers.find(({ quoteId }) => quoteId === trade.quoteId);
      if (answer !== undefined && trade.taker === takerOf(state)) addFill(answer, cause, trade.size);
      return;
    }
    if (!('order' in event)) return;
    const answer = this.#answerOf(state, event.order.quote);
    answer.fillableSize = event.fillableSize;
    switch (event.type) {
      case 'QUOTE_POSTED':
      case 'QUOTE_RESTATED':
      case 'QUOTE_RESTORED':
        answer.isLive = event.reason === null;
        break;
      case 'QUOTE_FILLED':
      case 'WITHDRAWN_QUOTE_FILLED':
        // Only its taker can fill a private quote. A fill before it was known comes without a trade.
        if (state.terms.taker === null && event.cause !== null) addFill(answer, event.cause, event.size);
        break;
      case 'QUOTE_INVALIDATED':
      case 'QUOTE_WITHDRAWN':
      case 'WITHDRAWN_QUOTE_RESTATED':
        answer.isLive = false;
        break;
      case 'QUOTE_REVALIDATED':
        answer.isLive = true;
        break;
      case 'QUOTE_REMOVED':
        answer.isLive = false;
        if (isForgotten(event) && answer.fills.length === 0) this.#removeAnswer(state, answer);
    }
    sortAnswers(state);
    this.#evictWorst(state);
  }

  #answerOf(state: TrackedRfq, { quoteId, provider, price }: Quote): RfqAnswer {
    const known = state.answers.find((answer) => answer.quoteId === quoteId);
    if (known !== undefined) return known;
    const answer: RfqAnswer = { quoteId, provider, price, fillableSize: 0n, isLive: false, fills: [] };
    state.answers.push(answer);
    this.#byQuote.set(quoteId, state);
    return answer;
  }

  /** Returns those that lose a fill, oldest first. */
  #undo(blockNumber: number): TrackedRfq[] {
    return [...this.#all.values()].filter(({ answers }) => {
      const undone = answers.filter(({ fills }) => fills.some(([block]) => block > blockNumber));
      for (const answer of undone) answer.fills = answer.fills.filter(([block]) => block <= blockNumber);
      return undone.length > 0;
    });
  }

  #evictWorst(state: TrackedRfq): void {
    if (state.answers.length <= MOST_ANSWERS) return;
    const worst = state.answers.findLast(({ fills }) => fills.length === 0);
    if (worst !== undefined) this.#removeAnswer(state, worst);
  }

  #removeAnswer(state: TrackedRfq, answer: RfqAnswer): void {
    state.answers.splice(state.answers.indexOf(answer), 1);
    this.#byQuote.delete(answer.quoteId);
  }

  /** True: it is not what it was. */
  #refresh(state: TrackedRfq, nowSeconds: number): boolean {
    const before = state.progress;
    const after = progressOf(state, nowSeconds);
    if (isEqual(before, after)) return false;
    if (LIVE.has(before.status) !== LIVE.has(after.status)) this.#countLive(state, LIVE.has(after.status) ? 1 : -1);
    state.progress = after;
    return true;
  }

  #countLive(state: TrackedRfq, change: 1 | -1): void {
    const { owner } = state.terms;
    this.#liveCount += change;
    const ofOwner = this.liveCountOf(owner) + change;
    if (ofOwner === 0) this.#liveByOwner.delete(owner);
    else this.#liveByOwner.set(owner, ofOwner);
    const key = matchKey(state.rfq.poolAddress, state.rfq.side, state.rfq.taker);
    const others = (this.#live.get(key) ?? []).filter((other) => other !== state);
    const all = change === 1 ? [...others, state].sort((a, b) => a.ordinal - b.ordinal) : others;
    if (all.length === 0) this.#live.delete(key);
    else this.#live.set(key, all);
  }

  #forgetDue(state: TrackedRfq): void {
    if (state.duePlace !== null) this.#due.remove(state.terms.validUntil, state.duePlace);
    state.duePlace = null;
  }

  #dropOldest(): void {
    if (this.#all.size <= MOST_KEPT) return;
    for (const state of this.#all.values()) {
      if (isLiveRfq(state)) continue;
      this.#forgetDue(state);
      this.#all.delete(state.terms.rfqId);
      for (const { quoteId } of state.answers) this.#byQuote.delete(quoteId);
      return;
    }
  }
}

function sortAnswers({ rfq, answers }: TrackedRfq): void {
  const isAsk = rfq.side === 'ask';
  // Stable: of equal prices the one that is in the book for longer is first.
  answers.sort((a, b) => {
    if (a.isLive !== b.isLive) return a.isLive ? -1 : 1;
    if (a.price === b.price) return 0;
    return a.price < b.price === isAsk ? -1 : 1;
  });
}

/** Of a request that has just been published. */
export const NOTHING_YET: RfqProgress = { status: 'open', filledSize: 0n, quotes: 0, best: null };

function progressOf(state: TrackedRfq, nowSeconds: number): RfqProgress {
  const { answers, rfq, terms, isCancelled } = state;
  const filledSize = answers.reduce((sum, answer) => sum + filledOf(answer), 0n);
  const quotes = answers.filter(({ isLive }) => isLive).length;
  const [first] = answers;
  const best =
    first?.isLive === true ? { quoteId: first.quoteId, price: first.price, fillableSize: first.fillableSize } : null;
  const isOver = terms.validUntil <= nowSeconds;
  return { status: statusOf(isCancelled, filledSize, rfq.size, isOver, quotes), filledSize, quotes, best };
}

function statusOf(isCancelled: boolean, filled: bigint, size: bigint, isOver: boolean, quotes: number): RfqStatus {
  if (isCancelled) return 'cancelled';
  // A quote that came in time can be filled later, too.
  if (filled >= size) return 'filled';
  if (isOver) return 'expired';
  if (filled > 0n) return 'partly_filled';
  return quotes > 0 ? 'quoted' : 'open';
}

function isEqual(a: RfqProgress, b: RfqProgress): boolean {
  return (
    a.status === b.status &&
    a.filledSize === b.filledSize &&
    a.quotes === b.quotes &&
    a.best?.quoteId === b.best?.quoteId &&
    a.best?.fillableSize === b.best?.fillableSize
  );
}

/** 1e-18 contracts that the request's taker took of it. */
function filledOf({ fills }: RfqAnswer): bigint {
  return fills.reduce((sum, [, , size]) => sum + size, 0n);
}

/** A log counts once, whichever events tell of it. */
function addFill(answer: RfqAnswer, { blockNumber, logIndex }: Cause, size: bigint): void {
  if (answer.fills.some(([block, index]) => block === blockNumber && index === logIndex)) return;
  const fills: RfqFill[] = [...answer.fills, [blockNumber, logIndex, size]];
  const [first, second, ...others] = fills;
  answer.fills =
    fills.length > MOST_FILLS && first !== undefined && second !== undefined
      ? [[second[0], second[1], first[2] + second[2]], ...others]
      : fills;
}

function quoteIdOf(event: EngineEvent): Hex | null {
  if (event.type === 'TRADE_RECORDED') return event.trade.quoteId;
  return 'order' in event ? event.order.quote.quoteId : null;
}

/** The engine keeps nothing of it that a reorg could restore. */
function isForgotten({ why, fillableSize }: Extract<EngineEvent, { type: 'QUOTE_REMOVED' }>): boolean {
  return why === 'EXPIRED' || (why === 'REWOUND' && fillableSize > 0n);
}

function isSelected({ makers }: RequestTerms, { provider }: Quote): boolean {
  return makers.length === 0 || makers.includes(provider);
}

function matchKey(poolAddress: Hex, side: string, taker: Hex): string {
  return `${poolAddress}:${side}:${taker}`;
}
