import { appendFileSync } from 'node:fs';
import type { Test } from 'tap';
import type { ClusterProcess } from './cluster-process.js';
import type { History } from './history.js';

/** The goals are of an idle machine; a busy one gets more time here, and the times are printed. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);

/** How long clients waited for something after each fault of a kind, milliseconds. */
export interface FaultTimes {
  readonly what: string;
  readonly ms: readonly number[];
  /** At most; null: there is no goal. */
  readonly goalMs: number | null;
}

/**
 * Checks what the clients saw, that the engines have the same state, and that goals were reached. Prints the times
 * first, also where a promise was broken: as comments, and into the file that `npm run test:cluster:long` prints when
 * all tests have run.
 */
export async function checkFaults(
  t: Test,
  cluster: Pick<ClusterProcess, 'engineReports'>,
  history: History,
  times: readonly FaultTimes[],
): Promise<void> {
  const startMs = performance.now();
  const broken = await history.check().catch((error: unknown) => [`the history was not checked: ${String(error)}`]);
  const found = broken.length === 0 ? 'no promise was broken' : `broken: ${broken.join('; ')}`;
  const checked = `History checked in ${seconds(performance.now() - startMs)}: ${found}.`;
  const table = faultTable(times, `${history.summary}. ${checked}`);
  t.comment(table);
  const file = process.env.QUOTEBOOK_FAULT_TABLE;
  if (file !== undefined) appendFileSync(file, `${table}\n`);
  t.strictSame(broken, [], 'no promise was broken');
  const [first, ...others] = await cluster.engineReports();
  t.ok(first !== undefined && first.lastIndex > 0 && others.length > 0, 'there are engines, and they have records');
  for (const { epoch, lastIndex, stateHash } of others) {
    t.match(first, { epoch, lastIndex, stateHash }, `the engines hash alike at record ${lastIndex}`);
  }
  for (const { what, ms, goalMs } of times) {
    const longestMs = Math.max(...ms);
    if (goalMs !== null) t.ok(ms.length > 0 && longestMs <= PATIENCE * goalMs, `${what}: ${longestMs} ms at most`);
  }
}

/** Rows as those of docs/explanation/performance.md, section A cluster; below them what clients saw. */
export function faultTable(times: readonly FaultTimes[], history: string): string {
  const rows = times.map(({ what, ms, goalMs }) => {
    const sorted = [...ms].sort((a, b) => a - b);
    const [least, median, most] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map(seconds);
    return `| ${what} | ${ms.length} | ${least} | ${median} | ${most} | ${goalMs === null ? '-' : seconds(goalMs)} |`;
  });
  const head = ['| What | Times | Least | Median | Most | Goal |', '| --- | --- | --- | --- | --- | --- |'];
  return [...head, ...rows, '', history, ''].join('\n');
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? '-' : `${(ms / 1000).toFixed(1)} s`;
}
