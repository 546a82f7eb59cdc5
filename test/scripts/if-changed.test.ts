import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const SCRIPT = readFileSync(fileURLToPath(new URL('../../../scripts/if-changed.mjs', import.meta.url)), 'utf8');

/** A project whose compiler writes `dist/test/browser/browser.js`, counts how often it ran, and ends with what `code` says. */
function project(t: Test) {
  const root = t.testdir({
    scripts: { 'if-changed.mjs': SCRIPT },
    'package-lock.json': '',
    'tsconfig.json': '',
    'tsconfig.build.json': '',
    code: '0',
    runs: '',
    ...{ src: { 'a.ts': '1' }, web: {}, test: {}, dist: { test: { browser: {} } } },
    node_modules: {
      '.bin': { tsc: '#!/bin/sh\necho run >> runs\n: > dist/test/browser/browser.js\nexit "$(cat code)"\n' },
    },
  });
  chmodSync(path.join(root, 'node_modules/.bin/tsc'), 0o755);
  const step = (name = 'browser'): number | null =>
    spawnSync(process.execPath, [path.join(root, 'scripts/if-changed.mjs'), name]).status;
  const write = (file: string, text: string): void => writeFileSync(path.join(root, file), text);
  const runs = (): number => readFileSync(path.join(root, 'runs'), 'utf8').split('\n').length - 1;
  return { step, write, runs };
}

t.test('a step is skipped while nothing that it reads changed', async (t) => {
  const { step, write, runs } = project(t);
  t.equal(step(), 0);
  t.equal(step(), 0);
  t.equal(runs(), 1);
  write('src/a.ts', 'longer');
  t.equal(step(), 0);
  t.equal(runs(), 2);
});

t.test('a step that failed fails, and runs again', async (t) => {
  const { step, write, runs } = project(t);
  write('code', '3');
  t.equal(step(), 3);
  t.equal(step(), 3);
  t.equal(runs(), 2);
});

t.test('a name that is no step is refused', async (t) => {
  const { step, runs } = project(t);
  t.not(step('toString'), 0);
  t.equal(runs(), 0);
});
