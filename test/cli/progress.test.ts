import t from 'tap';
import { Progress } from '../../src/cli/progress.js';

/** What the work shows that reads a tenth of `total` each `stepMs`. */
function shown(stepMs: number, isTerminal: boolean, total = 1_000): { lines: string[]; status: string[] } {
  const [lines, status]: [string[], string[]] = [[], []];
  let nowMs = 0;
  const progress = new Progress(
    {
      out: () => t.fail('a result'),
      err: (line) => lines.push(line),
      environment: {},
      readText: () => Promise.reject(new Error('nothing is read')),
      ...(isTerminal && { showStatus: (text: string) => void status.push(text) }),
    },
    { monotonicMs: () => nowMs },
  );
  progress.begin('verifying local', total);
  for (let step = 1; step <= 10; step += 1) {
    nowMs += stepMs;
    progress.advance(100);
  }
  progress.end();
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
