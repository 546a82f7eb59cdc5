import type { Outcome, Scenario } from '../scenario.js';
import { columns, wordsOf, type RowWords } from './words.js';

/** One scenario's rows for the terminal. */
export function terminalTable({ name, title }: Scenario, { rows, skipped }: Outcome): string {
  const head = `${title} (${name})`;
  if (skipped !== undefined) return `${head}\n  SKIPPED: ${skipped}`;
  const lines = [columns, ...rows.map(wordsOf)];
  const keys = Object.keys(columns) as (keyof RowWords)[];
  const widths = keys.map((key) => Math.max(...lines.map((line) => line[key].length)));
  const text = lines.map((line) => keys.map((key, i) => line[key].padEnd(widths[i] ?? 0)).join('  '));
  return [head, ...text.map((line) => `  ${line.trimEnd()}`)].join('\n');
}
