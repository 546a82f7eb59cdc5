import * as fc from 'fast-check';
import { getAddress } from 'viem/utils';
import type { ChainPosition, Command, EarlyEvent, QuoteState, Rfq, RequestTerms } from '../../../src/engine/command.js';
import type { Cause, EngineEvent } from '../../../src/engine/event.js';
import type { JournalRecord } from '../../../src/engine/ports.js';
import {
  type Hex,
  InvalidReason,
  type Origin,
  type Pool,
  type Quote,
  type TradeTerms,
  ZERO_ADDRESS,
} from '../../../src/engine/quote.js';

/** fast-check arbitraries of everything a record can hold, at the edges of what the vocabulary allows. */
const uint = fc.oneof(
  fc.nat(300),
  fc.maxSafeNat(),
  fc.constantFrom(0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32),
);
const amount = fc.oneof(
  fc.bigInt(0n, 2n ** 256n - 1n),
  fc.constantFrom(0n, 1n, 255n, 256n, 10n ** 18n, 2n ** 256n - 1n),
);
const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);
const word = hex(32);
const address = hex(20);
const checksummed = address.map((value) => getAddress(value));
const reason = fc.constantFrom(...Object.values(InvalidReason));
const optionalReason = fc.option(reason, { nil: null });

export const pool: fc.Arbitrary<Pool> = fc.record({
  poolAddress: address,
  poolKey: fc.record({
    base: checksummed,
    quote: checksummed,
    oracleAdapter: checksummed,
    strike: amount,
    maturity: uint,
    isCallPool: fc.boolean(),
  }),
});

const origin: fc.Arbitrary<Origin> = fc.record({ blockNumber: uint, txHash: word, logIndex: uint });

export const quote: fc.Arbitrary<Quote> = fc.record({
  quoteId: word,
  pool,
  provider: address,
  taker: fc.oneof(address, fc.constant(ZERO_ADDRESS)),
  price: amount,
  size: amount,
  isBuy: fc.boolean(),
  deadline: uint,
  salt: uint,
  signature: fc.record({ r: word, s: word, v: fc.constantFrom(27, 28) }),
  ts: uint,
  origin,
});

const chain = fc.constantFrom('stream' as const, 'settlement' as const);
const position: fc.Arbitrary<ChainPosition> = fc.record({
  chain,
  blockNumber: uint,
  blockHash: word,
  logIndex: fc.option(uint, { nil: null }),
});
const state: fc.Arbitrary<QuoteState> = fc.record({ fillableSize: amount, reason: optionalReason });
const rfq: fc.Arbitrary<Rfq> = fc.record({
  poolAddress: address,
  side: fc.constantFrom('bid' as const, 'ask' as const),
  size: amount,
  taker: address,
  body: fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
});

const text = fc.string({ unit: 'binary', maxLength: 40 });
const makers = fc.array(address, { maxLength: 3 });
const rfqTerms: fc.Arbitrary<RequestTerms> = fc.record({
  rfqId: text,
  owner: text,
  clientId: fc.option(text, { nil: null }),
  validUntil: uint,
  taker: fc.option(address, { nil: null }),
  minQuotes: uint,
  makers,
  leg: fc.option(fc.record({ packageId: text, place: uint, legs: uint }), { nil: null }),
});

const early: fc.Arbitrary<EarlyEvent[]> = fc.array(fc.record({ size: fc.option(amount, { nil: null }), origin }), {
  minLength: 1,
  maxLength: 5,
});

function terms(pools: fc.Arbitrary<Pool>): fc.Arbitrary<TradeTerms> {
  return fc.record({
    pool: pools,
    provider: address,
    taker: address,
    price: amount,
    fee: amount,
    isBuy: fc.boolean(),
    time: uint,
  });
}

const type = <Type extends string>(value: Type): fc.Arbitrary<Type> => fc.constant(value);

const quoteIds = fc.array(word, { maxLength: 20 });
const withdrawalReason = fc.constantFrom(...(['REQUESTED', 'DISCONNECTED', 'HEARTBEAT_MISSED', 'FILL_LIMIT'] as const));
const nonce = fc.record({ nonce: amount, deadline: uint });
const signed = fc.option(nonce, { nil: null });
const message = fc.record({ quoteIds, signature: fc.record({ r: word, s: word, v: uint }) });

export const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record(
    { type: type('ENTER_QUOTE'), quote, state, settlementBlock: uint, position, early },
    { requiredKeys: ['type', 'quote', 'state', 'settlementBlock', 'position'] },
  ),
  fc.record(
    { type: type('FILL_QUOTE'), quoteId: word, size: amount, origin, position, trade: terms(pool) },
    { requiredKeys: ['type', 'quoteId', 'size', 'origin', 'position'] },
  ),
  fc.record({ type: type('CANCEL_QUOTE'), quoteId: word, origin, position }),
  fc.record({
    type: type('SET_VALIDITY'),
    quoteId: word,
    reason: optionalReason,
    origin: fc.option(origin, { nil: null }),
    position,
  }),
  fc.record({ type: type('DEPLOY_POOL'), pool, deployedAt: uint, origin, position }),
  fc.record({ type: type('REWIND_STREAM'), position }),
  fc.record(
    {
      type: type('REWIND_SETTLEMENT'),
      position,
      settlementBlock: uint,
      restated: fc.array(fc.record({ quoteId: word, state }), { maxLength: 20 }),
      undoesTrades: fc.constant(true as const),
    },
    { requiredKeys: ['type', 'position', 'settlementBlock', 'restated'] },
  ),
  fc.record({ type: type('ADVANCE_POSITION'), position }),
  fc.record({ type: type('PUBLISH_RFQ'), rfq, terms: rfqTerms }, { requiredKeys: ['type', 'rfq'] }),
  fc.record({ type: type('CANCEL_RFQ'), rfqId: text }),
  fc.record({ type: type('TICK') }),
  fc.record({ type: type('EXPIRE_QUOTES'), second: uint, quoteIds: fc.array(word, { maxLength: 20 }) }),
  fc.record({ type: type('AUTHORIZE_KEY'), provider: address, owner: fc.string(), until: uint, signed }),
  fc.record({
    type: type('SET_TIMER'),
    provider: address,
    owner: fc.string(),
    kind: fc.constantFrom('HEARTBEAT' as const, 'CONNECTION' as const),
    seconds: uint,
  }),
  fc.record({
    type: type('SET_FILL_LIMIT'),
    provider: address,
    poolAddress: address,
    until: uint,
    bounds: fc.option(fc.record({ contracts: amount, fills: uint, seconds: uint }), { nil: null }),
    signed,
  }),
  fc.record({ type: type('WITHDRAW_QUOTES'), provider: address, quoteIds, reason: withdrawalReason, signed }),
  fc.record({ type: type('RESTORE_QUOTES'), provider: address, quoteIds, signed }),
  fc.record({
    type: type('WITHDRAW_QUOTES'),
    provider: address,
    quoteIds,
    reason: withdrawalReason,
    signed: nonce,
    message,
  }),
  fc.record({ type: type('RESTORE_QUOTES'), provider: address, quoteIds, signed: nonce, message }),
);

const presentCause: fc.Arbitrary<Cause> = fc.record({ chain, blockNumber: uint, txHash: word, logIndex: uint });
const cause: fc.Arbitrary<Cause | null> = fc.option(presentCause, { nil: null });

/** Orders of events are as reading gives them back: as the event left them. */
function orderEvent<Extra extends object>(
  quotes: fc.Arbitrary<Quote>,
  extra: fc.Arbitrary<Extra>,
  orderOf: (extra: Extra) => Pick<EventOrder, 'state' | 'reason'>,
): fc.Arbitrary<Extra & { seq: number; cause: Cause | null; order: EventOrder; fillableSize: bigint }> {
  return fc.record({ seq: uint, cause, quote: quotes, fillableSize: amount, extra }).map((parts) => {
    const { seq, fillableSize } = parts;
    const wanted = orderOf(parts.extra);
    const order: EventOrder = {
      quote: parts.quote,
      fillableSize,
      state: fillableSize === 0n ? 'gone' : wanted.state,
      reason: wanted.reason,
    };
    return { ...parts.extra, seq, cause: parts.cause, order, fillableSize };
  });
}

type EventOrder = Extract<EngineEvent, { type: 'QUOTE_POSTED' }>['order'];

const byReason = ({ reason: why }: { reason: InvalidReason | null }): Pick<EventOrder, 'state' | 'reason'> => ({
  state: why === null ? 'live' : 'invalid',
  reason: why,
});

function event(quotes: fc.Arbitrary<Quote>, pools: fc.Arbitrary<Pool>): fc.Arbitrary<EngineEvent> {
  const valid = fc.boolean();
  return fc.oneof(
    orderEvent(quotes, fc.record({ type: type('QUOTE_POSTED'), reason: optionalReason }), byReason),
    orderEvent(quotes, fc.record({ type: type('QUOTE_FILLED'), size: amount, valid }), (extra) => ({
      state: extra.valid ? 'live' : 'invalid',
      reason: null,
    })),
    orderEvent(
      quotes,
      fc.record({
        type: type('QUOTE_REMOVED'),
        why: fc.constantFrom('FILLED' as const, 'CANCELLED' as const, 'EXPIRED' as const, 'REWOUND' as const),
        valid,
      }),
      () => ({ state: 'gone', reason: null }),
    ),
    orderEvent(quotes, fc.record({ type: type('QUOTE_INVALIDATED'), reason }), byReason),
    orderEvent(quotes, fc.record({ type: type('QUOTE_REVALIDATED') }), () => ({ state: 'live', reason: null })),
    orderEvent(quotes, fc.record({ type: type('QUOTE_RESTATED'), wasValid: valid, reason: optionalReason }), byReason),
    orderEvent(quotes, fc.record({ type: type('QUOTE_WITHDRAWN'), reason: withdrawalReason, valid }), () => ({
      state: 'withdrawn',
      reason: null,
    })),
    orderEvent(quotes, fc.record({ type: type('QUOTE_RESTORED'), reason: optionalReason }), byReason),
    orderEvent(quotes, fc.record({ type: type('WITHDRAWN_QUOTE_FILLED'), size: amount }), () => ({
      state: 'withdrawn',
      reason: null,
    })),
    orderEvent(quotes, fc.record({ type: type('WITHDRAWN_QUOTE_RESTATED') }), () => ({
      state: 'withdrawn',
      reason: null,
    })),
    fc.record({ type: type('POOL_DEPLOYED'), seq: uint, cause, pool: pools }),
    fc.record({ type: type('POOL_WITHDRAWN'), seq: uint, cause, pool: pools }),
    fc.record(
      { type: type('RFQ_PUBLISHED'), seq: uint, cause, rfq, terms: rfqTerms },
      { requiredKeys: ['type', 'seq', 'cause', 'rfq'] },
    ),
    fc.record({
      type: type('RFQ_CHANGED'),
      seq: uint,
      cause,
      rfqId: text,
      rfq: fc.record({
        poolAddress: address,
        side: fc.constantFrom('bid' as const, 'ask' as const),
        size: amount,
        taker: address,
      }),
      makers,
      taker: fc.option(address, { nil: null }),
      status: fc.constantFrom('open', 'quoted', 'partly_filled', 'filled', 'cancelled', 'expired'),
      filledSize: amount,
      quotes: uint,
      best: fc.option(fc.record({ quoteId: word, price: amount, fillableSize: amount }), { nil: null }),
    }),
    fc.record({
      type: type('TRADE_RECORDED'),
      seq: uint,
      cause: presentCause,
      trade: fc
        .record({ terms: terms(pools), quoteId: word, size: amount, blockHash: word })
        .map(({ terms: rest, ...own }) => ({ ...rest, ...own })),
    }),
    fc.record({ type: type('TRADES_UNDONE'), seq: uint, cause, blockNumber: uint }),
  );
}

/**
 * Events are often of one quote, of the command's, or of quotes in one pool: those are written as numbers. Cloned,
 * since fast-check makes objects without a prototype.
 */
export const record: fc.Arbitrary<JournalRecord> = fc
  .record({
    stamp: fc.record({ index: uint, tsMs: uint }),
    command,
    others: fc.array(quote, { minLength: 1, maxLength: 3 }),
  })
  .chain(({ stamp, command: given, others }) => {
    const known = given.type === 'ENTER_QUOTE' ? [given.quote, ...others] : others;
    const shared = known.flatMap((one) => known.map((other) => ({ ...one, pool: other.pool })));
    // Of the same id, and yet not the same; the largest integer there is has none after it.
    const twins = known.map((one) => ({ ...one, ts: one.ts === 0 ? 1 : one.ts - 1 }));
    const quotes = fc.constantFrom(...known, ...shared, ...twins);
    const pools = fc.constantFrom(...known.map((one) => one.pool));
    return fc
      .array(event(quotes, pools), { maxLength: 6 })
      .map((events) => structuredClone({ stamp, command: given, events }));
  });
