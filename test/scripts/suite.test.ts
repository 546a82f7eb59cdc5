import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const PASSES = "t.test('passes', async (t) => t.pass());";

/** Exit code of the runner for a folder with a test file of each content, together in one process or apart. */
function run(t: Test, ...contents: string[]): number | null {
  return runWith(t, [], ...contents);
}

/** The same with more of the runner's options. The files are `0.test.js`, `1.test.js` and so on. */
function runWith(t: Test, options: readonly string[], ...contents: string[]): number | null {
  const files = contents.map((content, index) => [`${index}.test.js`, `import t from 'tap';\n${content}`]);
  const root = t.testdir({ shared: Object.fromEntries(files) as Record<string, string> });
  // As if from a shell: the runner inherits nothing of the test that runs it.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TAP')));
  const together = contents.length > 1 ? 'shared' : '';
  const args = ['--jobs=1', '--timeout=60', `--root=${root}`, `--together=${together}`, ...options, `${root}/shared`];
  return spawnSync(process.execPath, ['scripts/run-tests.mjs', ...args], { cwd: ROOT, env }).status;
}

t.test('a file whose tests pass is passed', async (t) => {
  t.equal(run(t, PASSES), 0);
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

t.test('files that share a process fail where one of them does', async (t) => {
  const says = "t.test('passes', async (t) => { globalThis.isShared = true; t.pass(); });";
  t.equal(run(t, says, "t.test('fails', async (t) => t.notOk(globalThis.isShared));"), 1);
});

t.test('files that share a process have the time of all of them together', async (t) => {
  const hasSeconds = (seconds: number): string =>
    `t.test('has its time', async (t) => t.equal(process.env.TAP_TIMEOUT, '${seconds}'));`;
  t.equal(run(t, hasSeconds(60)), 0);
  t.equal(run(t, hasSeconds(120), hasSeconds(120)), 0);
});

t.test('a file that shares a process is torn down before the next one, what came last first', async (t) => {
  const first = `
    const said = (globalThis.said = []);
    t.teardown(() => said.push('first'));
    t.teardown(() => said.push('second'));
    t.test('takes time', () => new Promise((resolve) => setTimeout(resolve, 20)).then(() => said.push('test')));`;
  const says = "t.test('passes', async (t) => t.strictSame(globalThis.said, ['test', 'second', 'first']));";
  t.equal(run(t, first, says), 0);
});

t.test('a file that fails before its tests fails the run, and leaves nothing open', async (t) => {
  const broken = `
    const timer = setInterval(() => undefined, 1_000);
    t.teardown(() => clearInterval(timer));
    throw new Error('not ready');`;
  const startMs = performance.now();
  t.equal(run(t, PASSES, broken), 1);
  t.ok(performance.now() - startMs < 30_000, 'sooner than its timeout of a minute');
});

for (const option of ['first', 'alone']) {
  t.test(`--${option} with the name of no file fails the run`, async (t) => {
    t.equal(runWith(t, [`--${option}=0`], PASSES), 0);
    t.equal(runWith(t, [`--${option}=0,renamed`], PASSES), 1);
  });
}
