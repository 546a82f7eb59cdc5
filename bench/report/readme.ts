import type { Machine } from '../machine.js';
import type { Outcome, Scenario } from '../scenario.js';
import { columns, wordsOf, type RowWords } from './words.js';

export interface Finished {
  readonly scenario: Scenario;
  readonly outcome: Outcome;
  readonly seconds: number;
}

type Described = Pick<Scenario, 'name' | 'title' | 'workload'>;
type Cells = readonly string[];

const BEGIN = '<!-- results: begin -->';
const END = '<!-- results: end -->';
const RESULTS = ['scenario', ...(Object.values(columns) as string[])];
const RUNS = ['scenario', 'machine', 'load before', 'commit', 'begun', 'took', 'latencies'];

/**
 * The report with these results in place of earlier ones of the same scenarios, all between its two marks; the text
 * outside of them is written by hand. The text between them holds one table of results, the workload of each scenario,
 * and one table of runs. `order`: all scenarios. The caller formats the text.
 */
export function withResults(
  readme: string,
  machine: Machine,
  finished: readonly Finished[],
  order: readonly Described[],
): string {
  const start = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`The report has no ${BEGIN} and ${END}`);
  const before = readme.slice(start + BEGIN.length, end);
  const results = byScenario(before, RESULTS.length);
  const runs = byScenario(before, RUNS.length);
  const keys = Object.keys(columns) as (keyof RowWords)[];
  for (const { scenario, outcome, seconds } of finished) {
    const rows = outcome.rows.map(wordsOf);
    results.set(
      scenario.name,
      rows.map((words) => [scenario.name, ...keys.map((key) => words[key])]),
    );
    runs.set(scenario.name, [runOf(scenario, machine, outcome, seconds)]);
  }
  const shown = order.filter(({ name }) => results.has(name));
  const parts = [
    '## Results',
    table(
      RESULTS,
      shown.flatMap(({ name }) => results.get(name) ?? []),
    ),
    '## Workloads',
    shown.map(({ name, title, workload }) => `- **${title}** (\`${name}\`): ${workload}`).join('\n'),
    '## Runs',
    table(
      RUNS,
      shown.flatMap(({ name }) => runs.get(name) ?? []),
    ),
  ];
  return [readme.slice(0, start) + BEGIN, ...parts, END + readme.slice(end + END.length)].join('\n\n');
}

/** Where the drawing of a scenario's latencies lies, beside the report. */
export function drawingName(name: string): string {
  return `latency/${name}.svg`;
}

/** Rows of the table with so many columns, by their first cell. */
function byScenario(text: string, width: number): Map<string, Cells[]> {
  const rows = new Map<string, Cells[]>();
  for (const line of text.split('\n')) {
    if (!line.startsWith('|')) continue;
    const cells = line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim());
    const [name = ''] = cells;
    if (cells.length !== width || name === 'scenario' || /^:?-+:?$/.test(name)) continue;
    rows.set(name, [...(rows.get(name) ?? []), cells]);
  }
  return rows;
}

function table(header: Cells, rows: readonly Cells[]): string {
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function runOf({ name }: Scenario, machine: Machine, { curves }: Outcome, seconds: number): Cells {
  const where = `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}`;
  const drawing = curves?.length ? `[drawing](${drawingName(name)})` : '-';
  return [
    name,
    where,
    `${machine.loadBefore}`,
    machine.commit,
    machine.startedAt.replace(/\.\d+Z$/, 'Z'),
    `${Math.round(seconds)} s`,
    drawing,
  ];
}
