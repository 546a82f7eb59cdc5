import { meetsGoal, type Figure, type Row } from '../scenario.js';

/** One row as the words that stand in its columns. */
export interface RowWords {
  readonly label: string;
  readonly ours: string;
  readonly baseline: string;
  readonly ratio: string;
  readonly noise: string;
  readonly goal: string;
  readonly reached: string;
}

export const columns: RowWords = {
  label: 'case',
  ours: 'ours',
  baseline: 'baseline',
  ratio: 'ratio',
  noise: 'noise',
  goal: 'goal',
  reached: 'reached',
};

export function wordsOf(row: Row): RowWords {
  const reached = meetsGoal(row);
  return {
    label: row.label,
    ours: figure(row.ours),
    baseline: row.baseline === null ? '-' : `${figure(row.baseline)} (${row.baseline.name})`,
    ratio: row.ratio === null ? '-' : `${significant(row.ratio)}x`,
    noise: row.noise === null ? '-' : `${(row.noise * 100).toFixed(1)} %`,
    goal: goalWords(row),
    reached: reached === null ? '-' : reached ? 'yes' : 'no',
  };
}

function goalWords({ goal, ours }: Row): string {
  if (goal === null) return '-';
  const bound = goal.of === 'ratio' ? `${goal.value}x` : figure({ value: goal.value, unit: ours.unit });
  return `${goal.bound} ${bound}`;
}

function figure({ value, unit }: Figure): string {
  return `${significant(value)} ${unit}`;
}

/** Three digits that count, thousands apart. */
function significant(value: number): string {
  return Number.isFinite(value) ? value.toLocaleString('en-US', { maximumSignificantDigits: 3 }) : 'none';
}
