import t from 'tap';
import { EarlyEvents } from '../../../src/chain/follow/early-events.js';
import type { SettlementEvent } from '../../../src/chain/follow/settlement-events.js';
import { blockHashOf, MAKER, originAt, sampleQuote, TAKER, txHashOf } from '../../engine/samples.js';

const quote = sampleQuote({ n: 1 });

function logAt(blockNumber: number, logIndex: number, address = quote.pool.poolAddress) {
  const blockHash = blockHashOf(blockNumber);
  return { address, blockNumber, blockHash, logIndex, txHash: txHashOf(blockNumber), topics: [], data: '0x' } as const;
}

function fill(blockNumber: number, logIndex: number, size = 1n, quoteId = quote.quoteId): SettlementEvent {
  return {
    type: 'FILL',
    taker: TAKER,
    provider: MAKER,
    premium: 1n,
    fee: 0n,
    isBuy: true,
    quoteId,
    size,
    log: { ...logAt(blockNumber, logIndex), timestamp: null },
  };
}

function cancel(blockNumber: number, logIndex: number, provider = MAKER): SettlementEvent {
  const log = { ...logAt(blockNumber, logIndex), timestamp: null };
  return { type: 'CANCEL', quoteId: quote.quoteId, provider, log };
}

t.test('what was seen of a quote is taken once, in chain order, and an event that was read twice once', async (t) => {
  const early = new EarlyEvents(10);
  for (const event of [fill(5, 1, 2n), fill(4, 3), fill(5, 1, 2n), cancel(6, 0)]) early.remember(event);
  t.strictSame(early.take(quote), [
    { size: 1n, origin: originAt(4, 3) },
    { size: 2n, origin: originAt(5, 1) },
    { size: null, origin: originAt(6, 0) },
  ]);
  t.strictSame([early.take(quote), early.count], [[], 0]);
});

t.test("what is not of the quote's own pool and provider does not count", async (t) => {
  const early = new EarlyEvents(10);
  early.remember(cancel(5, 0, TAKER));
  early.remember({ ...fill(5, 1), log: { ...logAt(5, 1, TAKER), timestamp: null } });
  early.remember(fill(5, 2, 0n));
  t.strictSame(early.take(quote), []);
});

t.test('a reorg takes back what came after its ancestor', async (t) => {
  const early = new EarlyEvents(10);
  for (const block of [4, 5, 6]) early.remember(fill(block, 0));
  early.rewind(4);
  t.equal(early.count, 1);
  t.strictSame(early.take(quote), [{ size: 1n, origin: originAt(4, 0) }]);
  early.remember(fill(7, 0));
  early.rewind(6);
  t.strictSame([early.take(quote), early.count], [[], 0]);
});

t.test('of too many the quotes that were seen first are forgotten', async (t) => {
  const early = new EarlyEvents(3);
  const others = [2, 3, 4].map((n) => sampleQuote({ n }));
  early.remember(fill(4, 0));
  early.remember(fill(4, 1));
  for (const [n, { quoteId }] of others.entries()) early.remember(fill(5, n, 1n, quoteId));
  t.equal(early.count, 3);
  t.strictSame(early.take(quote), []);
  for (const other of others) t.equal(early.take(other).length, 1);
});

t.test('an event is compared with no more the more of its quote there are', (t) => {
  const COUNT = 1_000;
  const early = new EarlyEvents(COUNT);
  let reads = 0;
  for (let logIndex = 0; logIndex < COUNT; logIndex++) {
    const { log, ...event } = fill(5, logIndex);
    early.remember(Object.defineProperty({ ...event, log }, 'log', { get: () => (reads++, log) }));
  }
  t.equal(early.count, COUNT);
  t.ok(reads < 10 * COUNT, `${reads} reads of a log`);
  t.end();
});
