import t, { type Test } from 'tap';
import type { CancelQuote, FillQuote, RestoreQuotes, SetValidity, WithdrawQuotes } from '../../src/engine/command.js';
import type { InvalidReason } from '../../src/engine/quote.js';
import { Driver, numbers, pick } from './driver.js';
import { NaiveEngine, type EngineUnderTest } from './naive-engine.js';
import {
  at,
  blockHashOf,
  enter,
  MAKER,
  newEngine,
  originAt,
  POOL,
  quoteIdOf,
  REORG_DEPTH,
  samplePool,
  sampleQuote,
  START,
  TAKER,
  type SampleQuote,
} from './samples.js';

const fill = (n: number, size: bigint, block = 60): FillQuote => {
  return {
    type: 'FILL_QUOTE',
    quoteId: quoteIdOf(n),
    size,
    origin: originAt(block),
    position: at('settlement', block),
  };
};

const cancel = (n: number, block = 60): CancelQuote => {
  return { type: 'CANCEL_QUOTE', quoteId: quoteIdOf(n), origin: originAt(block), position: at('settlement', block) };
};

const validity = (n: number, reason: InvalidReason | null, block = 60): SetValidity => {
  const position = at('settlement', block);
  return { type: 'SET_VALIDITY', quoteId: quoteIdOf(n), reason, origin: originAt(block), position };
};

const withdraw = (...ns: number[]): WithdrawQuotes => {
  const quoteIds = ns.map(quoteIdOf);
  return { type: 'WITHDRAW_QUOTES', provider: MAKER, quoteIds, reason: 'REQUESTED', signed: null };
};

const restore = (...ns: number[]): RestoreQuotes => {
  return { type: 'RESTORE_QUOTES', provider: MAKER, quoteIds: ns.map(quoteIdOf), signed: null };
};

const ask = { poolAddress: POOL.poolAddress, side: 'ask' } as const;

function behaviours(t: Test, make: () => EngineUnderTest): void {
  const begin = (...quotes: SampleQuote[]): Driver => {
    const driver = new Driver(make());
    driver.apply({ type: 'ADVANCE_POSITION', position: at('settlement', 50) });
    for (const quote of quotes) driver.apply(enter(sampleQuote(quote)));
    return driver;
  };

  t.test('fills before the publication was read follow it, each with its cause', async (t) => {
    const early = [
      { size: 4n, origin: originAt(48) },
      { size: 6n, origin: originAt(49) },
    ];
    const part = begin();
    const told = part.apply({ ...enter(sampleQuote({ n: 1 }), { fillableSize: 6n }), early: early.slice(0, 1) });
    t.match(told, [
      { type: 'QUOTE_POSTED', seq: 1, cause: { chain: 'stream' }, fillableSize: 10n, reason: null },
      { type: 'QUOTE_FILLED', seq: 2, cause: { chain: 'settlement', blockNumber: 48 }, fillableSize: 6n, size: 4n },
    ]);
    t.equal(told.length, 2);
    t.strictSame(numbers(part.engine.cover({ ...ask, size: 10n })), [1]);

    const whole = begin();
    t.match(whole.apply({ ...enter(sampleQuote({ n: 1 }), { fillableSize: 0n }), early }), [
      { type: 'QUOTE_POSTED', fillableSize: 10n },
      { type: 'QUOTE_FILLED', fillableSize: 6n, size: 4n, valid: true },
      { type: 'QUOTE_FILLED', fillableSize: 0n, size: 6n, valid: true },
      { type: 'QUOTE_REMOVED', why: 'FILLED', valid: true, cause: { blockNumber: 49 } },
    ]);
    t.equal(whole.engine.get(quoteIdOf(1))?.state, 'gone');
    const restated = [{ quoteId: quoteIdOf(1), state: { fillableSize: 10n, reason: null } }];
    const position = at('settlement', 47, 1);
    t.match(
      whole.apply({ type: 'REWIND_SETTLEMENT', position, settlementBlock: 47, restated }),
      [{ type: 'QUOTE_RESTATED', fillableSize: 10n, wasValid: false }],
      'a reorg undoes them as it undoes any fill',
    );
  });

  t.test('a cancel before the publication was read follows it, and what was filled before', async (t) => {
    const cancelled = { size: null, origin: originAt(50) };
    const gone = { fillableSize: 0n };
    t.match(begin().apply({ ...enter(sampleQuote({ n: 1 }), gone), early: [cancelled] }), [
      { type: 'QUOTE_POSTED', fillableSize: 10n },
      { type: 'QUOTE_REMOVED', why: 'CANCELLED', fillableSize: 0n, valid: true, cause: { blockNumber: 50 } },
    ]);
    const early = [{ size: 3n, origin: originAt(49) }, cancelled];
    t.match(begin().apply({ ...enter(sampleQuote({ n: 1 }), gone), early }), [
      { type: 'QUOTE_POSTED', fillableSize: 10n },
      { type: 'QUOTE_FILLED', fillableSize: 7n, size: 3n },
      { type: 'QUOTE_REMOVED', why: 'CANCELLED' },
    ]);
  });

  t.test('a quote whose fill took the means of its maker is invalid after the fill', async (t) => {
    const driver = begin();
    const state = { fillableSize: 6n, reason: 9 } as const;
    const early = [{ size: 4n, origin: originAt(48) }];
    t.match(driver.apply({ ...enter(sampleQuote({ n: 1 }), state), early }), [
      { type: 'QUOTE_POSTED', fillableSize: 10n, reason: null },
      { type: 'QUOTE_FILLED', fillableSize: 6n, valid: true },
      { type: 'QUOTE_INVALIDATED', fillableSize: 6n, reason: 9, cause: null },
    ]);
  });

  t.test('a withdrawn quote leaves the book, and comes back as what the chain has made of it', async (t) => {
    const driver = begin({ n: 1 }, { n: 2 });
    t.match(driver.apply(withdraw(1)), [
      { type: 'QUOTE_WITHDRAWN', cause: null, reason: 'REQUESTED', fillableSize: 10n, valid: true },
    ]);
    t.same(numbers(driver.engine.cover({ ...ask, size: 20n })), [2]);
    t.same(numbers(driver.engine.orders().valid), [2]);
    t.same(numbers(driver.engine.orders({ quoteIds: [quoteIdOf(1)] }).invalid), []);
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'withdrawn');
    t.same(driver.apply(withdraw(1)), [], 'once');
    t.match(driver.apply(fill(1, 3n)), [{ type: 'WITHDRAWN_QUOTE_FILLED', size: 3n, fillableSize: 7n }]);
    t.same(driver.apply(validity(1, 8, 61)), [], 'its provider cannot pay, which shows nowhere');
    t.match(driver.apply(restore(1)), [{ type: 'QUOTE_RESTORED', fillableSize: 7n, reason: 8 }]);
    t.same(numbers(driver.engine.orders().invalid), [1]);
    t.same(driver.apply(restore(1)), [], 'once');
    driver.apply(validity(1, null, 62), withdraw(1));
    t.match(driver.apply(restore(1)), [{ type: 'QUOTE_RESTORED', fillableSize: 7n, reason: null }]);
    t.same(numbers(driver.engine.cover({ ...ask, size: 17n })), [1, 2], 'in its old place');
  });

  t.test('a withdrawn quote that is filled, cancelled or due is removed as any other', async (t) => {
    const driver = begin({ n: 1 }, { n: 2 }, { n: 3, deadline: START + 5 });
    driver.apply(withdraw(1, 2, 3));
    t.match(driver.apply(fill(1, 10n)), [
      { type: 'WITHDRAWN_QUOTE_FILLED', fillableSize: 0n, size: 10n },
      { type: 'QUOTE_REMOVED', why: 'FILLED', valid: false },
    ]);
    t.match(driver.apply(cancel(2)), [{ type: 'QUOTE_REMOVED', why: 'CANCELLED', valid: false }]);
    t.match(driver.tickAt(6), [{ type: 'QUOTE_REMOVED', why: 'EXPIRED', valid: false }]);
  });

  t.test('reorgs leave a quote withdrawn, and so does its publication on the new branch', async (t) => {
    const driver = begin({ n: 1 });
    driver.apply(fill(1, 10n), withdraw(1));
    const restated = [{ quoteId: quoteIdOf(1), state: { fillableSize: 10n, reason: null } }];
    const position = at('settlement', 59, 1);
    t.match(driver.apply({ type: 'REWIND_SETTLEMENT', position, settlementBlock: 59, restated }), [
      { type: 'WITHDRAWN_QUOTE_RESTATED', fillableSize: 10n },
    ]);
    t.match(driver.apply({ type: 'REWIND_STREAM', position: at('stream', 90, 1) }), [
      { type: 'QUOTE_REMOVED', why: 'REWOUND', valid: false },
    ]);
    t.equal(driver.engine.get(quoteIdOf(1)), undefined);
    t.same(driver.apply(enter(sampleQuote({ n: 1, blockNumber: 130 }))), []);
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'withdrawn');
    t.same(driver.engine.cover({ ...ask, size: 1n }), []);
    t.match(driver.apply(restore(1)), [{ type: 'QUOTE_RESTORED', fillableSize: 10n, reason: null }]);
  });

  t.test('only its provider withdraws a quote, and each nonce counts once until its deadline', async (t) => {
    const driver = begin({ n: 1 });
    t.same(driver.apply({ ...withdraw(1), provider: TAKER }), []);
    const signed = { nonce: 7n, deadline: START + 5 };
    driver.apply({ ...withdraw(1), signed });
    t.ok(driver.engine.isSpent(MAKER, 7n));
    t.same(driver.apply({ ...restore(1), provider: TAKER }), []);
    t.same(driver.apply({ ...restore(1), signed }), [], 'the nonce is spent');
    driver.elapsedMs = 6_000;
    t.same(driver.apply({ ...restore(1), signed: { ...signed, nonce: 8n } }), [], 'past its deadline');
    t.notOk(driver.engine.isSpent(MAKER, 7n), 'a nonce is forgotten after its deadline');
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'withdrawn');
  });

  t.test('a published quote enters the book, and its event names the cause', async (t) => {
    const driver = begin();
    const quote = sampleQuote({ n: 1 });
    t.same(driver.apply(enter(quote)), [
      {
        type: 'QUOTE_POSTED',
        seq: 1,
        cause: { chain: 'stream', ...quote.origin },
        quoteId: quote.quoteId,
        fillableSize: 10n,
        reason: null,
      },
    ]);
    t.equal(driver.engine.get(quote.quoteId)?.state, 'live');
    t.same(numbers(driver.engine.cover({ ...ask, size: 1n })), [1]);
  });

  t.test('a quote published twice is entered once, and keeps the age of the first', async (t) => {
    const driver = begin({ n: 1 }, { n: 2 });
    t.same(driver.apply(enter(sampleQuote({ n: 1, blockNumber: 120 }))), []);
    t.same(numbers(driver.engine.cover({ ...ask, size: 20n })), [1, 2]);
    t.equal(driver.engine.positions().stream?.blockNumber, 120, 'the position moves all the same');
  });

  t.test('a quote that its provider cannot pay for is known and not in the book', async (t) => {
    const driver = begin();
    const events = driver.apply(enter(sampleQuote({ n: 1 }), { reason: 8 }));
    t.same(pick(events, 'type', 'reason'), [['QUOTE_POSTED', 8]]);
    t.same(driver.engine.cover({ ...ask, size: 1n }), []);
    t.same(numbers(driver.engine.orders().invalid), [1]);
  });

  t.test('a quote with nothing left, or past its time, is not entered', async (t) => {
    const driver = begin();
    t.same(driver.apply(enter(sampleQuote({ n: 1 }), { fillableSize: 0n })), []);
    t.same(driver.apply(enter(sampleQuote({ n: 2, deadline: START - 1 }))), []);
    t.same(driver.engine.orders(), { valid: [], invalid: [], next: null });
    t.equal(driver.engine.get(quoteIdOf(2)), undefined);
  });

  t.test('a quote enters with what the chain says is left', async (t) => {
    const driver = begin();
    driver.apply(enter(sampleQuote({ n: 1 }), { fillableSize: 4n }));
    t.equal(driver.engine.get(quoteIdOf(1))?.fillableSize, 4n);
  });

  t.test('a part fill takes its part', async (t) => {
    const driver = begin({ n: 1 });
    t.same(pick(driver.apply(fill(1, 3n)), 'type', 'size', 'fillableSize', 'valid'), [['QUOTE_FILLED', 3n, 7n, true]]);
    t.same(driver.engine.levelAt({ ...ask, taker: null }, 100n), { price: 100n, size: 7n, count: 1 });
  });

  t.test('what is taken of public and of private quotes leaves the levels of those who see them', async (t) => {
    const driver = begin({ n: 1 }, { n: 2, taker: TAKER }, { n: 3, taker: TAKER }, { n: 4, taker: MAKER });
    const seen = () =>
      ([null, TAKER, MAKER] as const).map((taker) => {
        const { size, count } = driver.engine.levelAt({ ...ask, taker }, 100n);
        return [size, count];
      });
    const all = [10n, 1] as const;
    t.same(seen(), [all, [30n, 3], [20n, 2]]);
    driver.apply(fill(1, 3n), fill(2, 4n));
    t.same(seen(), [
      [7n, 1],
      [23n, 3],
      [17n, 2],
    ]);
    driver.apply(cancel(3, 61));
    t.same(seen(), [
      [7n, 1],
      [13n, 2],
      [17n, 2],
    ]);
    driver.apply(cancel(1, 62), fill(2, 6n, 63));
    t.same(seen(), [[0n, 0], [0n, 0], all]);
    t.same(driver.engine.levels({ ...ask, taker: TAKER }), []);
  });

  t.test('a full fill tells of the fill and then of the removal', async (t) => {
    const driver = begin({ n: 1 });
    const events = driver.apply(fill(1, 10n));
    t.same(pick(events, 'type', 'seq', 'fillableSize', 'why', 'valid'), [
      ['QUOTE_FILLED', 2, 0n, undefined, true],
      ['QUOTE_REMOVED', 3, 0n, 'FILLED', true],
    ]);
    t.same(events[0]?.cause, { chain: 'settlement', ...originAt(60) });
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'gone');
    t.same(driver.engine.levels({ ...ask, taker: null }), []);
  });

  t.test('a fill of more than is left takes what is left', async (t) => {
    const driver = begin({ n: 1 });
    t.same(pick(driver.apply(fill(1, 11n)), 'type', 'size'), [
      ['QUOTE_FILLED', 10n],
      ['QUOTE_REMOVED', undefined],
    ]);
  });

  t.test('a fill that the state at entry already counts is not counted again', async (t) => {
    const driver = begin();
    driver.apply(enter(sampleQuote({ n: 1 }), { fillableSize: 4n }, 55));
    t.same(driver.apply(fill(1, 6n, 55)), []);
    t.same(pick(driver.apply(fill(1, 1n, 56)), 'fillableSize'), [[3n]]);
  });

  t.test('a fill counts in a block that has said no more than whether its provider can pay', async (t) => {
    const driver = begin({ n: 1 });
    driver.apply(validity(1, 8, 60), validity(1, null, 61));
    t.same(pick(driver.apply(fill(1, 3n, 61)), 'fillableSize'), [[7n]]);
  });

  t.test('a fill of an invalid quote reduces it', async (t) => {
    const driver = begin();
    driver.apply(enter(sampleQuote({ n: 1 }), { reason: 9 }));
    t.same(pick(driver.apply(fill(1, 3n)), 'fillableSize', 'valid'), [[7n, false]]);
    t.same(pick(driver.apply(fill(1, 7n)), 'type', 'valid'), [
      ['QUOTE_FILLED', false],
      ['QUOTE_REMOVED', false],
    ]);
    t.same(driver.engine.orders(), { valid: [], invalid: [], next: null });
  });

  t.test('a fill or cancel of what is not known only moves the position', async (t) => {
    const driver = begin({ n: 1 });
    t.same(driver.apply(fill(7, 3n, 61), cancel(7, 62), validity(7, 8, 63)), []);
    t.equal(driver.engine.positions().settlement?.blockNumber, 63);
  });

  t.test('a cancel removes the quote, once', async (t) => {
    const driver = begin({ n: 1 });
    t.same(pick(driver.apply(cancel(1)), 'type', 'why', 'fillableSize', 'valid'), [
      ['QUOTE_REMOVED', 'CANCELLED', 0n, true],
    ]);
    t.same(driver.apply(cancel(1, 61)), []);
    t.same(driver.apply(fill(1, 1n, 62)), []);
  });

  t.test('a gone quote that is published again stays gone', async (t) => {
    const driver = begin({ n: 1 });
    driver.apply(cancel(1));
    t.same(driver.apply(enter(sampleQuote({ n: 1, blockNumber: 130 }))), []);
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'gone');
  });

  t.test('a quote leaves the book when its provider cannot pay, and comes back to its place', async (t) => {
    const driver = begin({ n: 1 }, { n: 2 }, { n: 3 });
    t.same(pick(driver.apply(validity(2, 8)), 'type', 'reason', 'fillableSize'), [['QUOTE_INVALIDATED', 8, 10n]]);
    t.same(numbers(driver.engine.cover({ ...ask, size: 30n })), [1, 3]);
    t.same(driver.apply(validity(2, 9, 61)), [], 'another reason is no other state');
    t.equal(driver.engine.orders().invalid[0]?.reason, 9);
    t.same(pick(driver.apply(validity(2, null, 62)), 'type'), [['QUOTE_REVALIDATED']]);
    t.same(numbers(driver.engine.cover({ ...ask, size: 30n })), [1, 2, 3]);
  });

  t.test('validity that was asked before a newer answer changes nothing', async (t) => {
    const driver = begin({ n: 1 });
    driver.apply(validity(1, 8, 70));
    t.same(driver.apply(validity(1, null, 69)), []);
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'invalid');
    t.equal(driver.engine.positions().settlement?.blockNumber, 70, 'nor does the position go back');
  });

  t.test('a quote can be filled through its deadline and not after it', async (t) => {
    const driver = begin({ n: 1, deadline: START + 5 });
    driver.elapsedMs = 5_999;
    t.same(driver.apply({ type: 'TICK' }), []);
    t.same(pick(driver.tickAt(6), 'type', 'why', 'fillableSize', 'cause'), [['QUOTE_REMOVED', 'EXPIRED', 10n, null]]);
    t.equal(driver.engine.get(quoteIdOf(1)), undefined);
  });

  t.test('a quote ends with the maturity of its pool', async (t) => {
    const pool = { ...POOL, poolKey: { ...POOL.poolKey, maturity: START + 5 } };
    const driver = begin({ n: 1, pool });
    t.equal(driver.engine.nextDueMs(), (START + 5) * 1000);
    t.same(driver.tickAt(4), []);
    t.same(pick(driver.tickAt(5), 'why'), [['EXPIRED']]);
    t.equal(driver.engine.nextDueMs(), null);
  });

  t.test('what is due goes before the command is done, first due first, of one second the oldest first', async (t) => {
    const driver = begin({ n: 3, deadline: START + 7 }, { n: 2, deadline: START + 6 }, { n: 1, deadline: START + 7 });
    driver.elapsedMs = 8_000;
    t.same(pick(driver.apply(fill(1, 1n), fill(2, 1n)), 'type', 'quoteId'), [
      ['QUOTE_REMOVED', quoteIdOf(2)],
      ['QUOTE_REMOVED', quoteIdOf(1)],
      ['QUOTE_REMOVED', quoteIdOf(3)],
    ]);
  });

  t.test('a reorg of the stream withdraws what it published, and it may be published again', async (t) => {
    const driver = begin({ n: 1, blockNumber: 100 }, { n: 2, blockNumber: 101 }, { n: 3, blockNumber: 102 });
    driver.apply(cancel(3));
    t.same(pick(driver.apply({ type: 'REWIND_STREAM', position: at('stream', 100) }), 'type', 'quoteId', 'why'), [
      ['QUOTE_REMOVED', quoteIdOf(2), 'REWOUND'],
    ]);
    t.equal(driver.engine.get(quoteIdOf(3)), undefined);
    t.same(driver.engine.positions().stream, at('stream', 100));
    const again = { ...enter(sampleQuote({ n: 2, blockNumber: 101 })), position: at('stream', 101, 1) };
    t.same(pick(driver.apply(again), 'type'), [['QUOTE_POSTED']]);
    t.same(driver.engine.positions().stream?.blockHash, blockHashOf(101, 1));
  });

  t.test('a reorg of the settlement chain states anew what it touched', async (t) => {
    const driver = begin({ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 });
    driver.apply(fill(1, 4n, 61), fill(2, 10n, 61), cancel(3, 61), validity(4, 8, 61));
    t.same(numbers(driver.engine.touchedSince(60)), [1, 2, 3, 4]);
    const state = (n: number, fillableSize: bigint, reason: InvalidReason | null = null) => ({
      quoteId: quoteIdOf(n),
      state: { fillableSize, reason },
    });
    const events = driver.apply({
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 60),
      settlementBlock: 62,
      restated: [state(1, 10n), state(2, 10n, 9), state(3, 0n), state(4, 10n), state(99, 1n)],
    });
    t.same(pick(events, 'type', 'quoteId', 'fillableSize', 'wasValid', 'reason'), [
      ['QUOTE_RESTATED', quoteIdOf(1), 10n, true, null],
      ['QUOTE_RESTATED', quoteIdOf(2), 10n, false, 9],
      ['QUOTE_REVALIDATED', quoteIdOf(4), 10n, undefined, undefined],
    ]);
    t.same(numbers(driver.engine.cover({ ...ask, size: 100n })), [1, 4, 5]);
    t.same(driver.apply(fill(1, 1n, 62)), [], 'the new state counts the fills of the new branch up to its block');
    t.same(pick(driver.apply(fill(1, 1n, 63)), 'fillableSize'), [[9n]]);
  });

  t.test('a reorg that leaves nothing to fill removes the quote', async (t) => {
    const driver = begin({ n: 1 });
    driver.apply(fill(1, 1n, 61));
    const events = driver.apply({
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 60),
      settlementBlock: 61,
      restated: [{ quoteId: quoteIdOf(1), state: { fillableSize: 0n, reason: null } }],
    });
    t.same(pick(events, 'type', 'why', 'fillableSize', 'valid'), [['QUOTE_REMOVED', 'REWOUND', 0n, true]]);
  });

  t.test('a quote that was filled before it was read comes back when that is undone', async (t) => {
    const driver = begin();
    driver.apply(enter(sampleQuote({ n: 1 }), { fillableSize: 0n }, 50));
    t.same(numbers(driver.engine.touchedSince(49)), [1]);
    const events = driver.apply({
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 49),
      settlementBlock: 51,
      restated: [{ quoteId: quoteIdOf(1), state: { fillableSize: 10n, reason: null } }],
    });
    t.same(pick(events, 'type', 'wasValid', 'reason'), [['QUOTE_RESTATED', false, null]]);
    t.same(numbers(driver.engine.cover({ ...ask, size: 1n })), [1]);
  });

  t.test('a gone quote is forgotten when no reorg can bring it back', async (t) => {
    const driver = begin({ n: 1 });
    driver.apply(cancel(1, 60));
    driver.apply({ type: 'ADVANCE_POSITION', position: at('settlement', 60 + REORG_DEPTH - 1) });
    t.equal(driver.engine.get(quoteIdOf(1))?.state, 'gone');
    driver.apply({ type: 'ADVANCE_POSITION', position: at('settlement', 60 + REORG_DEPTH) });
    t.equal(driver.engine.get(quoteIdOf(1)), undefined);
  });

  t.test('a pool is known from its deployment to its maturity, or to the reorg that undoes it', async (t) => {
    const driver = begin();
    const deploy = (block: number) =>
      driver.apply({
        type: 'DEPLOY_POOL',
        pool: POOL,
        deployedAt: START - 5,
        origin: originAt(block),
        position: at('settlement', block),
      });
    t.same(pick(deploy(61), 'type', 'pool'), [['POOL_DEPLOYED', POOL]]);
    t.equal(driver.engine.nextDueMs(), POOL.poolKey.maturity * 1000);
    t.same(deploy(62), []);
    t.equal(driver.engine.pool(POOL.poolAddress)?.deployedAt, START - 5);
    const undone = driver.apply({
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 60),
      settlementBlock: 61,
      restated: [],
    });
    t.same(pick(undone, 'type', 'pool'), [['POOL_WITHDRAWN', POOL]]);
    t.same([...driver.engine.pools()], []);
    t.equal(driver.engine.nextDueMs(), null);
    deploy(61);
    t.same(driver.tickAt(POOL.poolKey.maturity - START), [], 'all who know a pool know its maturity');
    t.same([...driver.engine.pools()], []);
    t.same(deploy(63), []);
  });

  t.test('of pools with one maturity a reorg undoes those after it, and the others mature', async (t) => {
    const driver = begin();
    const pools = [1, 2, 3].map((n) => samplePool(n));
    pools.forEach((pool, i) => {
      const block = 61 + i;
      const position = at('settlement', block);
      driver.apply({ type: 'DEPLOY_POOL', pool, deployedAt: START, origin: originAt(block), position });
    });
    const undone = driver.apply({
      type: 'REWIND_SETTLEMENT',
      position: at('settlement', 61),
      settlementBlock: 61,
      restated: [],
    });
    t.same(pick(undone, 'type', 'pool'), [
      ['POOL_WITHDRAWN', pools[1]],
      ['POOL_WITHDRAWN', pools[2]],
    ]);
    t.same(
      [...driver.engine.pools()].map(({ pool }) => pool),
      [pools[0]],
    );
    driver.tickAt(POOL.poolKey.maturity - START);
    t.same([...driver.engine.pools()], []);
    t.equal(driver.engine.nextDueMs(), null);
  });

  t.test('a request for quote is passed on and changes nothing', async (t) => {
    const driver = begin({ n: 1 });
    const rfq = { poolAddress: POOL.poolAddress, side: 'ask', size: 5n, taker: MAKER, body: '{}' } as const;
    t.same(pick(driver.apply({ type: 'PUBLISH_RFQ', rfq }), 'type', 'seq', 'rfq'), [['RFQ_PUBLISHED', 2, rfq]]);
  });

  t.test('events are numbered without a gap', async (t) => {
    const driver = begin();
    const events = driver.apply(
      enter(sampleQuote({ n: 1 })),
      enter(sampleQuote({ n: 1 })),
      enter(sampleQuote({ n: 2 })),
      fill(1, 10n),
      cancel(2, 61),
    );
    t.same(pick(events, 'seq'), [[1], [2], [3], [4], [5]]);
  });
}

t.test('engine', async (t) => behaviours(t, () => newEngine()));
t.test('naive engine', async (t) => behaviours(t, () => new NaiveEngine(REORG_DEPTH)));

t.test('a fill is a trade whether or not the book knows its quote, and a reorg undoes the trades', async (t) => {
  const engine = newEngine();
  const terms = { pool: POOL, provider: MAKER, taker: TAKER, price: 7n, fee: 1n, isBuy: true, time: START };
  const stamp = (index: number) => ({ index, tsMs: START * 1000 });
  const position = { chain: 'settlement' as const, blockNumber: 12, blockHash: blockHashOf(12), logIndex: 3 };
  const origin = originAt(12, 3);
  const fill = { type: 'FILL_QUOTE' as const, quoteId: quoteIdOf(9), size: 5n, trade: terms, origin, position };
  const trade = { ...terms, quoteId: quoteIdOf(9), size: 5n, blockHash: blockHashOf(12) };
  t.strictSame(engine.apply(fill, stamp(1)), [
    { type: 'TRADE_RECORDED', seq: 1, cause: { chain: 'settlement', ...origin }, trade },
  ]);
  const ancestor = { ...position, blockNumber: 11, blockHash: blockHashOf(11), logIndex: null };
  t.strictSame(engine.apply({ type: 'ADVANCE_POSITION', position: { ...position, logIndex: null } }, stamp(2)), []);
  const rewind = { type: 'REWIND_SETTLEMENT' as const, position: ancestor, settlementBlock: 11, restated: [] };
  t.strictSame(engine.apply({ ...rewind, undoesTrades: true }, stamp(3)), [
    { type: 'TRADES_UNDONE', seq: 2, cause: null, blockNumber: 11 },
  ]);
  t.strictSame(engine.apply(rewind, stamp(4)), [], 'a log of before says nothing of trades');
});
