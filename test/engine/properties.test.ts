import { deepStrictEqual as same, strictEqual as equal } from 'node:assert';
import fc from 'fast-check';
import t from 'tap';
import type { Command, Stamp } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { OrdersResult } from '../../src/engine/queries.js';
import type { Order } from '../../src/engine/quote.js';
import { numbers } from './driver.js';
import { type EngineUnderTest, NaiveEngine } from './naive-engine.js';
import { CommandMaker, MAKERS, POOLS, QUOTES, type Step, steps, TAKERS } from './random-commands.js';
import { newEngine, plain, quoteIdOf, REORG_DEPTH, START } from './samples.js';

const RUNS = 300;

interface Recorded {
  readonly command: Command;
  readonly stamp: Stamp;
  readonly events: unknown;
}

const QUOTE_IDS = Array.from({ length: QUOTES }, (_, n) => quoteIdOf(n));
const NONCES = Array.from({ length: 10 }, (_, nonce) => BigInt(nonce));

/** Whatever can be asked, asked. */
function view(engine: EngineUnderTest): unknown {
  const states = (orders: readonly Order[]) =>
    orders.map(({ quote, fillableSize, state, reason }) => [quote.salt, fillableSize, state, reason]);
  const both = ({ valid, invalid }: OrdersResult) => [states(valid), states(invalid)];
  return {
    positions: engine.positions(),
    nextDueMs: engine.nextDueMs(),
    touched: states(engine.touchedSince(-1)),
    withdrawn: QUOTE_IDS.map((quoteId) => engine.withdrawal(quoteId)?.provider),
    spent: MAKERS.map((maker) => NONCES.map((nonce) => engine.isSpent(maker, nonce))),
    pools: [...engine.pools()].map(({ pool }) => pool.poolAddress).sort(),
    quotedPools: [...engine.quotedPools()].map(({ poolAddress }) => poolAddress).sort(),
    providers: [...engine.providers()].sort(),
    ordersOf: MAKERS.map((maker) => numbers(engine.ordersOf(maker)).sort()),
    all: [both(engine.orders()), both(engine.orders({ minFillableSize: 4n }))],
    pages: pages(engine, 2).map(both),
    byTaker: TAKERS.map((taker) => both(engine.orders({ taker }))),
    byMaker: MAKERS.map((provider) => both(engine.orders({ provider, side: 'ask' }))),
    byPool: POOLS.map(({ poolAddress }) => [
      both(engine.orders({ poolAddress })),
      (['ask', 'bid'] as const).map((side) => [
        states(engine.cover({ poolAddress, side, size: 5n })),
        states(engine.cover({ poolAddress, side, size: 1000n })),
        [null, ...TAKERS].map((taker) => engine.levels({ poolAddress, side, taker }, 3)),
        TAKERS.map((taker) => engine.levelAt({ poolAddress, side, taker }, 101n)),
        TAKERS.map((taker) => [
          states(engine.privateQuotes({ poolAddress, side, taker })),
          states(engine.cover({ poolAddress, side, size: 15n, taker })),
          MAKERS.map((provider) => states(engine.cover({ poolAddress, side, size: 9n, taker, provider }))),
        ]),
      ]),
    ]),
  };
}

/** Every order, so many at a time. */
function pages(engine: EngineUnderTest, limit: number): ReturnType<EngineUnderTest['orders']>[] {
  const found = [engine.orders({ limit })];
  for (let next = found[0]?.next; next; next = found.at(-1)?.next) {
    found.push(engine.orders({ limit, olderThan: next }));
  }
  return found;
}

/** Runs steps on a new engine, one record for each; `after` sees the engine once each is applied. */
function run(all: Step[], after?: (engine: Engine, record: Recorded) => void): { engine: Engine; log: Recorded[] } {
  let engine = newEngine();
  const maker = new CommandMaker();
  const log: Recorded[] = [];
  let tsMs = START * 1000;
  for (const step of all) {
    if (step.kind === 'restart') {
      const before = engine;
      engine = newEngine();
      engine.importState(before.exportState());
      equal(engine.stateHash(), before.stateHash());
      same(engine.exportState(), before.exportState());
      continue;
    }
    const isInParts = step.kind === 'pass' && step.ms % 3 === 0;
    if (step.kind === 'pass' && !isInParts) tsMs += step.ms;
    const command = isInParts ? maker.expireSome(engine, step.ms) : maker.make(step, engine);
    const stamp = { index: log.length + 1, tsMs };
    const record = { command, stamp, events: engine.apply(command, stamp).map(plain) };
    log.push(record);
    after?.(engine, record);
  }
  return { engine, log };
}

t.test('after any commands the engine tells and answers what the naive one does', async () => {
  const property = fc.property(steps, (all) => {
    const naive = new NaiveEngine(REORG_DEPTH);
    run(all, (engine, { command, stamp, events }) => {
      same(events, naive.apply(command, stamp).map(plain));
      engine.checkInvariants();
      same(view(engine), view(naive));
    });
  });
  fc.assert(property, { numRuns: RUNS });
});

t.test('the same log gives the same events and the same state', async () => {
  const property = fc.property(steps, (all) => {
    const { engine, log } = run(all);
    const again = newEngine();
    for (const { command, stamp, events } of log) same(again.apply(command, stamp).map(plain), events);
    same(again.exportState(), engine.exportState());
    equal(again.stateHash(), engine.stateHash());
  });
  fc.assert(property, { numRuns: RUNS });
});

t.test('events are numbered without a gap whatever happens', async () => {
  const property = fc.property(steps, (all) => {
    let seq = 0;
    run(all, (engine, { events }) => {
      for (const event of events as { seq: number }[]) {
        seq += 1;
        equal(event.seq, seq);
      }
      equal(engine.seq, seq);
    });
  });
  fc.assert(property, { numRuns: RUNS });
});
