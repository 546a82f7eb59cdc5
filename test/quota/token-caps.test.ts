import t from 'tap';
import { TokenCaps } from '../../src/quota/token-caps.js';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { ManualClock } from '../system/manual-clock.js';

const DAY_MS = 24 * 60 * 60_000;
/** Above 2^53. */
const CAP = 10n ** 20n;

function opened(kept: MemoryKeyValueStore | null = null, clock = new ManualClock()) {
  return new TokenCaps({ perDay: new Map([['WETH', CAP]]), nowMs: () => clock.monotonicMs(), kept });
}

const refused = (retryAfterMs = DAY_MS) => ({ type: 'TOKEN_CAP', symbol: 'WETH', retryAfterMs });

t.test('takes all of an amount or nothing, and no more than the cap; other tokens have none', (t) => {
  const caps = opened();
  t.equal(caps.take('WETH', CAP - 1n), null);
  t.strictSame(caps.take('WETH', 2n), refused());
  t.equal(caps.take('WETH', 1n), null);
  t.strictSame(caps.take('WETH', 1n), refused());
  t.equal(caps.take('WETH', 0n), null);
  t.equal(caps.take('USDC', 10n ** 30n), null);
  t.end();
});

t.test('a day ends 24 hours after its first payment', (t) => {
  const clock = new ManualClock();
  const caps = opened(null, clock);
  caps.take('WETH', CAP);
  clock.advance(DAY_MS - 5);
  t.strictSame(caps.take('WETH', 1n), refused(5));
  clock.advance(5);
  t.equal(caps.take('WETH', CAP), null);
  t.end();
});

t.test('gives back what was not spent, but not into the next day', async (t) => {
  const clock = new ManualClock();
  const caps = opened(null, clock);
  caps.take('WETH', CAP);
  await caps.settle('WETH', CAP, CAP - 10n, caps.nowMs());
  t.strictSame(caps.take('WETH', 11n), refused());
  t.equal(caps.take('WETH', 10n), null);
  const takenMs = caps.nowMs();
  clock.advance(DAY_MS);
  caps.take('WETH', CAP);
  await caps.settle('WETH', 10n, 0n, takenMs);
  t.strictSame(caps.take('WETH', 1n), refused());
});

t.test('what was spent survives a restart', async (t) => {
  const kept = new MemoryKeyValueStore();
  const caps = opened(kept);
  caps.take('WETH', CAP);
  await caps.settle('WETH', CAP, CAP - 1n, caps.nowMs());
  const again = opened(kept.reopened());
  t.strictSame(again.take('WETH', 2n), refused());
  t.equal(again.take('WETH', 1n), null);
});

t.test('a kept form that is not understood stops the start', async (t) => {
  const kept = new MemoryKeyValueStore();
  await kept.put('operator tokens', { WETH: { endsMs: 1, spent: 5 } });
  t.throws(() => opened(kept.reopened()), { message: 'What was spent of WETH was kept in a form not understood' });
});
