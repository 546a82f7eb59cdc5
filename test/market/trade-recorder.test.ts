import t from 'tap';
import { TradeRecorder } from '../../src/market/trade-recorder.js';
import type { TradeBatch, TradeLogEvent, TradePoint } from '../../src/persistence/trades/trade-files.js';
import { ManualClock } from '../system/manual-clock.js';

const limits = { tradeWriteMs: 500, tradeRetryMs: 10_000, tradeBatch: 3, tradeQueue: 10, tradeMarkRecords: 100 };

const undone = (seq: number): TradeLogEvent => ({ type: 'TRADES_UNDONE', seq, cause: null, blockNumber: seq });
const timed = (...seqs: readonly number[]) => seqs.map((seq) => ({ event: undone(seq), tsMs: seq * 10 }));
const pointAt = (seq: number): TradePoint => ({ seq, tsMs: seq * 10 });

/** Files that fail on demand, or take as long as the test wants. */
class Files {
  readonly batches: TradeBatch[] = [];
  through: TradePoint | null = null;
  isBroken = false;
  isClosed = false;
  release: (() => void) | null = null;
  isSlow = false;

  async append(batch: TradeBatch): Promise<void> {
    if (this.isSlow) await new Promise<void>((resolve) => (this.release = resolve));
    if (this.isBroken) throw Object.assign(new Error('broken'), { code: 'EIO' });
    this.batches.push(batch);
    this.through = batch.through;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  get written(): number[] {
    return this.batches.flatMap(({ events }) => events.map(({ seq }) => seq));
  }
}

function start() {
  const files = new Files();
  const clock = new ManualClock();
  const lines: string[] = [];
  const note = (_: object, message: string): void => void lines.push(message);
  const recorder = new TradeRecorder(files, clock, limits, { info: note, warn: note, error: note });
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  };
  return { files, clock, recorder, lines, advance };
}

t.test('trades wait a moment for others, and are written in batches that say up to where they are whole', async (t) => {
  const { files, recorder, advance } = start();
  recorder.add(timed(2, 3), pointAt(3), 2);
  await advance(499);
  recorder.add(timed(5, 6), pointAt(8), 1);
  t.strictSame(files.batches, [], 'nothing is written meanwhile');
  await advance(1);
  t.strictSame(
    files.batches.map(({ events, through }) => [events.map(({ seq }) => seq), through]),
    [
      [[2, 3, 5], pointAt(5)],
      [[6], pointAt(8)],
    ],
  );
});

t.test('records without trades are noted from time to time', async (t) => {
  const { files, clock, recorder, advance } = start();
  recorder.add([], pointAt(50), 99);
  t.equal(clock.pending, 0);
  recorder.add([], pointAt(60), 1);
  await advance(500);
  t.strictSame(files.batches, [{ events: [], through: pointAt(60) }]);
  recorder.add([], pointAt(60), 99);
  t.equal(clock.pending, 0, 'and counted anew');
});

t.test('while a write is under way others wait, and nobody for them', async (t) => {
  const { files, recorder, advance } = start();
  files.isSlow = true;
  recorder.add(timed(1), pointAt(1), 1);
  await advance(500);
  recorder.add(timed(2), pointAt(2), 1);
  await advance(500);
  t.strictSame(files.batches, []);
  files.isSlow = false;
  files.release?.();
  await advance(0);
  t.strictSame(files.written, [1, 2]);
});

t.test('what could not be written is tried again after a while, once it is said that it failed', async (t) => {
  const { files, recorder, lines, advance } = start();
  files.isBroken = true;
  recorder.add(timed(1, 2), pointAt(2), 1);
  await advance(500);
  recorder.add(timed(3), pointAt(3), 1);
  await advance(9_999);
  t.strictSame([lines, recorder.isFailing], [['trade file not written'], true]);
  await advance(1);
  t.strictSame(lines, ['trade file not written'], 'a second failure is not said again');
  files.isBroken = false;
  await advance(10_000);
  t.strictSame([files.written, recorder.isFailing], [[1, 2, 3], false]);
  t.strictSame(lines, ['trade file not written', 'trade file writes recovered']);
});

t.test('with too many that wait, the files are left to the next start', async (t) => {
  const { files, clock, recorder, lines, advance } = start();
  files.isBroken = true;
  recorder.add(timed(1, 2, 3, 4, 5, 6), pointAt(6), 1);
  await advance(500);
  recorder.add(timed(7, 8, 9, 10, 11), pointAt(11), 1);
  files.isBroken = false;
  recorder.add(timed(12), pointAt(12), 1);
  await advance(100_000);
  t.strictSame([files.batches, clock.pending, recorder.isFailing], [[], 0, true]);
  t.strictSame(lines, ['trade file not written', 'trade files given up']);
  await recorder.stop();
  t.strictSame([files.batches, files.isClosed], [[], true]);
});

t.test('a stop writes what waits, and up to where the files are whole', async (t) => {
  const { files, clock, recorder } = start();
  recorder.add(timed(1), pointAt(1), 1);
  recorder.add([], pointAt(9), 1);
  await recorder.stop();
  t.strictSame([files.written, files.through, files.isClosed, clock.pending], [[1], pointAt(9), true, 0]);
  recorder.add(timed(10), pointAt(10), 1);
  t.equal(clock.pending, 0, 'nothing is written after it');
});

t.test('a stop does not wait for a disk that fails', async (t) => {
  const { files, clock, recorder } = start();
  files.isBroken = true;
  recorder.add(timed(1), pointAt(1), 1);
  await recorder.stop();
  t.strictSame([files.isClosed, clock.pending, recorder.isFailing], [true, 0, true]);
});
