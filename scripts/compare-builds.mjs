// Compares two speeds of the bench in one run on one machine: this tree's with that of another commit, which is built in
// a directory of its own, or this Node's with that of another major version and its native uWebSockets.js (see
// node-native.mjs). Runs each scenario with either in turn, and prints each figure of both.
//
//   npm run bench:compare -- COMMIT [--rounds 2] [SCENARIO...]
//   npm run bench:compare -- --node 24 [--rounds 2] [SCENARIO...]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installNode } from './node-native.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const SCENARIOS = ['publish', 'reads', 'fan-out', 'log'];
const { values: flags, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '2' }, node: { type: 'string' } },
  allowPositionals: true,
});
const [commit, ...named] = flags.node === undefined ? positionals : [null, ...positionals];
if (commit === undefined) throw new Error('name the commit to compare with, or --node and a major version');
const scenarios = named.length > 0 ? named : SCENARIOS;

const directory = mkdtempSync(path.join(os.tmpdir(), 'quotebook-builds-'));
const run = (cwd, program, ...words) => execFileSync(program, words, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
const here = { name: 'now', tree: root, node: process.execPath };
const otherTree = path.join(directory, 'before');
try {
  const other = commit === null ? onNode(flags.node) : ofCommit(commit);
  run(root, 'npm', 'run', '--silent', 'compile');
  for (const scenario of scenarios) {
    const rows = new Map();
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      // Each begins every other round.
      for (const side of round % 2 === 0 ? [other, here] : [here, other]) measure(side, scenario, rows);
    }
    for (const [label, { ours, ratios }] of rows) {
      const [first, second] = [median(ours[other.name]), median(ours.now)];
      const [of, ofNow] = [ratios[other.name], ratios.now];
      const part = of.length === 0 ? '' : `; to the baseline ${list(of)}, now ${list(ofNow)}`;
      const times = (second / first).toFixed(3);
      console.log(`${scenario}: ${label}: ${other.name} ${figure(first)}, now ${figure(second)} (${times}x)${part}`);
    }
  }
} finally {
  if (commit !== null)
    execFileSync('git', ['worktree', 'remove', '--force', otherTree], { cwd: root, stdio: 'ignore' });
  rmSync(directory, { recursive: true, force: true });
}

function ofCommit(revision) {
  run(root, 'git', 'worktree', 'add', '--detach', otherTree, revision);
  run(otherTree, 'npm', 'ci');
  run(otherTree, 'npm', 'run', '--silent', 'compile');
  return { name: 'then', tree: otherTree, node: process.execPath };
}

function onNode(major) {
  const { bin, isNative } = installNode(major, directory);
  if (!isNative) throw new Error(`Node ${major} would run without its native library`);
  return { name: `Node ${major}`, tree: root, node: path.join(bin, 'node') };
}

function measure({ name, tree, node }, scenario, rows) {
  run(tree, node, '--expose-gc', 'dist/bench/run.js', scenario);
  const file = path.join(tree, 'dist/bench/results', `${scenario}.json`);
  for (const { label, ours, ratio, baseline } of JSON.parse(readFileSync(file, 'utf8')).rows) {
    const title = `${label}, ${ours.unit}${baseline === null ? '' : `, against ${baseline.name}`}`;
    const row = rows.get(title) ?? { ours: {}, ratios: {} };
    rows.set(title, row);
    (row.ours[name] ??= []).push(ours.value);
    row.ratios[name] ??= [];
    if (ratio !== null) row.ratios[name].push(ratio);
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
