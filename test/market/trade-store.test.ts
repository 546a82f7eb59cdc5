import fc from 'fast-check';
import t from 'tap';
import { limits } from '../../src/config/limits.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { Hex } from '../../src/engine/quote.js';
import { TradeHistory } from '../../src/market/trade-history.js';
import { type Candle, type PlacedTrade, TradeStore } from '../../src/market/trade-store.js';
import { blockHashOf, MAKER, POOL, quoteIdOf, samplePool, TAKER, txHashOf } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

const POOLS = [POOL, samplePool(1)];
const ALL = { poolAddress: null, isBuy: null, provider: null, taker: null, from: 0, to: Infinity };
const DAY = 86_400;

/** A trade on a branch: block n is at 30 n seconds. */
function traded(blockNumber: number, logIndex: number, branch = 0): Extract<EngineEvent, { type: 'TRADE_RECORDED' }> {
  const origin = { blockNumber, txHash: txHashOf(blockNumber), logIndex };
  const trade = {
    pool: POOLS[logIndex % 2] ?? POOL,
    quoteId: quoteIdOf(logIndex),
    provider: MAKER,
    taker: TAKER,
    price: BigInt(1 + ((blockNumber * 7 + logIndex * 3 + branch) % 11)),
    size: BigInt(1 + ((blockNumber + branch) % 5)),
    fee: 1n,
    isBuy: logIndex % 3 === 0,
    time: blockNumber * 30,
    blockHash: blockHashOf(blockNumber, branch),
  };
  return { type: 'TRADE_RECORDED', seq: 0, cause: { chain: 'settlement', ...origin }, trade };
}

const undone = (blockNumber: number): EngineEvent => ({ type: 'TRADES_UNDONE', seq: 0, cause: null, blockNumber });

/** Plainly, from a list in the chain's order. */
function candlesOf(trades: readonly PlacedTrade[], seconds: number): Candle[] {
  const times = [...new Set(trades.map(({ time }) => Math.floor(time / seconds) * seconds))];
  return times.map((time) => {
    const within = trades.filter((trade) => trade.time >= time && trade.time < time + seconds);
    const prices = within.map(({ price }) => price);
    const sorted = [...prices].sort((a, b) => Number(a - b));
    return {
      time,
      open: prices[0] ?? 0n,
      high: sorted.at(-1) ?? 0n,
      low: sorted[0] ?? 0n,
      close: prices.at(-1) ?? 0n,
      volume: within.reduce((sum, { size }) => sum + size, 0n),
      count: within.length,
    };
  });
}

t.test('candles equal those of the plain list, under trades in any order, repeats, reorgs and restarts', async (t) => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('trade' as const), block: fc.nat(40), log: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reorg' as const), block: fc.nat(40), log: fc.nat(1) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), block: fc.nat(0), log: fc.nat(0) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.constantFrom(60, 300), (steps, seconds) => {
      let store = new TradeStore(1000, DAY);
      const log: EngineEvent[] = [];
      let plain: PlacedTrade[] = [];
      let branch = 0;
      for (const { kind, block, log: logIndex } of steps) {
        if (kind === 'restart') {
          store = new TradeStore(1000, DAY);
          for (const event of log) store.apply(event);
          continue;
        }
        if (kind === 'reorg') branch += 1;
        const event = kind === 'trade' ? traded(block, logIndex, branch % 16) : undone(block);
        log.push(event);
        store.apply(event);
        if (event.type === 'TRADE_RECORDED') {
          plain = plain.filter((trade) => trade.blockNumber !== block || trade.logIndex !== logIndex);
          plain.push({ ...event.trade, ...event.cause });
        } else plain = plain.filter(({ blockNumber }) => blockNumber <= block);
      }
      plain.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
      for (const { poolAddress } of POOLS) {
        const own = plain.filter(({ pool }) => pool.poolAddress === poolAddress);
        t.strictSame(store.candles({ ...ALL, poolAddress }, seconds), candlesOf(own, seconds));
      }
      const newest = [...store.newest(ALL, null)].map(({ blockHash, logIndex }) => [blockHash, logIndex]);
      t.strictSame(
        newest,
        plain.reverse().map(({ blockHash, logIndex }) => [blockHash, logIndex]),
      );
    }),
    { numRuns: 60 },
  );
});

t.test('pages go on where the last one ended, through a filter', (t) => {
  const store = new TradeStore(1000, DAY);
  for (let block = 1; block <= 9; block += 1) store.apply(traded(block, block));
  const filter = { ...ALL, isBuy: true, from: 60 };
  const [first] = store.newest(filter, null);
  t.equal(first?.blockNumber, 9);
  t.strictSame(
    [...store.newest(filter, first ?? null)].map(({ blockNumber }) => blockNumber),
    [6, 3],
  );
  t.end();
});

t.test('a filter by the taker leaves out what others took, and so do its pages', (t) => {
  const store = new TradeStore(1000, DAY);
  const takerOf = (block: number): Hex => (block % 2 === 0 ? TAKER : MAKER);
  for (let block = 1; block <= 6; block += 1) {
    const event = traded(block, 0);
    store.apply({ ...event, trade: { ...event.trade, taker: takerOf(block) } });
  }
  const blocks = (taker: Hex | null, before: PlacedTrade | null): number[] =>
    Array.from(store.newest({ ...ALL, taker }, before), ({ blockNumber }) => blockNumber);
  t.strictSame(blocks(TAKER, null), [6, 4, 2]);
  const [newest = null] = store.newest({ ...ALL, taker: TAKER }, null);
  t.strictSame(blocks(TAKER, newest), [4, 2]);
  t.strictSame(blocks(null, newest), [5, 4, 3, 2, 1]);
  t.end();
});

t.test('the oldest trades go for want of room and by their age, and it is known since when all are there', (t) => {
  const store = new TradeStore(2, DAY);
  for (const block of [1, 2, 3]) store.apply(traded(block, 0));
  t.equal(store.size, 2);
  t.equal(store.since(100), 31, 'the trade of second 30 went');
  t.equal(store.since(2 * DAY), DAY);
  store.expire(DAY + 70);
  t.strictSame(
    [...store.newest(ALL, null)].map(({ time }) => time),
    [90],
  );
  t.end();
});

t.test('trades and reorgs that come while the past is read count after it', async (t) => {
  const history = new TradeHistory({ ...limits, tradesKept: 10, tradeDays: 1, pastGroupsPerTurn: 1 });
  const timed = (event: EngineEvent) => ({ event, tsMs: 0 });
  const past = {
    since: 0,
    async *readSince() {
      yield [timed(traded(1, 0)), timed(traded(2, 0))];
      const command = { type: 'TICK' } as const;
      history.onRecords([{ stamp: { index: 5, tsMs: 0 }, command, events: [undone(1), traded(2, 0, 1)] }]);
      yield [timed(traded(2, 1))];
    },
  };
  t.notOk(history.isComplete);
  const clock = new ManualClock();
  const reading = history.readPast(past, { index: 4, seq: 2, tsMs: 0 }, clock, () => false);
  for (let turn = 0; turn < 20; turn += 1) {
    clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await reading;
  t.ok(history.isComplete);
  const kept = [...history.store.newest(ALL, null)].map(({ blockHash }) => blockHash);
  t.strictSame(kept, [blockHashOf(2, 1), blockHashOf(1)]);
});

t.test('where the log begins later, trades are known from its first record on', async (t) => {
  const history = new TradeHistory({ ...limits, tradesKept: 10, tradeDays: 10, pastGroupsPerTurn: 1_000 });
  const startMs = 20 * DAY * 1_000;
  const first = 15 * DAY;
  const past = {
    since: 400,
    async *readSince(sinceMs: number) {
      t.equal(sinceMs, 10 * DAY * 1_000);
      yield [];
      yield [
        { event: { ...undone(1), seq: 401 }, tsMs: first * 1_000 + 250 },
        { event: traded(2, 0), tsMs: first * 1_000 + 900 },
      ];
    },
  };
  await history.readPast(past, { index: 9, seq: 402, tsMs: startMs }, new ManualClock(), () => false);
  const now = startMs / 1_000;
  t.equal(history.store.since(now), first + 1, 'a trade of the same second may be gone');
  t.equal(history.store.since(now + 7 * DAY), now - 3 * DAY, 'later its age decides');
  // 0: nothing was dropped. 300: what was dropped is older than the events between it and those that were read.
  for (const since of [0, 300]) {
    const whole = new TradeHistory({ ...limits, tradesKept: 10, tradeDays: 10, pastGroupsPerTurn: 1_000 });
    await whole.readPast({ ...past, since }, { index: 9, seq: 402, tsMs: startMs }, new ManualClock(), () => false);
    t.equal(whole.store.since(now), 10 * DAY);
  }
});
