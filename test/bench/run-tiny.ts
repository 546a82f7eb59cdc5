import t from 'tap';
import { meetsGoal, type Scenario } from '../../bench/scenario.js';
import { wordsOf } from '../../bench/report/words.js';

/**
 * Runs a scenario at its smallest: it has to run, and its figures have to be figures. How good they are is not asked.
 */
export function testTiny(scenario: Scenario): void {
  t.test(`${scenario.name} runs at its smallest`, async (t) => {
    const { rows, curves = [], skipped } = await scenario.run('tiny');
    if (skipped !== undefined) return t.comment(`NOT RUN: ${skipped}`);
    t.ok(rows.length > 0, 'there is something to show');
    for (const row of rows) {
      t.ok(Number.isFinite(row.ours.value) && row.ours.value >= 0, `${row.label}: our own figure`);
      if (row.baseline !== null) t.ok(row.baseline.value > 0, `${row.label}: the figure of ${row.baseline.name}`);
      if (row.ratio !== null) t.ok(row.ratio > 0 && Number.isFinite(row.ratio), `${row.label}: the ratio`);
      t.equal(meetsGoal(row) === null, row.goal === null, `${row.label}: a goal is reached or not`);
      t.notMatch(Object.values(wordsOf(row)).join(), /none|NaN|undefined/);
    }
    for (const { label, points } of curves) t.ok(points.length > 1, `${label} is a curve`);
  });
}
