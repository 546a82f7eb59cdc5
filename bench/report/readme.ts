import type { Machine } from '../machine.js';
import type { Outcome, Scenario } from '../scenario.js';
import { columns, wordsOf, type RowWords } from './words.js';

export interface Finished {
  readonly scenario: Scenario;
  readonly outcome: Outcome;
  readonly seconds: number;
}

const introduction = `Written by \`npm run bench\`; what is changed by hand is lost at the next run. \`npm run bench -- NAME\` runs one scenario and
leaves this file alone; both write their figures as JSON to \`dist/bench/results/\`.

Absolute figures say little on a machine that does other things too, so every figure stands beside a baseline's from the same run. Contestants
take turns in rounds, and who begins moves on by one each round; figures are medians over the rounds, a ratio is the median of the rounds'
own ratios. *Noise* is our own code against itself in the same rounds: a ratio nearer to its goal than that decides nothing. Where a server is
measured, it runs in a process of its own, the load comes from another one over loopback, and a "CPU second" is one of the server process's own user
and system time. Latencies are those of an open loop: requests are due at a fixed rate and counted from when they were due, so that a stall is
charged to all that it delays.

![Latency distributions](latency.svg)`;

/** The whole of bench/README.md. */
export function readme(machine: Machine, finished: readonly Finished[]): string {
  const parts = ['# Benchmarks', introduction, ...finished.map(section), '## The run', runWords(machine, finished)];
  return `${parts.join('\n\n')}\n`;
}

function section({ scenario, outcome }: Finished): string {
  const keys = Object.keys(columns) as (keyof RowWords)[];
  const line = (words: RowWords): string => `| ${keys.map((key) => words[key]).join(' | ')} |`;
  const table = [
    line(columns),
    `|${keys.map(() => '---').join('|')}|`,
    ...outcome.rows.map((row) => line(wordsOf(row))),
  ];
  const notes = scenario.notes === undefined ? [] : [scenario.notes];
  return [`## ${scenario.title} (\`${scenario.name}\`)`, scenario.workload, table.join('\n'), ...notes].join('\n\n');
}

function runWords(machine: Machine, finished: readonly Finished[]): string {
  const seconds = finished.reduce((sum, each) => sum + each.seconds, 0);
  return [
    `- ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}`,
    `- load average of the minute before the run: ${machine.loadBefore}`,
    `- commit ${machine.commit}, begun ${machine.startedAt}, ${Math.round(seconds)} s`,
  ].join('\n');
}
