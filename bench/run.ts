import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { describeMachine, type Machine } from './machine.js';
import { latencyDrawing } from './report/drawing.js';
import { drawingName, withResults, type Finished } from './report/readme.js';
import { terminalTable } from './report/table.js';
import type { Scenario } from './scenario.js';
import { scenarios } from './scenarios/all.js';

/** Compiled, this file is dist/bench/run.js. */
const root = new URL('../../', import.meta.url);
const readmeFile = new URL('bench/README.md', root);
const WRITE = '--write';

/**
 * `npm run bench` runs every scenario and writes the report; with names those alone, and the report if `--write` is
 * given.
 */
async function main(args: readonly string[]): Promise<void> {
  const names = args.filter((arg) => arg !== WRITE);
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown.length > 0) {
    console.error(`No scenario ${unknown.join(', ')}. There are: ${scenarios.map(({ name }) => name).join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const writesReport = names.length === 0 || args.includes(WRITE);
  for (const scenario of scenarios) {
    if (names.length > 0 && !names.includes(scenario.name)) continue;
    const machine = describeMachine();
    const finished = await finish(scenario, machine);
    await writeJson(machine, finished);
    if (writesReport) await writeReport(machine, finished);
  }
  console.log(`Figures are in ${fileURLToPath(new URL('dist/bench/results/', root))}`);
  if (writesReport) console.log(`The report is ${fileURLToPath(readmeFile)}`);
}

async function finish(scenario: Scenario, machine: Machine): Promise<Finished> {
  console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${machine.commit}`);
  const start = performance.now();
  const outcome = await scenario.run('full');
  const seconds = (performance.now() - start) / 1000;
  console.log(`${terminalTable(scenario, outcome)}\n  ${seconds.toFixed(0)} s\n`);
  return { scenario, outcome, seconds };
}

async function writeJson(machine: Machine, { scenario, outcome, seconds }: Finished): Promise<void> {
  const folder = new URL('dist/bench/results/', root);
  await mkdir(folder, { recursive: true });
  const file = new URL(`${scenario.name}.json`, folder);
  await writeFile(file, `${JSON.stringify({ machine, seconds, ...outcome }, null, 2)}\n`);
}

/** After each scenario, so that one that fails takes no other's results with it. */
async function writeReport(machine: Machine, finished: Finished): Promise<void> {
  const before = await readFile(readmeFile, 'utf8');
  const filepath = fileURLToPath(readmeFile);
  const options = { ...(await resolveConfig(filepath)), filepath };
  await writeFile(readmeFile, await format(withResults(before, machine, [finished], scenarios), options));
  const { curves } = finished.outcome;
  if (!curves?.length) return;
  const file = new URL(`bench/${drawingName(finished.scenario.name)}`, root);
  await mkdir(new URL('./', file), { recursive: true });
  await writeFile(file, latencyDrawing(curves));
}

await main(process.argv.slice(2));
