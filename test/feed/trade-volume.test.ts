import fc from 'fast-check';
import t from 'tap';
import type { TradeRecorded, TradesUndone } from '../../src/engine/event.js';
import { TradeVolume } from '../../src/feed/trade-volume.js';
import { TradeStore } from '../../src/market/trade-store.js';
import { blockHashOf, MAKER, POOL, quoteIdOf, samplePool, TAKER, txHashOf } from '../engine/samples.js';

const POOLS = [POOL, samplePool(1)];
const DAY = 86_400;
/** Blocks are an hour apart, so that a day passes within a run. */
const HOUR = 3_600;

function traded(blockNumber: number, logIndex: number, size: number): TradeRecorded {
  const trade = {
    pool: POOLS[logIndex % 2] ?? POOL,
    quoteId: quoteIdOf(logIndex),
    provider: MAKER,
    taker: TAKER,
    price: 1n,
    size: BigInt(size),
    fee: 1n,
    isBuy: true,
    time: blockNumber * HOUR,
    blockHash: blockHashOf(blockNumber),
  };
  const cause = { chain: 'settlement', blockNumber, txHash: txHashOf(blockNumber), logIndex } as const;
  return { type: 'TRADE_RECORDED', seq: 0, cause, trade };
}

const undone = (blockNumber: number): TradesUndone => ({ type: 'TRADES_UNDONE', seq: 0, cause: null, blockNumber });

/** By the trades of GET /trades. */
function sums(store: TradeStore, nowSeconds: number): bigint[] {
  const day = { isBuy: null, provider: null, taker: null, from: nowSeconds - DAY + 1, to: Infinity };
  return POOLS.map(({ poolAddress }) =>
    [...store.newest({ ...day, poolAddress }, null)].reduce((sum, { size }) => sum + size, 0n),
  );
}

t.test('volumes equal the sums of GET /trades, under reorgs, repeats, passing time and restarts', async () => {
  const step = fc.record({
    kind: fc.constantFrom('trade', 'trade', 'trade', 'trade', 'reorg', 'restart'),
    ahead: fc.nat(5),
    log: fc.nat(3),
    size: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.nat(5), (steps, whilePastIsRead) => {
      const store = new TradeStore(1_000, 100 * DAY);
      const events: (TradeRecorded | TradesUndone)[] = [];
      let volume = new TradeVolume(1_000);
      let past: TradeVolume | null = null;
      let [head, sinceRestart, newest] = [10, 0, 0];
      for (const { kind, ahead, log, size } of steps) {
        if (kind === 'restart') {
          past = new TradeVolume(1_000);
          for (const event of events) past.apply(event);
          volume = new TradeVolume(1_000);
          sinceRestart = 0;
          continue;
        }
        head = kind === 'reorg' ? Math.max(0, head - ahead) : head + ahead;
        const event = kind === 'reorg' ? undone(head) : traded(head, log, size);
        newest = Math.max(newest, head * HOUR);
        events.push(event);
        store.apply(event);
        volume.apply(event);
        volume.expire(newest);
        sinceRestart += 1;
        if (past !== null && sinceRestart > whilePastIsRead) {
          volume.addEarlier(past);
          past = null;
        }
        if (past !== null) continue;
        const [own, wanted] = [POOLS.map(({ poolAddress }) => volume.total(poolAddress)), sums(store, newest)];
        if (own.join() !== wanted.join()) throw new Error(`${own.join()} is not ${wanted.join()}`);
      }
    }),
    { numRuns: 500, endOnFailure: true },
  );
});

t.test('with more trades in a day than are kept, no volume is known until they are a day old', async (t) => {
  const volume = new TradeVolume(2);
  for (const block of [1, 2]) volume.apply(traded(block, 0, 3));
  volume.expire(2 * HOUR);
  t.strictSame([volume.isComplete, volume.total(POOL.poolAddress)], [true, 6n]);
  volume.apply(traded(3, 0, 1));
  t.strictSame([volume.isComplete, volume.total(POOL.poolAddress)], [false, null]);
  volume.expire(HOUR + DAY - 1);
  t.notOk(volume.isComplete, 'the lost trade is of the last 24 hours');
  volume.expire(HOUR + DAY);
  t.strictSame([volume.isComplete, volume.total(POOL.poolAddress)], [true, 4n]);
});

t.test('it names the pools whose volumes have changed', async (t) => {
  const volume = new TradeVolume(10);
  const changed = () => [...volume.takeChanged()].map(([poolAddress]) => poolAddress);
  volume.apply(traded(1, 0, 3));
  t.strictSame([changed(), changed()], [[POOL.poolAddress], []]);
  volume.expire(2 * HOUR);
  t.strictSame(changed(), []);
  volume.expire(HOUR + DAY);
  t.strictSame(changed(), [POOL.poolAddress]);
});
