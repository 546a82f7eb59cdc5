import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import t from 'tap';
import { contest, inTurn, median, rowOf, spread } from '../../bench/contest.js';
import { withResults } from '../../bench/report/readme.js';
import { latencyDrawing } from '../../bench/report/drawing.js';
import { terminalTable } from '../../bench/report/table.js';
import { atLeast, meetsGoal, type Scenario } from '../../bench/scenario.js';
import { scenarios } from '../../bench/scenarios/all.js';

t.test('contestants take turns, and who begins moves on', async (t) => {
  const order: string[] = [];
  const rates = await inTurn(['a', 'b', 'c'], { rounds: 2, warmUps: 1 }, async (name) => {
    order.push(name);
    return order.length;
  });
  t.same(order.join(''), 'abcbcacab');
  t.same(
    rates.map((each) => each.length),
    [2, 2, 2],
    'warm-up rounds do not count',
  );
});

t.test('only the work is timed', async (t) => {
  let prepared = 0;
  const slow = {
    name: 'slow to prepare',
    prepare: async () => {
      prepared += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return () => 1000;
    },
  };
  const [rates = []] = await contest([slow], { rounds: 2, warmUps: 1, clock: 'wall' });
  t.equal(prepared, 3);
  t.ok(rates.every((rate) => rate > 0));
});

t.test('medians, spreads and ratios', async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.equal(spread([100, 200], [100, 100]), 0.5);
  const row = rowOf(
    'case',
    { ours: [60, 80, 100], again: [60, 80, 50], theirs: [10, 20, 20] },
    'other',
    atLeast(5),
    'op/s',
  );
  t.same([row.ratio, row.noise, row.ours.value, meetsGoal(row)], [5, 0, 80, true]);
  t.equal(meetsGoal({ ...row, ratio: 4.9 }), false);
  t.equal(meetsGoal({ ...row, goal: null }), null);
});

const machine = {
  cpu: 'A processor',
  cores: 2,
  memoryGib: 4,
  system: 'Linux 6',
  node: 'v20',
  loadBefore: 0.1,
  commit: 'abc123',
  startedAt: '2026-01-01T00:00:00.000Z',
};

function finished(name: string, ours: number) {
  const scenario: Scenario = { name, title: 'A demo', workload: 'Nothing.', run: () => Promise.resolve({ rows: [] }) };
  const outcome = {
    rows: [rowOf('case', { ours: [ours], again: [ours], theirs: [100] }, 'other', atLeast(20), 'op/s')],
  };
  return { scenario, outcome, seconds: 2 };
}

const empty = 'Written by hand.\n\n<!-- results: begin -->\n<!-- results: end -->\n\nBy hand, too.\n';

t.test('the report names the machine, the commit and every row', async (t) => {
  const demo = finished('demo', 1234.5);
  const text = withResults(empty, machine, [demo], [demo.scenario]);
  t.match(text, '| demo | case | 1,230 op/s | 100 op/s (other) | 12.3x | 0.0 % | at least 20x | no |');
  t.match(text, '- **A demo** (`demo`): Nothing.');
  t.match(
    text,
    '| demo | A processor, 2 cores, 4 GiB, Linux 6, Node v20 | 0.1 | abc123 | 2026-01-01T00:00:00Z | 2 s | - |',
  );
  t.match(terminalTable(demo.scenario, demo.outcome), /case {2,}ours/);
  t.match(terminalTable(demo.scenario, { rows: [], skipped: 'no such program' }), 'SKIPPED: no such program');
});

t.test('a new result takes the place of the old one; others, and what is written by hand, stay', async (t) => {
  const order = [finished('first', 0).scenario, finished('second', 0).scenario];
  const second = withResults(empty, machine, [finished('second', 2000)], order);
  const both = withResults(second, machine, [finished('first', 1000)], order);
  t.ok(both.indexOf('1,000 op/s') < both.indexOf('2,000 op/s'), 'in the order of the scenarios');
  const again = withResults(both, machine, [finished('first', 3000)], order);
  t.notMatch(again, '1,000 op/s');
  t.match(again, '3,000 op/s');
  t.match(again, '2,000 op/s');
  t.equal(withResults(again, machine, [finished('first', 3000)], order), again, 'the same result changes nothing');
  const formatted = await format(again, { parser: 'markdown', proseWrap: 'always' });
  t.equal(withResults(formatted, machine, [finished('first', 3000)], order), again, 'a formatted report is read alike');
  t.ok(again.startsWith('Written by hand.\n\n<!-- results: begin -->'));
  t.ok(again.endsWith('<!-- results: end -->\n\nBy hand, too.\n'));
  t.throws(() => withResults('No marks', machine, [], order));
});

t.test('bench/README.md has every scenario with its workload', async (t) => {
  const filepath = fileURLToPath(new URL('../../../bench/README.md', import.meta.url));
  const text = await readFile(filepath, 'utf8');
  const options = { ...(await resolveConfig(filepath)), filepath };
  t.equal(await format(withResults(text, machine, [], scenarios), options), text);
  for (const { name } of scenarios) t.match(text, `(\`${name}\`)`);
});

t.test('the drawing has a line and a name for each curve', async (t) => {
  const points = [0, 50, 90, 99, 99.9].map((percentile) => ({ percentile, micros: 100 + percentile }));
  const svg = latencyDrawing([
    { label: 'ours < theirs', points },
    { label: 'theirs', points },
  ]);
  t.equal(svg.match(/<polyline/g)?.length, 2);
  t.match(svg, 'ours &lt; theirs');
  t.notMatch(svg, /NaN|Infinity/);
});
