import type { RfqProgress } from '../engine/event.js';
import type { JournalRecord } from '../engine/ports.js';
import type { Hex, Order, Quote, Side } from '../engine/quote.js';
import { NOTHING_YET, type RfqState, takerOf } from '../engine/rfq-store.js';
import type { RfqStatusMessage } from '../wire/feed-messages.js';
import type { QuoteJson } from '../wire/quote-json.js';
import type { RfqCompetition, RfqCover, RfqJson } from '../wire/rfq.js';

export interface RfqJsonParts {
  readonly orderOf: (quoteId: Hex) => Pick<Order, 'quote'> | undefined;
  readonly quoteJson: Pick<QuoteJson, 'fixed'>;
}

/** A request as its owner sees it. `progress`: that of an event, which may be older than the state's. */
export function rfqJson(state: RfqState, parts: RfqJsonParts, progress: RfqProgress = state.progress): RfqJson {
  const { rfq, terms, openedAt } = state;
  const { status, filledSize, quotes } = progress;
  return {
    rfqId: terms.rfqId,
    packageId: terms.leg?.packageId ?? null,
    leg: terms.leg?.place ?? 0,
    legs: terms.leg?.legs ?? 1,
    clientId: terms.clientId,
    status,
    poolAddress: rfq.poolAddress,
    side: rfq.side,
    size: rfq.size.toString(),
    taker: takerOf(state),
    anonymous: terms.taker !== null,
    makers: [...terms.makers],
    minQuotes: terms.minQuotes,
    openedAt,
    validUntil: terms.validUntil,
    filledSize: filledSize.toString(),
    quotes,
    best: quotes >= terms.minQuotes ? bestJson(progress.best, parts) : null,
  };
}

function bestJson(best: RfqProgress['best'], { orderOf, quoteJson }: RfqJsonParts): RfqJson['best'] {
  // A quote that went meanwhile: the next event says so.
  const order = best === null ? undefined : orderOf(best.quoteId);
  if (best === null || order === undefined) return null;
  return { ...quoteJson.fixed(order.quote), fillableSize: best.fillableSize.toString() };
}

/** The messages that committed records make for the owners of requests. */
export function* rfqStatusMessages(
  records: readonly JournalRecord[],
  rfqs: { get(rfqId: string): RfqState | undefined },
  parts: RfqJsonParts,
): Generator<{ readonly owner: string; readonly message: RfqStatusMessage }, undefined> {
  for (const { stamp, events } of records) {
    for (const event of events) {
      if (event.type !== 'RFQ_PUBLISHED' && event.type !== 'RFQ_CHANGED') continue;
      const rfqId = event.type === 'RFQ_CHANGED' ? event.rfqId : event.terms?.rfqId;
      const state = rfqId === undefined ? undefined : rfqs.get(rfqId);
      if (state === undefined) continue;
      const body = rfqJson(state, parts, event.type === 'RFQ_CHANGED' ? event : NOTHING_YET);
      const message = { type: 'RFQ_STATUS', seq: event.seq, tsMs: stamp.tsMs, body } as const;
      yield { owner: state.terms.owner, message };
    }
  }
  return undefined;
}

/** The quotes that cover a leg best. */
export interface LegCover {
  readonly legs: readonly { readonly quote: Quote; readonly take: bigint }[];
  readonly covered: bigint;
  readonly shortfall: bigint;
  readonly averagePrice: bigint | null;
}

/** Cover and net payments of the legs of one request. `cover`: of the book of event `seq`. */
export function rfqCover(
  states: readonly RfqState[],
  seq: number,
  cover: (about: {
    readonly poolAddress: Hex;
    readonly side: Side;
    readonly size: bigint;
    readonly taker: Hex;
  }) => LegCover,
): RfqCover {
  const net = new Map<Hex, bigint>();
  const legs = states.map((state) => {
    const { rfq, terms, progress } = state;
    const { poolAddress, side } = rfq;
    const left = rfq.size > progress.filledSize ? rfq.size - progress.filledSize : 0n;
    const found = cover({ poolAddress, side, size: left, taker: takerOf(state) });
    for (const { quote, take } of found.legs) {
      const { base, quote: quoteToken, isCallPool, strike } = quote.pool.poolKey;
      const token = (isCallPool ? base : quoteToken).toLowerCase() as Hex;
      // In 1e-54 tokens. The price of a put is a part of its strike.
      const exact = isCallPool ? take * quote.price * ONE : take * quote.price * strike;
      const paid = side === 'ask' ? (exact + ONE * ONE - 1n) / (ONE * ONE) : -(exact / (ONE * ONE));
      net.set(token, (net.get(token) ?? 0n) + paid);
    }
    const { covered, shortfall, averagePrice } = found;
    return {
      rfqId: terms.rfqId,
      poolAddress,
      side,
      covered: covered.toString(),
      shortfall: shortfall.toString(),
      averagePrice: averagePrice?.toString() ?? null,
    };
  });
  return { seq, legs, net: [...net].map(([token, amount]) => ({ token, amount: amount.toString() })) };
}

const ONE = 10n ** 18n;

/** How one maker stands among those that answer a request, without a word of the others. */
export function rfqCompetition({ terms, progress, answers, rfq }: RfqState, provider: Hex): RfqCompetition {
  const live = answers.filter(({ isLive }) => isLive);
  const own = live.find((answer) => answer.provider === provider);
  const isBetter = (price: bigint, than: bigint): boolean => (rfq.side === 'ask' ? price < than : price > than);
  const rank = own === undefined ? null : 1 + live.filter(({ price }) => isBetter(price, own.price)).length;
  return { rfqId: terms.rfqId, status: progress.status, quotes: progress.quotes, rank };
}
