import { deepStrictEqual as same } from 'node:assert';
import fc from 'fast-check';
import t from 'tap';
import type { Command, RequestTerms } from '../../src/engine/command.js';
import type { EngineEvent, RfqChanged, RfqStatus } from '../../src/engine/event.js';
import { type Hex, sideOf, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { takerOf } from '../../src/engine/rfq-store.js';
import { Driver, pick } from './driver.js';
import { CommandMaker, MAKERS, POOLS, type Step, steps, TAKERS } from './random-commands.js';
import { address, at, enter, newEngine, originAt, POOL, sampleQuote, START, TAKER } from './samples.js';

const RUNS = 300;

type RfqStep =
  | {
      readonly kind: 'open';
      readonly pool: number;
      readonly isBid: boolean;
      readonly taker: number;
      readonly isAnonymous: boolean;
      readonly size: number;
      readonly seconds: number;
      readonly makers: readonly Hex[];
    }
  | { readonly kind: 'cancelRfq'; readonly nth: number };

const rfqSteps: fc.Arbitrary<RfqStep> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('open' as const),
      pool: fc.nat(2),
      isBid: fc.boolean(),
      taker: fc.nat(1),
      isAnonymous: fc.boolean(),
      size: fc.integer({ min: 1, max: 12 }),
      seconds: fc.integer({ min: 1, max: 40 }),
      makers: fc.subarray(MAKERS, { maxLength: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancelRfq' as const), nth: fc.nat(5) }) },
);

/** Requests among all else that happens, in one order. */
const mixedSteps: fc.Arbitrary<(Step | RfqStep)[]> = fc
  .tuple(steps, fc.array(fc.tuple(fc.nat(80), rfqSteps), { maxLength: 12, size: 'max' }))
  .map(([engineSteps, added]) => {
    const mixed: (Step | RfqStep)[] = [...engineSteps];
    for (const [place, step] of added) mixed.splice(Math.min(place, mixed.length), 0, step);
    return mixed;
  });

interface Opened {
  readonly terms: RequestTerms;
  readonly poolAddress: Hex;
  readonly side: 'bid' | 'ask';
  readonly size: bigint;
  readonly taker: Hex;
  /** Places in the history. */
  readonly from: number;
  cancelledAt: number | null;
}

interface Moment {
  readonly second: number;
  readonly event: EngineEvent;
  /** What the event said at once: the engine's order changes later. */
  readonly fillableSize: bigint;
}

/**
 * Says what became of each request by going through everything that ever happened from the start: slow, and by the
 * words of the documentation alone.
 */
class NaiveRfqs {
  readonly opened: Opened[] = [];
  readonly #history: Moment[] = [];

  open(terms: RequestTerms, about: Pick<Opened, 'poolAddress' | 'side' | 'size' | 'taker'>): void {
    this.opened.push({ ...about, terms, from: this.#history.length, cancelledAt: null });
  }

  cancel(rfqId: string, second: number): void {
    const opened = this.opened.find(({ terms }) => terms.rfqId === rfqId);
    const status = this.states(second).get(rfqId)?.status;
    if (opened !== undefined && isLive(status)) opened.cancelledAt = this.#history.length;
  }

  happened(events: readonly EngineEvent[], second: number): void {
    for (const event of events) {
      this.#history.push({ second, event, fillableSize: 'fillableSize' in event ? event.fillableSize : 0n });
    }
  }

  states(second: number): Map<string, { status: RfqStatus; filledSize: bigint; quotes: number; best: unknown }> {
    const answers = new Map<Hex, { readonly rfqId: string; readonly provider: Hex; price: bigint; left: bigint }>();
    const live = new Set<Hex>();
    /** Of every request, by log of the settlement chain. */
    const fills = new Map<string, { readonly rfqId: string; readonly block: number; readonly size: bigint }>();
    const filledOf = (rfqId: string): bigint =>
      [...fills.values()].reduce((sum, fill) => (fill.rfqId === rfqId ? sum + fill.size : sum), 0n);
    const liveOf = (rfqId: string) => [...live].filter((quoteId) => answers.get(quoteId)?.rfqId === rfqId);

    for (const [place, { second: now, event, fillableSize }] of this.#history.entries()) {
      if (event.type === 'TRADES_UNDONE') {
        for (const [log, { block }] of fills) if (block > event.blockNumber) fills.delete(log);
      }
      if (event.type === 'TRADE_RECORDED') {
        const rfqId = answers.get(event.trade.quoteId)?.rfqId;
        const opened = this.opened.find(({ terms }) => terms.rfqId === rfqId);
        if (opened === undefined || rfqId === undefined) continue;
        const { blockNumber, logIndex } = event.cause;
        const log = `${event.trade.quoteId} ${blockNumber} ${logIndex}`;
        const isOwn = event.trade.taker === (opened.terms.taker ?? opened.taker);
        if (isOwn && !fills.has(log)) fills.set(log, { rfqId, block: blockNumber, size: event.trade.size });
      }
      if (!('order' in event)) continue;
      const { quote } = event.order;
      if (event.type === 'QUOTE_POSTED' && !answers.has(quote.quoteId)) {
        const asked = this.opened.filter((each) => {
          if (each.from > place || each.poolAddress !== quote.pool.poolAddress) return false;
          if (each.side !== sideOf(quote) || each.taker !== quote.taker || each.terms.validUntil <= now) return false;
          if (each.terms.makers.length > 0 && !each.terms.makers.includes(quote.provider)) return false;
          return (each.cancelledAt ?? Infinity) > place && filledOf(each.terms.rfqId) < each.size;
        });
        const unanswered = asked.find(
          ({ terms }) => !liveOf(terms.rfqId).some((id) => answers.get(id)?.provider === quote.provider),
        );
        const rfqId = (unanswered ?? asked.at(-1))?.terms.rfqId;
        if (rfqId === undefined) continue;
        answers.set(quote.quoteId, { rfqId, provider: quote.provider, price: quote.price, left: 0n });
      }
      const answer = answers.get(quote.quoteId);
      if (answer === undefined) continue;
      answer.left = fillableSize;
      const isIn =
        (event.type === 'QUOTE_POSTED' || event.type === 'QUOTE_RESTATED' || event.type === 'QUOTE_RESTORED'
          ? event.reason === null
          : null) ??
        (event.type === 'QUOTE_REVALIDATED' ? true : event.type === 'QUOTE_FILLED' ? live.has(quote.quoteId) : false);
      if (isIn && !live.has(quote.quoteId)) live.add(quote.quoteId);
      else if (!isIn) live.delete(quote.quoteId);
      const isFill = event.type === 'QUOTE_FILLED' || event.type === 'WITHDRAWN_QUOTE_FILLED';
      if (isFill && event.cause !== null && quote.taker !== ZERO_ADDRESS) {
        const { blockNumber, logIndex } = event.cause;
        const log = `${quote.quoteId} ${blockNumber} ${logIndex}`;
        if (!fills.has(log)) fills.set(log, { rfqId: answer.rfqId, block: blockNumber, size: event.size });
      }
      const isForgotten =
        event.type === 'QUOTE_REMOVED' && (event.why === 'EXPIRED' || (event.why === 'REWOUND' && fillableSize > 0n));
      const isFilled = [...fills.keys()].some((log) => log.startsWith(quote.quoteId));
      if (isForgotten && !isFilled) answers.delete(quote.quoteId);
    }

    return new Map(
      this.opened.map((opened) => {
        const { rfqId, validUntil } = opened.terms;
        const filledSize = filledOf(rfqId);
        const quotes = liveOf(rfqId);
        const sign = opened.side === 'ask' ? 1 : -1;
        const [best] = quotes.sort(
          (a, b) => sign * Number((answers.get(a)?.price ?? 0n) - (answers.get(b)?.price ?? 0n)),
        );
        const status =
          opened.cancelledAt !== null
            ? 'cancelled'
            : filledSize >= opened.size
              ? 'filled'
              : validUntil <= second
                ? 'expired'
                : filledSize > 0n
                  ? 'partly_filled'
                  : quotes.length > 0
                    ? 'quoted'
                    : 'open';
        const price = best === undefined ? null : answers.get(best)?.price;
        return [rfqId, { status, filledSize, quotes: quotes.length, best: price }];
      }),
    );
  }
}

function isLive(status: RfqStatus | undefined): boolean {
  return status === 'open' || status === 'quoted' || status === 'partly_filled';
}

function rfqCommand(step: RfqStep, nth: number, nowSeconds: number): Command {
  if (step.kind === 'cancelRfq') return { type: 'CANCEL_RFQ', rfqId: `rfq ${step.nth}` };
  const poolAddress = POOLS[step.pool]?.poolAddress ?? POOL.poolAddress;
  const asker = TAKERS[step.taker] ?? TAKER;
  const taker = step.isAnonymous ? ZERO_ADDRESS : asker;
  return {
    type: 'PUBLISH_RFQ',
    rfq: { poolAddress, side: step.isBid ? 'bid' : 'ask', size: BigInt(step.size), taker, body: '{}' },
    terms: {
      rfqId: `rfq ${nth}`,
      owner: `key ${step.taker}`,
      clientId: null,
      validUntil: nowSeconds + step.seconds,
      taker: step.isAnonymous ? asker : null,
      minQuotes: 1,
      makers: step.makers,
      leg: null,
    },
  };
}

t.test('each request has the state that all that happened gives it, and says every change of it once', async () => {
  fc.assert(
    fc.property(mixedSteps, (mixed) => {
      let engine = newEngine();
      const maker = new CommandMaker();
      const model = new NaiveRfqs();
      let index = 0;
      let tsMs = START * 1000;
      let opened = 0;
      const told = new Map<string, unknown>();
      for (const step of mixed) {
        if (step.kind === 'restart') {
          const restarted = newEngine();
          restarted.importState(structuredClone(engine.exportState()));
          same(restarted.exportState(), engine.exportState());
          engine = restarted;
          continue;
        }
        if (step.kind === 'pass') tsMs += step.ms;
        const second = Math.floor(tsMs / 1000);
        const isOfRfq = step.kind === 'open' || step.kind === 'cancelRfq';
        const command = isOfRfq ? rfqCommand(step, opened, second) : maker.make(step, engine);
        if (step.kind === 'open') opened += 1;
        index += 1;
        const events = engine.apply(command, { index, tsMs });
        // What is due goes before the command.
        const isExpiry = (event: EngineEvent): boolean => event.type === 'QUOTE_REMOVED' && event.why === 'EXPIRED';
        model.happened(events.filter(isExpiry), second);
        if (command.type === 'CANCEL_RFQ') model.cancel(command.rfqId, second);
        if (command.type === 'PUBLISH_RFQ' && command.terms !== undefined) model.open(command.terms, command.rfq);
        model.happened(
          events.filter((event) => !isExpiry(event)),
          second,
        );
        const states = model.states(second);
        const changed = events.filter((event): event is RfqChanged => event.type === 'RFQ_CHANGED');
        for (const event of changed) {
          const { rfqId, status, filledSize, quotes, best } = event;
          told.set(rfqId, { status, filledSize, quotes, best: best?.price ?? null });
        }
        for (const { terms } of model.opened) {
          const { rfqId } = terms;
          if (!told.has(rfqId)) told.set(rfqId, { status: 'open', filledSize: 0n, quotes: 0, best: null });
          const state = engine.rfqs.get(rfqId);
          same({ ...state?.progress, best: state?.progress.best?.price ?? null }, states.get(rfqId));
          same(told.get(rfqId), states.get(rfqId));
        }
        same(engine.rfqs.liveCount, [...states.values()].filter(({ status }) => isLive(status)).length);
      }
    }),
    { numRuns: RUNS },
  );
});

const terms = (change: Partial<RequestTerms> = {}): RequestTerms => ({
  rfqId: 'one',
  owner: 'key',
  clientId: null,
  validUntil: START + 60,
  taker: null,
  minQuotes: 1,
  makers: [],
  leg: null,
  ...change,
});
const rfq = { poolAddress: POOL.poolAddress, side: 'ask', size: 10n, taker: TAKER, body: '{}' } as const;
const publish = (change: Partial<RequestTerms> = {}): Command => ({ type: 'PUBLISH_RFQ', rfq, terms: terms(change) });
const answer = (n: number, price = 100n, provider = address(0x10)) =>
  enter(sampleQuote({ n, price, provider, taker: TAKER, size: 10n }));
const fillOf = (n: number, size: bigint, block: number, taker = TAKER): Command => {
  const { quote } = answer(n);
  const { quoteId, provider, price, isBuy } = quote;
  const trade = { pool: POOL, provider, taker, price, fee: 0n, isBuy, time: START };
  return { type: 'FILL_QUOTE', quoteId, size, trade, origin: originAt(block), position: at('settlement', block) };
};
const changes = (events: Record<string, unknown>[]) =>
  pick(
    events.filter(({ type }) => type === 'RFQ_CHANGED'),
    'rfqId',
    'status',
    'filledSize',
    'quotes',
  );

t.test('a request is quoted, partly filled and filled, and expires no more after that', async (t) => {
  const driver = new Driver(newEngine());
  driver.apply(publish());
  t.same(changes(driver.apply(answer(1))), [['one', 'quoted', 0n, 1]]);
  t.same(changes(driver.apply(fillOf(1, 4n, 60))), [['one', 'partly_filled', 4n, 1]]);
  t.same(changes(driver.apply(fillOf(1, 6n, 61))), [['one', 'filled', 10n, 0]]);
  t.same(changes(driver.tickAt(60)), []);
});

t.test('a reorg that undoes a fill opens a filled request again, or leaves it expired', async (t) => {
  const position = at('settlement', 60, 1);
  const undo: Command = { type: 'REWIND_SETTLEMENT', position, settlementBlock: 61, restated: [], undoesTrades: true };
  for (const [seconds, status] of [
    [1, 'partly_filled'],
    [60, 'expired'],
  ] as const) {
    const driver = new Driver(newEngine());
    driver.apply(publish(), answer(1), fillOf(1, 4n, 60), fillOf(1, 6n, 61));
    driver.tickAt(seconds);
    t.same(changes(driver.apply(undo)), [['one', status, 4n, 0]]);
  }
});

t.test('a request expires at its second, and a quote that comes then is no answer', async (t) => {
  const driver = new Driver(newEngine());
  driver.apply(publish());
  t.equal(driver.engine.nextDueMs(), (START + 60) * 1000);
  driver.elapsedMs = 60_000;
  t.same(changes(driver.apply(answer(1))), [['one', 'expired', 0n, 0]]);
});

t.test('a cancelled request takes no more quotes, and is cancelled once', async (t) => {
  const driver = new Driver(newEngine());
  driver.apply(publish());
  t.same(changes(driver.apply({ type: 'CANCEL_RFQ', rfqId: 'one' })), [['one', 'cancelled', 0n, 0]]);
  t.same(driver.apply({ type: 'CANCEL_RFQ', rfqId: 'one' }), []);
  t.same(changes(driver.apply(answer(1))), []);
  t.equal(driver.engine.nextDueMs(), (START + 1001) * 1000, 'no tick is owed to it');
});

t.test('a maker who answers twice answers the two oldest requests in turn', async (t) => {
  const driver = new Driver(newEngine());
  driver.apply(publish(), publish({ rfqId: 'two' }));
  t.same(changes(driver.apply(answer(1))), [['one', 'quoted', 0n, 1]]);
  t.same(changes(driver.apply(answer(2))), [['two', 'quoted', 0n, 1]]);
  t.same(changes(driver.apply(answer(3))), [['two', 'quoted', 0n, 2]]);
});

t.test('of more answers than are kept the best are', async (t) => {
  const driver = new Driver(newEngine());
  driver.apply(publish());
  for (let n = 0; n < 40; n += 1) driver.apply(answer(n, BigInt(100 + ((n * 7) % 40)), address(0x100 + n)));
  const answers = driver.engine.rfqs.get('one')?.answers ?? [];
  t.same(
    answers.map(({ price }) => Number(price)),
    Array.from({ length: 32 }, (_, place) => 100 + place),
  );
});

t.test('finished requests go, the oldest first, once there are too many; live ones stay', async (t) => {
  const driver = new Driver(newEngine());
  driver.apply(publish({ rfqId: 'live', validUntil: START + 100_000 }));
  for (let n = 0; n < 4100; n += 1) {
    driver.apply(publish({ rfqId: `${n}` }), { type: 'CANCEL_RFQ', rfqId: `${n}` });
  }
  const kept = [...driver.engine.rfqs.all()];
  t.equal(kept.length, 4096);
  t.same(
    kept.slice(0, 2).map((state) => state.terms.rfqId),
    ['live', '5'],
  );
});

t.test('the taker of an anonymous request is in its events once it is filled, by its own fills alone', async (t) => {
  const driver = new Driver(newEngine());
  const anonymous = { ...rfq, taker: ZERO_ADDRESS };
  driver.apply({ type: 'PUBLISH_RFQ', rfq: anonymous, terms: terms({ taker: TAKER }) });
  const state = driver.engine.rfqs.get('one');
  t.equal(state && takerOf(state), TAKER);
  const open = sampleQuote({ n: 1, size: 30n });
  t.same(pick(driver.apply(enter(open)), 'type', 'status', 'taker').slice(1), [['RFQ_CHANGED', 'quoted', null]]);
  t.same(pick(driver.apply(fillOf(1, 5n, 60, address(9))).slice(2), 'status', 'filledSize'), [['quoted', 0n]]);
  t.same(pick(driver.apply(fillOf(1, 10n, 61)).slice(2), 'status', 'taker'), [['filled', TAKER]]);
});
