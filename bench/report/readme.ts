import type { Machine } from '../machine.js';
import type { Outcome, Scenario } from '../scenario.js';
import { columns, wordsOf, type RowWords } from './words.js';

export interface Finished {
  readonly scenario: Scenario;
  readonly outcome: Outcome;
  readonly seconds: number;
}

const BEGIN = '<!-- results: begin -->';
const END = '<!-- results: end -->';
const SECTION = /<!-- (\S+): begin -->\n[^]*?\n<!-- \1: end -->/g;

/**
 * The report with these results in the place of earlier ones of the same scenarios, all between the two marks that it
 * has; what stands outside of them is written by hand. `order`: of the scenarios, by name.
 */
export function withResults(
  readme: string,
  machine: Machine,
  finished: readonly Finished[],
  order: readonly string[],
): string {
  const start = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`The report has no ${BEGIN} and ${END}`);
  const sections = new Map<string, string>();
  for (const [text, name = ''] of readme.slice(start + BEGIN.length, end).matchAll(SECTION)) sections.set(name, text);
  for (const each of finished) sections.set(each.scenario.name, section(machine, each));
  const ordered = order.flatMap((name) => sections.get(name) ?? []);
  return [readme.slice(0, start) + BEGIN, ...ordered, END + readme.slice(end + END.length)].join('\n\n');
}

function section(machine: Machine, { scenario, outcome, seconds }: Finished): string {
  const { name, title, workload, notes } = scenario;
  const keys = Object.keys(columns) as (keyof RowWords)[];
  const line = (words: RowWords): string => `| ${keys.map((key) => words[key]).join(' | ')} |`;
  const table = [
    line(columns),
    `|${keys.map(() => '---').join('|')}|`,
    ...outcome.rows.map((row) => line(wordsOf(row))),
  ];
  const curves = outcome.curves?.length ? [`![Latency by percentile](${drawingName(name)})`] : [];
  const parts = [`## ${title} (\`${name}\`)`, workload, table.join('\n'), ...curves, ...(notes ? [notes] : [])];
  return `<!-- ${name}: begin -->\n\n${[...parts, runWords(machine, seconds)].join('\n\n')}\n\n<!-- ${name}: end -->`;
}

/** Where the drawing of a scenario's latencies lies, beside the report. */
export function drawingName(name: string): string {
  return `latency/${name}.svg`;
}

function runWords(machine: Machine, seconds: number): string {
  const where = `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}`;
  const load = `load average of the minute before: ${machine.loadBefore}`;
  return `_${where}; ${load}; commit ${machine.commit}; begun ${machine.startedAt}, ${Math.round(seconds)} s._`;
}
