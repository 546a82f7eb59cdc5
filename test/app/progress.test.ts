import t from 'tap';
import { CatchUpProgress, Progress, type ProgressState, progressText, StatusLine } from '../../src/app/progress.js';

/** What the work shows that reads a tenth of `total` each `stepMs`. */
function shown(stepMs: number, isTerminal: boolean, total = 1_000): { lines: string[]; status: string[] } {
  const [lines, status]: [string[], string[]] = [[], []];
  let nowMs = 0;
  const output = {
    line: (state: ProgressState) => void lines.push(progressText(state)),
    ...(isTerminal && { status: (text: string) => void status.push(text) }),
  };
  const progress = new Progress(output, { monotonicMs: () => nowMs });
  progress.begin('verifying local', total);
  for (let step = 1; step <= 10; step += 1) {
    nowMs += stepMs;
    progress.advance(100);
  }
  progress.end();
  progress.advance(100);
  return { lines, status };
}

t.test('a terminal shows one line with the time left, and takes it away at the end', async (t) => {
  const { lines, status } = shown(2_000, true);
  t.strictSame(lines, []);
  t.equal(status[0], 'verifying local: 10 %, about 18 s left');
  t.strictSame(status.slice(-2), ['verifying local: 99 %, about 1 s left', '']);
});

t.test('elsewhere there is a line every ten seconds', async (t) => {
  t.strictSame(shown(5_000, false), {
    lines: [2, 4, 6, 8]
      .map((n) => `verifying local: ${n * 10} %, about ${50 - n * 5} s left`)
      .concat(['verifying local: 99 %, about 1 s left']),
    status: [],
  });
  t.strictSame(shown(500, false).lines, [], 'short work shows nothing');
});

t.test('the estimate of long work is in minutes and hours', async (t) => {
  t.equal(shown(100_000, true).status[0], 'verifying local: 10 %, about 15 min left');
  t.equal(shown(1_000_000, true).status[0], 'verifying local: 10 %, about 2 h 30 min left');
  t.equal(shown(2_000, true, 0).status[0], 'verifying local: 99 %, about 1 s left', 'more than was estimated');
});

/** Both chains, read in ranges of `range` blocks, one each second. */
function caughtUp(
  heads: { settlement: number; stream: number },
  isTerminal: boolean,
): { shown: string[]; begun: unknown[] } {
  const [shown, begun]: [string[], unknown[]] = [[], []];
  let nowMs = 0;
  const output = {
    line: (state: ProgressState) => void shown.push(progressText(state)),
    ...(isTerminal && { status: (text: string) => void shown.push(text) }),
  };
  const catchUp = new CatchUpProgress(
    new Progress(output, { monotonicMs: () => nowMs }),
    (chain) => heads[chain],
    (...chain) => begun.push(chain),
  );
  for (let block = 100; block <= heads.settlement; block += 100) {
    nowMs += 1_000;
    catchUp.at(block, null);
  }
  for (let block = 5; block <= heads.stream; block += 5) {
    nowMs += 1_000;
    catchUp.at(heads.settlement, block);
  }
  catchUp.end();
  return { shown, begun };
}

t.test('catching up shows one chain after the other, each with its time left', async (t) => {
  const { shown, begun } = caughtUp({ settlement: 500, stream: 25 }, true);
  t.strictSame(begun, [
    ['settlement', 100],
    ['stream', 5],
  ]);
  t.strictSame(shown, [
    'reading the settlement chain: 25 %, about 3 s left',
    'reading the settlement chain: 50 %, about 2 s left',
    'reading the settlement chain: 75 %, about 1 s left',
    'reading the settlement chain: 99 %, about 1 s left',
    'reading the stream chain: 25 %, about 3 s left',
    'reading the stream chain: 50 %, about 2 s left',
    'reading the stream chain: 75 %, about 1 s left',
    'reading the stream chain: 99 %, about 1 s left',
    '',
  ]);
});

t.test('elsewhere catching up is a line every ten seconds', async (t) => {
  const { shown } = caughtUp({ settlement: 2_500, stream: 20 }, false);
  t.strictSame(shown, [
    'reading the settlement chain: 41 %, about 14 s left',
    'reading the settlement chain: 83 %, about 4 s left',
  ]);
});

t.test('the last line of a terminal stays below the lines of the log', async (t) => {
  const written: string[] = [];
  const status = new StatusLine((text) => written.push(text));
  t.equal(status.above('a line\n'), 'a line\n');
  status.show('10 %');
  t.equal(status.above('a line\n'), '\r\x1b[Ka line\n10 %');
  status.show('');
  t.equal(status.above('a line\n'), 'a line\n');
  t.strictSame(written, ['\r\x1b[K10 %', '\r\x1b[K']);
});
