// Compares the speed of this tree with that of another commit, both in one run on one machine: builds the commit in a
// directory of its own, runs scenarios of the bench with either build in turn, and prints each figure of both.
//
//   npm run bench:compare -- COMMIT [--rounds 2] [SCENARIO...]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const SCENARIOS = ['publish', 'reads', 'fan-out', 'log'];
const { values: flags, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '2' } },
  allowPositionals: true,
});
const [commit, ...named] = positionals;
if (commit === undefined) throw new Error('name the commit to compare with');
const scenarios = named.length > 0 ? named : SCENARIOS;

const directory = mkdtempSync(path.join(os.tmpdir(), 'quotebook-builds-'));
const before = path.join(directory, 'before');
const run = (cwd, program, ...words) => execFileSync(program, words, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
try {
  run(root, 'git', 'worktree', 'add', '--detach', before, commit);
  run(before, 'npm', 'ci');
  for (const tree of [before, root]) run(tree, 'npm', 'run', '--silent', 'compile');
  for (const scenario of scenarios) {
    const rows = new Map();
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      // Each build begins every other round.
      for (const tree of round % 2 === 0 ? [before, root] : [root, before]) measure(tree, scenario, rows);
    }
    for (const [label, { ours, ratios }] of rows) {
      const [then, now] = [median(ours.before), median(ours.after)];
      const part =
        ratios.before.length === 0 ? '' : `; to the baseline ${list(ratios.before)}, now ${list(ratios.after)}`;
      console.log(`${scenario}: ${label}: ${figure(then)}, now ${figure(now)} (${(now / then).toFixed(3)}x)${part}`);
    }
  }
} finally {
  execFileSync('git', ['worktree', 'remove', '--force', before], { cwd: root, stdio: 'ignore' });
  rmSync(directory, { recursive: true, force: true });
}

function measure(tree, scenario, rows) {
  run(tree, process.execPath, '--expose-gc', 'dist/bench/run.js', scenario);
  const file = path.join(tree, 'dist/bench/results', `${scenario}.json`);
  const which = tree === root ? 'after' : 'before';
  for (const { label, ours, ratio, baseline } of JSON.parse(readFileSync(file, 'utf8')).rows) {
    const name = `${label}, ${ours.unit}${baseline === null ? '' : `, against ${baseline.name}`}`;
    const row = rows.get(name) ?? { ours: { before: [], after: [] }, ratios: { before: [], after: [] } };
    rows.set(name, row);
    row.ours[which].push(ours.value);
    if (ratio !== null) row.ratios[which].push(ratio);
  }
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function figure(value) {
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}

function list(ratios) {
  return ratios.map((ratio) => `${Number(ratio.toPrecision(3))}x`).join(' and ');
}
