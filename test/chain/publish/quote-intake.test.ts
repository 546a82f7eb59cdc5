import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type PublicationOutcome, PublicationUnseen } from '../../../src/chain/publish/publisher.js';
import { type QuoteBudget, QuoteIntake } from '../../../src/chain/publish/quote-intake.js';
import { QuoteValidation, QuoteRules } from '../../../src/chain/publish/quote-validation.js';
import type { QuoteToPublish } from '../../../src/wire/answers.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import {
  InsufficientFunds,
  IntentNotPersisted,
  SpendCapReached,
  TxRefused,
  TxReverted,
  WalletBusy,
  WouldRevert,
} from '../../../src/chain/wallet/errors.js';
import { type Hex, InvalidReason, type Order } from '../../../src/engine/quote.js';
import type { QuoteError } from '../../../src/wire/orderbook.js';
import { enter, newEngine, quoteIdOf, sampleQuote, START } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const quote = sampleQuote({ n: 1 });
const posted: QuoteToPublish = { ...quote, poolKey: quote.pool.poolKey };
const LIMITS = { minQuoteLifeSeconds: 10, publishTimeoutMs: 1_000, checksPerTurn: 20 };

const ENTERED = { type: 'ENTERED', isSent: true } as const;

const ignore = (): void => undefined;
const unlimited: QuoteBudget = { take: () => null, charge: ignore };

/** Writes down what is taken and charged. */
function newBudget(refusal: ReturnType<QuoteBudget['take']> = null) {
  const [taken, paid] = [[] as number[], [] as number[]];
  const budget: QuoteBudget = {
    take(count) {
      taken.push(count);
      return refusal;
    },
    charge: (count) => void paid.push(count),
  };
  return { budget, taken, paid };
}

/** An intake whose publisher only writes down; `whileChecked` happens while the chain is asked about the quotes. */
function newIntake(
  whileChecked: (orders: Map<Hex, Order>) => void,
  outcomeOf: (quoteId: Hex) => Promise<PublicationOutcome> = () =>
    Promise.resolve({ type: 'REFUSED', isSent: true, reason: 'not here' }),
  durable: Promise<void> | null = null,
  errorsOf: (readings: number) => QuoteError | null = () => null,
  underWay: ReadonlySet<Hex> = new Set(),
  nowSeconds: () => number = () => START,
) {
  const clock = new ManualClock(START * 1_000);
  const orders = new Map<Hex, Order>();
  const prefetched: Hex[][] = [];
  const published: Hex[] = [];
  let readings = 0;
  const rules = new QuoteRules({ quoteId: ({ salt }) => quoteIdOf(salt) }, nowSeconds, LIMITS);
  const known = { get: (quoteId: Hex) => orders.get(quoteId), whenDurable: () => durable };
  const validation = new QuoteValidation({
    orders: known,
    pools: { resolve: (keys) => Promise.resolve(keys.map(() => quote.pool)) },
    rules,
    signatureChecks: { verifyAll: (quotes) => Promise.resolve(quotes.map(() => true)) },
    states: {
      read(quotes) {
        whileChecked(orders);
        const error = errorsOf(++readings);
        return Promise.resolve(quotes.map(({ size }) => ({ state: { fillableSize: size, reason: null }, error })));
      },
    },
    clock,
    checksPerTurn: LIMITS.checksPerTurn,
  });
  const intake = new QuoteIntake(
    known,
    validation,
    {
      room: 10,
      walletAddress: quote.provider,
      has: ({ quoteId }) => underWay.has(quoteId),
      prefetch: (quotes) => void prefetched.push(quotes.map(({ quoteId }) => quoteId)),
      publish({ quoteId }) {
        published.push(quoteId);
        return outcomeOf(quoteId);
      },
    },
    clock,
    LIMITS,
  );
  return { intake, orders, prefetched, published, clock };
}

function orderOf(n: number): Order {
  const engine = newEngine();
  engine.apply(enter(sampleQuote({ n })), { index: 1, tsMs: START * 1_000 });
  const [order] = engine.known();
  if (order === undefined) throw new Error('The quote did not enter');
  return order;
}

t.test('a quote that nobody has seen is published', async (t) => {
  const { intake, published } = newIntake(() => undefined);
  await intake.submit([posted], unlimited);
  t.strictSame(published, [quote.quoteId]);
});

t.test('the publisher hears of good quotes before they are published', async (t) => {
  const heard: Hex[][][] = [];
  const { intake, prefetched } = newIntake(
    () => undefined,
    () => {
      heard.push([...prefetched]);
      return Promise.resolve({ type: 'REFUSED', isSent: true, reason: 'not here' });
    },
  );
  await intake.submit([posted], unlimited);
  t.strictSame(heard, [[[quote.quoteId]]]);
});

t.test('a quote that comes in while it is checked exists, and is not published again', async (t) => {
  const order = orderOf(1);
  const { intake, published } = newIntake((orders) => orders.set(quote.quoteId, order));
  const { fillableSize } = order;
  t.strictSame(await intake.submit([posted], unlimited), {
    type: 'ANSWERED',
    items: [{ type: 'EXISTS', order, fillableSize }],
  });
  t.strictSame(published, []);
});

t.test('a quote that entered and cannot be filled any more says why', async (t) => {
  const order: Order = { ...orderOf(1), reason: InvalidReason.InsufficientCollateralBalance };
  const { intake, orders } = newIntake(ignore, (quoteId) => {
    orders.set(quoteId, order);
    return Promise.resolve(ENTERED);
  });
  const reason = 'InsufficientCollateralBalance';
  t.match(await intake.submit([posted], unlimited), { items: [{ type: 'FAILED', reason }] });
});

t.test('reports an unreachable chain as such, for checks and for publishing', async (t) => {
  const gone = (): never => {
    throw new RpcUnreachable('gone');
  };
  const unread = newIntake(ignore, undefined, null, gone);
  t.strictSame(await unread.intake.submit([posted], unlimited), { type: 'CHAIN_UNREACHABLE' });
  const unsent = newIntake(ignore, () => Promise.resolve({ type: 'FAILED', error: new RpcUnreachable('gone') }));
  t.strictSame(await unsent.intake.submit([posted], unlimited), { type: 'CHAIN_UNREACHABLE' });
});

t.test('a fault of our own is not taken for the chain’s', async (t) => {
  const { intake } = newIntake(ignore, undefined, null, () => {
    throw new TypeError('a bug');
  });
  await t.rejects(intake.submit([posted], unlimited), { message: 'a bug' });
});

t.test('reports the pending quotes even if the rest could not be sent', async (t) => {
  const other = sampleQuote({ n: 2 });
  for (const error of [new RpcUnreachable('gone'), new InsufficientFunds(quote.provider)]) {
    const { intake, published, clock } = newIntake(
      () => undefined,
      (quoteId) =>
        quoteId === quote.quoteId ? new Promise(() => undefined) : Promise.resolve({ type: 'FAILED', error }),
    );
    const answer = intake.submit([posted, { ...other, poolKey: other.pool.poolKey }], unlimited);
    while (published.length < 2) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(LIMITS.publishTimeoutMs);
    t.strictSame(await answer, { type: 'NOT_CONFIRMED', pending: [quote.quoteId] }, error.name);
  }
});

t.test('where the wallet has no money the answer names it', async (t) => {
  const wallet = quote.provider;
  const { intake } = newIntake(ignore, () => Promise.resolve({ type: 'FAILED', error: new InsufficientFunds(wallet) }));
  t.strictSame(await intake.submit([posted], unlimited), { type: 'NO_GAS_MONEY', wallet });
});

t.test('what no disk would take was not sent: it is not said to be on its way, and nobody pays for it', async (t) => {
  const error = new IntentNotPersisted(new Error('no space left'));
  const { intake } = newIntake(ignore, () => Promise.resolve({ type: 'FAILED', error }));
  const { budget, paid } = newBudget();
  t.match(await intake.submit([posted], budget), {
    items: [{ type: 'FAILED', reason: 'The transaction could not be written down' }],
  });
  t.strictSame(paid, [0]);
});

t.test('reports a cap that the wallet reaches meanwhile, with the time until it ends', async (t) => {
  const wallet = quote.provider;
  const capped = new SpendCapReached(wallet, 5_000);
  const other = sampleQuote({ n: 2 });
  const batch = [posted, { ...other, poolKey: other.pool.poolKey }];
  const { intake } = newIntake(
    () => undefined,
    () => Promise.resolve({ type: 'FAILED', error: capped }),
  );
  t.match(await intake.submit(batch, unlimited), { type: 'SPEND_CAP', retryAfterMs: 5_000 });
  const { intake: half, orders } = newIntake(
    () => undefined,
    (quoteId) => {
      if (quoteId !== quote.quoteId) return Promise.resolve({ type: 'FAILED', error: capped });
      orders.set(quoteId, orderOf(1));
      return Promise.resolve(ENTERED);
    },
  );
  const reason = `The wallet ${wallet} has spent what it may in a day`;
  t.match(await half.submit(batch, unlimited), {
    type: 'ANSWERED',
    items: [{ type: 'CREATED' }, { type: 'FAILED', reason }],
  });
});

t.test('as many quotes are taken as there is room for, or none', async (t) => {
  const batch = (count: number) => Array.from({ length: count }, (_, salt) => ({ ...posted, salt }));
  const { intake, published } = newIntake(() => undefined);
  t.strictSame(await intake.submit(batch(11), unlimited), { type: 'QUEUE_FULL' });
  t.strictSame(published, []);
  t.match(await intake.submit(batch(10), unlimited), { type: 'ANSWERED' });
  t.equal(published.length, 10);
});

t.test('an answer waits until what it tells is durable', async (t) => {
  let commit = (): void => undefined;
  const { intake } = newIntake(
    (orders) => orders.set(quote.quoteId, orderOf(1)),
    undefined,
    new Promise((resolve) => (commit = resolve)),
  );
  const progress = { isAnswered: false };
  const answer = intake.submit([posted], unlimited).finally(() => (progress.isAnswered = true));
  await turn();
  t.notOk(progress.isAnswered);
  commit();
  t.match(await answer, { type: 'ANSWERED', items: [{ type: 'EXISTS' }] });
});

t.test("a quote that is gone before the answer gets its pool's reason", async (t) => {
  const entered = (): Promise<PublicationOutcome> => Promise.resolve(ENTERED);
  const cases: [() => QuoteError | null, string][] = [
    [() => 'QuoteOBCancelled', 'QuoteOBCancelled'],
    [() => 'QuoteOBExpired', 'QuoteOBExpired'],
    [() => null, 'Publication not confirmed yet'],
    [
      () => {
        throw new RpcUnreachable('gone');
      },
      'QuoteOBOverfilled',
    ],
  ];
  for (const [ask, reason] of cases) {
    const { intake } = newIntake(
      () => undefined,
      entered,
      null,
      (readings) => (readings === 1 ? null : ask()),
    );
    t.strictSame(await intake.submit([posted], unlimited), { type: 'ANSWERED', items: [{ type: 'FAILED', reason }] });
  }
});

t.test('a quote that is gone does not change the outcomes of the others', async (t) => {
  const [other, refused] = [sampleQuote({ n: 2 }), sampleQuote({ n: 3 })];
  const { intake, orders } = newIntake(
    ignore,
    (quoteId) => {
      if (quoteId === refused.quoteId) return Promise.resolve({ type: 'REFUSED', isSent: true, reason: 'not here' });
      if (quoteId === other.quoteId) orders.set(quoteId, orderOf(2));
      return Promise.resolve(ENTERED);
    },
    null,
    (readings) => (readings === 1 ? null : 'QuoteOBCancelled'),
  );
  const batch = [quote, other, refused].map((each) => ({ ...each, poolKey: each.pool.poolKey }));
  t.match(await intake.submit(batch, unlimited), {
    items: [{ reason: 'QuoteOBCancelled' }, { type: 'CREATED' }, { reason: 'not here' }],
  });
});

t.test('a quote whose publication is under way is joined: it takes no room and is not paid for again', async (t) => {
  const quotes = Array.from({ length: 11 }, (_, i) => sampleQuote({ n: i + 1 }));
  const entered = (): Promise<PublicationOutcome> => Promise.resolve(ENTERED);
  const { intake, published } = newIntake(ignore, entered, null, undefined, new Set([quote.quoteId]));
  const { budget, paid } = newBudget();
  const batch = quotes.map((each) => ({ ...each, poolKey: each.pool.poolKey }));
  t.match(await intake.submit(batch, budget), { type: 'ANSWERED' });
  t.equal(published.length, 11);
  t.strictSame(paid, [10]);
});

t.test('known quotes and those under way take no budget, new ones do, in one reservation', async (t) => {
  const [, known, fresh, other] = [1, 2, 3, 4]
    .map((n) => sampleQuote({ n }))
    .map((each) => ({ ...each, poolKey: each.pool.poolKey }));
  if (!known || !fresh || !other) throw new Error('There are four');
  const entered = (): Promise<PublicationOutcome> => Promise.resolve(ENTERED);
  const { intake, orders } = newIntake(ignore, entered, null, undefined, new Set([quote.quoteId]));
  orders.set(known.quoteId, orderOf(2));
  const old = newBudget({ type: 'OVER_BUDGET', retryAfterMs: 1 });
  t.match(await intake.submit([posted, known], old.budget), { type: 'ANSWERED' });
  t.strictSame(old.taken, []);
  const { budget, taken } = newBudget();
  t.match(await intake.submit([posted, known, fresh, other], budget), { type: 'ANSWERED' });
  t.strictSame(taken, [2]);
});

t.test('without budget for all new quotes of a request none of them is published', async (t) => {
  const refusal = { type: 'OVER_BUDGET', retryAfterMs: 1 } as const;
  const { intake, published } = newIntake(ignore);
  const { budget, taken, paid } = newBudget(refusal);
  t.strictSame(await intake.submit([posted, { ...posted, salt: 2 }], budget), refusal);
  t.strictSame([taken, paid, published], [[2], [], []]);
});

t.test('a quote whose publication is under way is joined, whatever its rules and its pool say now', async (t) => {
  let now = START;
  let finish: (outcome: PublicationOutcome) => void = ignore;
  const outcome = new Promise<PublicationOutcome>((resolve) => (finish = resolve));
  const underWay = new Set<Hex>();
  const { intake, orders, clock, published } = newIntake(
    ignore,
    (quoteId) => {
      underWay.add(quoteId);
      return outcome;
    },
    null,
    (readings) => (readings === 1 ? null : 'InsufficientCollateralBalance'),
    underWay,
    () => now,
  );
  const offer = { ...posted, deadline: START + 35 };
  const first = intake.submit([offer], unlimited);
  while (published.length === 0) await turn();
  clock.advance(LIMITS.publishTimeoutMs);
  const pending = { type: 'NOT_CONFIRMED', pending: [quote.quoteId] };
  t.strictSame(await first, pending);
  now = START + 26;
  t.match(await intake.submit([{ ...offer, salt: 2 }], unlimited), {
    items: [{ reason: 'Quote deadline is invalid (cannot be less than 10 sec)' }],
  });
  const again = intake.submit([offer, offer], unlimited);
  while (published.length < 2) await turn();
  const order = orderOf(1);
  orders.set(quote.quoteId, order);
  finish(ENTERED);
  t.match(await again, { type: 'ANSWERED', items: [{ type: 'CREATED', order }, { type: 'EXISTS' }] });
});

t.test('a quote whose publication failed while its repetition was checked is not published unchecked', async (t) => {
  const underWay = new Set([quote.quoteId]);
  const failed: PublicationOutcome = { type: 'FAILED', error: new TxRefused('refused') };
  const { intake, published } = newIntake(
    () => underWay.clear(),
    () => Promise.resolve(failed),
    null,
    undefined,
    underWay,
    () => START,
  );
  const other = { ...posted, salt: 2 };
  t.match(await intake.submit([posted, other], unlimited), { items: [{ type: 'FAILED' }, { type: 'FAILED' }] });
  t.equal(published.filter((quoteId) => quoteId === quote.quoteId).length, 1, 'joined, and no more');
});

/** The counts charged for a batch with these outcomes; null: no outcome in time. */
async function paidOf(outcomes: readonly (PublicationOutcome | null)[]): Promise<number[]> {
  const batch = outcomes.map((_, i) => sampleQuote({ n: i + 1 }));
  const { intake, published, clock } = newIntake(ignore, (quoteId) => {
    const outcome = outcomes[batch.findIndex((each) => each.quoteId === quoteId)] ?? null;
    return outcome === null ? new Promise(ignore) : Promise.resolve(outcome);
  });
  const { budget, paid } = newBudget();
  const answer = intake.submit(
    batch.map((each) => ({ ...each, poolKey: each.pool.poolKey })),
    budget,
  );
  while (published.length < batch.length) await turn();
  clock.advance(LIMITS.publishTimeoutMs);
  await answer;
  return paid;
}

const failure = (error: Error): PublicationOutcome => ({ type: 'FAILED', error });

t.test('what went to the chain is paid for, whatever became of it there', async (t) => {
  const sent: [string, PublicationOutcome | null][] = [
    ['entered, and gone again', ENTERED],
    ['refused at entry', { type: 'REFUSED', isSent: true, reason: 'InsufficientCollateralBalance' }],
    ['reverted', failure(new TxReverted('reverted'))],
    ['mined, and taken back', failure(new PublicationUnseen('unseen'))],
    ['not mined in time', null],
  ];
  for (const [what, outcome] of sent) t.strictSame(await paidOf([outcome]), [1], what);
  t.strictSame(await paidOf(sent.map(([, outcome]) => outcome)), [sent.length]);
});

t.test('what was not sent is not paid for', async (t) => {
  const errors = [
    new TxRefused('refused'),
    new WouldRevert('0x'),
    new WalletBusy('busy'),
    new InsufficientFunds(quote.provider),
    new SpendCapReached(quote.provider, 5_000),
    new RpcUnreachable('gone'),
  ];
  for (const error of errors) t.strictSame(await paidOf([failure(error)]), [0], error.name);
  const othersFirst = [
    { ...ENTERED, isSent: false },
    { type: 'REFUSED', isSent: false, reason: 'QuoteOBCancelled' },
  ] as const;
  for (const outcome of othersFirst) t.strictSame(await paidOf([outcome]), [0], outcome.type);
  t.strictSame(await paidOf([failure(new TxRefused('refused')), ENTERED]), [1]);
});

t.test('a quote that stands twice in one request is paid for once', async (t) => {
  const { intake } = newIntake(ignore);
  const { budget, paid } = newBudget();
  t.match(await intake.submit([posted, posted], budget), {
    items: [
      { type: 'FAILED', reason: 'not here' },
      { type: 'FAILED', reason: 'not here' },
    ],
  });
  t.strictSame(paid, [1]);
});

t.test('the second of two that are the same exists once the first is created', async (t) => {
  const order = orderOf(1);
  const { intake, orders } = newIntake(ignore, (quoteId) => {
    orders.set(quoteId, order);
    return Promise.resolve(ENTERED);
  });
  const { fillableSize } = order;
  t.strictSame(await intake.submit([posted, posted], unlimited), {
    type: 'ANSWERED',
    items: [
      { type: 'CREATED', order, fillableSize },
      { type: 'EXISTS', order, fillableSize },
    ],
  });
});
