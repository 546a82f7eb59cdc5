import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { Progress, progressText } from '../src/app/progress.js';
import { systemClock } from '../src/system/clock.js';
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
/** Of a scenario, for an estimate. */
const USUAL_SECONDS = 60;

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
  const chosen = scenarios.filter(({ name }) => names.length === 0 || names.includes(name));
  const expected = await Promise.all(chosen.map(({ name }) => lastSeconds(name)));
  const progress = new Progress(
    {
      line: (state) => console.error(progressText(state)),
      ...(process.stderr.isTTY && { status: (text: string) => process.stderr.write(`\r\x1b[K${text}`) }),
    },
    systemClock,
  );
  progress.begin(
    'bench',
    expected.reduce((sum, seconds) => sum + seconds, 0),
  );
  for (const [i, scenario] of chosen.entries()) {
    const machine = describeMachine();
    const finished = await finish(scenario, machine);
    await writeJson(machine, finished);
    if (writesReport && finished.outcome.skipped === undefined) await writeReport(machine, finished);
    progress.advance(expected[i] ?? 0);
  }
  progress.end();
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

/** How long the scenario took here the last time; without one, as long as any. */
async function lastSeconds(name: string): Promise<number> {
  const text = await readFile(new URL(`dist/bench/results/${name}.json`, root), 'utf8').catch(() => null);
  return text === null ? USUAL_SECONDS : (JSON.parse(text) as { seconds: number }).seconds;
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
