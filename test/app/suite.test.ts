import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Exit code of the runner for a folder with this one test file. */
function run(t: Test, content: string): number | null {
  const folder = t.testdir({ 'one.test.js': `import t from 'tap';\n${content}` });
  // As if from a shell: the runner inherits nothing of the test that runs it.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TAP')));
  const args = ['scripts/run-tests.mjs', '--jobs=1', '--timeout=60', folder];
  return spawnSync(process.execPath, args, { cwd: ROOT, env }).status;
}

t.test('a file whose tests pass is passed', async (t) => {
  t.equal(run(t, "t.test('passes', async (t) => t.pass());"), 0);
});

for (const [what, failure] of [
  ['an assertion that does not hold', 't.fail()'],
  ['an error in a timer', "await new Promise(() => setTimeout(() => { throw new Error('late'); }, 10))"],
  ['a rejection that nobody handles', "void Promise.reject(new Error('unheard'))"],
]) {
  t.test(`a file with ${what} fails`, async (t) => {
    t.equal(run(t, `t.test('fails', async (t) => { t.pass(); ${failure}; });`), 1);
  });
}
