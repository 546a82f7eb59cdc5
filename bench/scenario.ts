/** How much is done: `full` for figures, `tiny` to show in a second or two that a scenario runs. */
export type Scale = 'full' | 'tiny';

export interface Figure {
  readonly value: number;
  /** As it is printed: `op/s`, `us`, `bytes`. */
  readonly unit: string;
}

/** Goal of a row: a bound on the ratio to the baseline, or on our own figure without a baseline. */
export interface Goal {
  readonly of: 'ratio' | 'ours';
  readonly bound: 'at least' | 'at most';
  readonly value: number;
}

/** One line of the table. */
export interface Row {
  readonly label: string;
  readonly ours: Figure;
  readonly baseline: (Figure & { readonly name: string }) | null;
  /** Ours to the baseline's: the median over the rounds. */
  readonly ratio: number | null;
  readonly goal: Goal | null;
  /** Our own code against itself in the same rounds: the median distance of the two from each other, as a share. */
  readonly noise: number | null;
}

/** Latencies in microseconds by percentile, for the drawing. */
export interface LatencyCurve {
  readonly label: string;
  readonly points: readonly { readonly percentile: number; readonly micros: number }[];
}

export interface Outcome {
  readonly rows: readonly Row[];
  readonly curves?: readonly LatencyCurve[];
  /** Why nothing was measured: a program is missing here. Results of an earlier run stay in the report. */
  readonly skipped?: string;
}

export interface Scenario {
  /** What `npm run bench -- NAME` calls it. */
  readonly name: string;
  readonly title: string;
  /** What is done, with its mix and sizes, and what it is compared with: sentences for the report. */
  readonly workload: string;
  run(scale: Scale): Promise<Outcome>;
}

/** Whether the goal is reached; null without a goal. */
export function meetsGoal({ goal, ratio, ours }: Row): boolean | null {
  if (goal === null) return null;
  const value = goal.of === 'ratio' ? ratio : ours.value;
  if (value === null) return false;
  return goal.bound === 'at least' ? value >= goal.value : value <= goal.value;
}

export function atLeast(value: number, of: Goal['of'] = 'ratio'): Goal {
  return { of, bound: 'at least', value };
}

export function atMost(value: number, of: Goal['of'] = 'ratio'): Goal {
  return { of, bound: 'at most', value };
}
