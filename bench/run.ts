import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describeMachine, type Machine } from './machine.js';
import { latencyDrawing } from './report/drawing.js';
import { readme, type Finished } from './report/readme.js';
import { terminalTable } from './report/table.js';
import type { Scenario } from './scenario.js';
import { scenarios } from './scenarios/all.js';

/** Compiled, this file is dist/bench/run.js. */
const root = new URL('../../', import.meta.url);

/** `npm run bench` runs every scenario and writes the report; with names, those alone, and no report. */
async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown.length > 0) {
    console.error(`No scenario ${unknown.join(', ')}. There are: ${scenarios.map(({ name }) => name).join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const machine = describeMachine();
  console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${machine.commit}\n`);
  const finished: Finished[] = [];
  for (const scenario of scenarios) {
    if (names.length > 0 && !names.includes(scenario.name)) continue;
    finished.push(await finish(scenario));
  }
  await writeJson(machine, finished);
  if (names.length === 0) await writeReport(machine, finished);
}

async function finish(scenario: Scenario): Promise<Finished> {
  const start = performance.now();
  const outcome = await scenario.run('full');
  const seconds = (performance.now() - start) / 1000;
  console.log(`${terminalTable(scenario, outcome)}\n  ${seconds.toFixed(0)} s\n`);
  return { scenario, outcome, seconds };
}

async function writeJson(machine: Machine, finished: readonly Finished[]): Promise<void> {
  const folder = new URL('dist/bench/results/', root);
  await mkdir(folder, { recursive: true });
  for (const { scenario, outcome, seconds } of finished) {
    const file = new URL(`${scenario.name}.json`, folder);
    await writeFile(file, `${JSON.stringify({ machine, seconds, ...outcome }, null, 2)}\n`);
  }
  console.log(`Figures are in ${fileURLToPath(folder)}`);
}

async function writeReport(machine: Machine, finished: readonly Finished[]): Promise<void> {
  await writeFile(new URL('bench/README.md', root), readme(machine, finished));
  const curves = finished.flatMap(({ outcome }) => outcome.curves ?? []);
  await writeFile(new URL('bench/latency.svg', root), latencyDrawing(curves));
  console.log(`The report is ${fileURLToPath(new URL('bench/README.md', root))}`);
}

await main(process.argv.slice(2));
