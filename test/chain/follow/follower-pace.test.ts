import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { BlockId } from '../../../src/chain/contracts/blocks-and-logs.js';
import { ChainHealth } from '../../../src/chain/follow/chain-health.js';
import { BookFollower } from '../../../src/chain/follow/follower.js';
import { limits } from '../../../src/config/limits.js';
import type { Order } from '../../../src/engine/quote.js';
import { ManualClock } from '../../system/manual-clock.js';

const POSITION: BlockId = { blockNumber: 1, blockHash: '0x01' };
const pace = { pollMs: 100, backoffMs: 10, maxBackoffMs: 60, sweepMs: 1_000, sweepSlice: 2, stopGraceMs: 500 };
const ORDERS = [1, 2, 3, 4, 5].map((n) => ({ n }) as unknown as Order);

/** A follower of chains on which nothing happens, by a clock that a test moves. */
function following(
  step: () => Promise<boolean> = async () => true,
  {
    clock = new ManualClock(),
    look = async () => ({ type: 'IDLE' as const, reading: null }),
    enter = async () => true,
    unit = (): number => 1,
    isHeard = { settlement: false, stream: false },
    check = async (): Promise<void> => undefined,
    pace: atPace = pace,
    orders = [] as readonly Order[],
  } = {},
) {
  const seen = { steps: 0, failures: [] as number[], progress: 0, stopped: false };
  /** How many orders were checked, each time. */
  const checks: number[] = [];
  const settlement = {
    position: POSITION,
    step() {
      seen.steps += 1;
      return step();
    },
    checkWaiting: () => Promise.resolve(true),
    askAgain: () => isHeard.settlement,
    async check(slice: readonly Order[]) {
      if (slice.length > 0) checks.push(slice.length);
      await check();
    },
  };
  const stream = { position: POSITION, look, enter, askAgain: () => isHeard.stream };
  const follower = new BookFollower({
    settlement,
    stream,
    orders: () => orders,
    submitter: { stop: () => (seen.stopped = true) },
    clock,
    random: { bytes: () => new Uint8Array(), unit },
    timing: atPace,
    listener: {
      onCaughtUp: () => undefined,
      onFailure: (_, failures) => seen.failures.push(failures),
      onHalt: () => undefined,
      onSuccess: () => undefined,
      onProgress: () => void (seen.progress += 1),
    },
  });
  follower.start();
  /** What was begun goes on until it waits for the clock, and so it does once more when that time has passed. */
  const passes = async (ms: number): Promise<void> => {
    await turn();
    clock.advance(ms);
    await turn();
  };
  return { clock, seen, checks, follower, passes };
}

t.test(
  'each failure in a row is waited after for longer, and one after a success as briefly as the first',
  async (t) => {
    const outcomes = [false, false, false, false, true, false, true];
    const { seen, passes } = following(async () => {
      if (outcomes.shift() === false) throw new Error('the node does not answer');
      return true;
    });
    for (const pauseMs of [10, 20, 40, 60, 100, 10]) {
      const { steps } = seen;
      await passes(pauseMs - 1);
      t.equal(seen.steps, Math.max(1, steps), `not before ${pauseMs} ms`);
      await passes(1);
      t.equal(seen.steps, Math.max(1, steps) + 1);
    }
    t.strictSame(seen.failures, [1, 2, 3, 4, 1]);
  },
);

t.test(
  'how long is waited after a failure is drawn by lot: who failed together does not come again together',
  async (t) => {
    const { seen, passes } = following(() => Promise.reject(new Error('the node does not answer')), {
      unit: () => 0.5,
    });
    for (const pauseMs of [5, 10, 20, 30]) {
      const { steps } = seen;
      await passes(pauseMs - 1);
      t.equal(seen.steps, Math.max(1, steps), `not before ${pauseMs} ms`);
      await passes(1);
      t.equal(seen.steps, Math.max(1, steps) + 1);
    }
  },
);

t.test('a failure after blocks that were only announced does not count: the node is asked at once', async (t) => {
  const isHeard = { settlement: false, stream: true };
  const { seen, passes } = following(
    async () => {
      if (seen.steps > 1) return true;
      throw new Error('the node does not have that block');
    },
    { isHeard },
  );
  await passes(0);
  t.equal(seen.steps, 2);
  t.strictSame(seen.failures, []);
});

t.test('the follower reports progress after each range', async (t) => {
  const settled = [false, false, true, true];
  const streamed = [false, false, true];
  const asked: number[] = [];
  const { seen, follower, passes } = following(async () => settled.shift() ?? true, {
    look: async () => {
      asked.push(seen.progress);
      return { type: 'IDLE' as const, reading: null };
    },
    enter: async () => streamed.shift() ?? true,
  });
  await passes(0);
  t.ok(follower.caughtUp);
  t.equal(seen.progress, 4, 'of each chain, all but the last part');
  t.strictSame(asked, [2, 3, 4], 'the stream is not looked at before the settlement chain is read');
});

t.test('all orders are checked when both chains are read, and then in slices once in a while', async (t) => {
  const { checks, passes } = following(undefined, { orders: ORDERS });
  const first = [2, 2, 1];
  await passes(0);
  t.strictSame(checks, first);
  for (let passed = 0; passed < 900; passed += 100) await passes(100);
  t.strictSame(checks, first);
  for (let rounds = 0; rounds < 3; rounds++) await passes(100);
  t.strictSame(checks, [...first, 2, 2, 1]);
  await passes(100);
  t.strictSame(checks, [...first, 2, 2, 1]);
});

t.test(
  'a start reads the stream between the slices of its first check, and has caught up after the last',
  async (t) => {
    const entered: { readonly checks: number; readonly caughtUp: boolean }[] = [];
    const { checks, follower, passes } = following(undefined, {
      orders: ORDERS,
      async enter() {
        entered.push({ checks: checks.length, caughtUp: follower.caughtUp });
        return true;
      },
    });
    await passes(0);
    t.strictSame(
      entered.slice(0, 3),
      [0, 1, 2].map((slices) => ({ checks: slices, caughtUp: false })),
    );
    t.ok(follower.caughtUp);
  },
);

t.test('a slice of the first check that failed is checked again before the start has caught up', async (t) => {
  let refused = 1;
  const { checks, follower, passes } = following(undefined, {
    orders: ORDERS,
    async check() {
      if (checks.length === 2 && refused-- > 0) throw new Error('the node does not answer');
    },
  });
  await passes(0);
  t.strictSame([checks, follower.caughtUp], [[2, 2], false]);
  await passes(pace.backoffMs);
  t.strictSame([checks, follower.caughtUp], [[2, 2, 2, 1], true]);
});

t.test('while one chain fails, the other is looked at often enough not to count as silent', async (t) => {
  const clock = new ManualClock();
  const health = new ChainHealth('stream', clock, limits.chainSilenceMs, null);
  const look = async () => {
    health.onHead({ number: 1, hash: '0x01', parentHash: '0x00', timestamp: 0 });
    health.onRead();
    return { type: 'IDLE' as const, reading: null };
  };
  const { chainBackoffMs: backoffMs, chainMaxBackoffMs: maxBackoffMs } = limits;
  let isWell = true;
  const { passes } = following(
    async () => {
      if (isWell) return true;
      await new Promise<void>((resolve) => clock.after(400, resolve));
      throw new Error('the node does not answer');
    },
    { clock, look, pace: { ...pace, backoffMs, maxBackoffMs } },
  );
  await passes(0);
  isWell = false;
  for (let passed = 0; passed < 60_000; passed += 200) {
    await passes(200);
    t.equal(health.stale(), null);
  }
});

t.test('what happens on a chain while it is read is looked at right after', async (t) => {
  let finish = (): void => undefined;
  const { follower, seen, passes } = following(() => new Promise((resolve) => (finish = () => resolve(true))));
  follower.wake();
  finish();
  await passes(0);
  t.equal(seen.steps, 2);
});

t.test('a stop waits for a request that is under way, and not for ever', async (t) => {
  const { clock, follower, seen } = following(() => new Promise(() => undefined));
  const progress = { isOver: false };
  const stopping = follower.stop().finally(() => (progress.isOver = true));
  t.ok(seen.stopped, 'the book receives no more commands');
  clock.advance(pace.stopGraceMs - 1);
  await turn();
  t.notOk(progress.isOver);
  clock.advance(1);
  await stopping;
});
