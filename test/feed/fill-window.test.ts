import t from 'tap';
import type { Hex } from '../../src/engine/quote.js';
import { FillWindow } from '../../src/feed/fill-window.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START_MS = 1_700_000_000_000 - (1_700_000_000_000 % MINUTE_MS);
const [poolA, poolB] = ['0xa', '0xb'] as const;
const [quote, other] = ['0x1', '0x2'] as const;
const SIZE = 1_000n;

/** The chain says that so much of the quote has been filled. */
function restate(fills: FillWindow, quoteId: Hex, filled: bigint, knownBefore: bigint | null = null): void {
  fills.restate({ pool: { poolAddress: poolA }, quoteId, size: SIZE }, SIZE - filled, knownBefore, START_MS);
}

t.test('fills count for a day, to the minute, each in its pool', async (t) => {
  const fills = new FillWindow(10);
  fills.add(poolA, quote, 3n, START_MS);
  fills.add(poolA, quote, 4n, START_MS + MINUTE_MS);
  fills.add(poolB, other, 5n, START_MS);
  t.strictSame([...fills.expire(START_MS + DAY_MS - 1)], []);
  t.strictSame([fills.total(poolA), fills.total(poolB)], [7n, 5n]);
  t.strictSame([...fills.expire(START_MS + DAY_MS)], [poolA, poolB]);
  t.strictSame([fills.total(poolA), fills.total(poolB)], [4n, 0n]);
  fills.expire(START_MS + 3 * DAY_MS);
  t.equal(fills.total(poolA), 0n);
});

t.test('what a reorg took back does not count, the newest fill first', async (t) => {
  const fills = new FillWindow(10);
  fills.add(poolA, quote, 3n, START_MS);
  fills.add(poolA, quote, 4n, START_MS + MINUTE_MS);
  restate(fills, quote, 7n);
  t.equal(fills.total(poolA), 7n, 'all of it was filled');
  restate(fills, quote, 2n);
  t.equal(fills.total(poolA), 2n);
  restate(fills, quote, 2n);
  t.equal(fills.total(poolA), 2n, 'once');
  fills.expire(START_MS + DAY_MS);
  t.equal(fills.total(poolA), 0n, 'the rest was of the first minute');
  restate(fills, quote, 0n);
  t.equal(fills.total(poolA), 0n, 'what has gone with time is not taken twice');
});

t.test('what was filled before a quote entered does not count, and a reorg takes the later fills back', async (t) => {
  const fills = new FillWindow(10);
  fills.enter(poolA, quote, 2n);
  fills.add(poolA, quote, 6n, START_MS);
  t.equal(fills.total(poolA), 6n);
  fills.enter(poolA, quote, 8n);
  restate(fills, quote, 5n);
  t.equal(fills.total(poolA), 3n, 'also after it was published anew');
  restate(fills, quote, 2n);
  t.equal(fills.total(poolA), 0n);
  restate(fills, quote, 0n);
  t.equal(fills.total(poolA), 0n);
});

t.test('fills read from the log later on count in their own minute', async (t) => {
  const [earlier, fills] = [new FillWindow(10), new FillWindow(10)];
  fills.expire(START_MS + DAY_MS);
  fills.add(poolA, quote, 1n, START_MS + DAY_MS);
  earlier.add(poolA, other, 100n, START_MS);
  earlier.add(poolA, quote, 2n, START_MS + MINUTE_MS);
  fills.addEarlier(earlier);
  t.equal(fills.total(poolA), 3n, 'and what is older than a day does not');
  fills.expire(START_MS + DAY_MS + MINUTE_MS);
  t.equal(fills.total(poolA), 1n);
});

t.test('what was read from the log later on is older than the rest, when a reorg takes it back', async (t) => {
  const [earlier, fills] = [new FillWindow(10), new FillWindow(10)];
  fills.add(poolA, quote, 4n, START_MS + MINUTE_MS);
  earlier.add(poolA, quote, 3n, START_MS);
  fills.addEarlier(earlier);
  restate(fills, quote, 3n);
  t.equal(fills.total(poolA), 3n);
  fills.expire(START_MS + DAY_MS);
  t.equal(fills.total(poolA), 0n, 'the rest was of the first minute');
});

t.test('what stood for fills that are read from the log later on counts once', async (t) => {
  const [earlier, fills] = [new FillWindow(10), new FillWindow(10)];
  fills.enter(poolA, quote, 3n);
  fills.add(poolA, quote, 4n, START_MS + MINUTE_MS);
  earlier.add(poolA, quote, 3n, START_MS);
  fills.addEarlier(earlier);
  restate(fills, quote, 7n);
  t.equal(fills.total(poolA), 7n);
  restate(fills, quote, 6n);
  t.equal(fills.total(poolA), 6n);
});

t.test('a reorg leaves nothing behind of quotes that nothing is remembered of', async (t) => {
  const fills = new FillWindow(10);
  restate(fills, quote, 0n);
  restate(fills, quote, 5n);
  t.equal(fills.total(poolA), 0n, 'nobody knows how much of it is new');
});

t.test('a larger fill of a new branch counts from its event on, and can be reversed', async (t) => {
  const fills = new FillWindow(10);
  fills.add(poolA, quote, 3n, START_MS);
  restate(fills, quote, 5n);
  t.equal(fills.total(poolA), 5n);
  restate(fills, other, 6n, 2n);
  t.equal(fills.total(poolA), 9n, 'also of a quote of which the book alone knows how much had been filled');
  restate(fills, other, 1n);
  restate(fills, quote, 1n);
  t.equal(fills.total(poolA), 1n);
});

t.test('a quote with nothing left may have been cancelled, and nothing is counted', async (t) => {
  const fills = new FillWindow(10);
  fills.add(poolA, quote, 3n, START_MS);
  restate(fills, quote, SIZE);
  t.equal(fills.total(poolA), 3n);
});

t.test('of the quotes that are remembered the one that was filled last stays longest', async (t) => {
  const fills = new FillWindow(2);
  fills.add(poolA, quote, 1n, START_MS);
  fills.add(poolA, other, 2n, START_MS);
  fills.add(poolA, quote, 4n, START_MS);
  fills.add(poolA, '0x3', 8n, START_MS);
  restate(fills, other, 0n);
  t.equal(fills.total(poolA), 15n);
  restate(fills, quote, 0n);
  t.equal(fills.total(poolA), 10n);
});

t.test('so many quotes are remembered, and no more', async (t) => {
  const fills = new FillWindow(1);
  fills.add(poolA, quote, 3n, START_MS);
  fills.add(poolA, other, 4n, START_MS);
  restate(fills, quote, 0n);
  t.equal(fills.total(poolA), 7n, 'the first is forgotten: too long ago to be taken back');
  restate(fills, other, 0n);
  t.equal(fills.total(poolA), 3n);
});

t.test('quotes of which nothing was filled take no place among them', async (t) => {
  const fills = new FillWindow(1);
  fills.add(poolA, quote, 3n, START_MS);
  fills.enter(poolA, other, 0n);
  restate(fills, quote, 0n);
  t.equal(fills.total(poolA), 0n);
});

t.test('of fills that are read from the log later on those are forgotten first', async (t) => {
  const [earlier, fills] = [new FillWindow(2), new FillWindow(2)];
  fills.add(poolA, quote, 4n, START_MS + MINUTE_MS);
  earlier.add(poolA, other, 1n, START_MS);
  earlier.add(poolA, '0x3', 2n, START_MS);
  fills.addEarlier(earlier);
  restate(fills, quote, 0n);
  t.equal(fills.total(poolA), 3n, 'the newest can be taken back still');
  restate(fills, other, 0n);
  t.equal(fills.total(poolA), 3n, 'the oldest cannot');
});
