import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const SCRIPT = fileURLToPath(new URL('../../../.ci/run', import.meta.url));
const TOOLS = [
  'chromium-headless-shell',
  'mkfs.xfs',
  'strace',
  'faketime',
  'nft',
  'ip',
  'curl',
  'mypy',
  'openssl',
  'systemd-notify',
  'pgrep',
  'promtool',
];
const BASH = execFileSync('sh', ['-c', 'command -v bash'], { encoding: 'utf8' }).trim();

interface Outcome {
  readonly status: number | null;
  readonly said: string;
}

/**
 * Runs a copy of the whole script on a machine that has `tools` and whose package manager ends with `aptStatus`; all else that
 * the script starts succeeds at once.
 */
function run(t: Test, tools: readonly string[], aptStatus: number): Outcome {
  // Debian's Python is called by its path, since another one may come first in PATH.
  const script = readFileSync(SCRIPT, 'utf8').replaceAll('/usr/bin/', '');
  const root = t.testdir({ '.ci': { run: script }, bin: {}, dist: {} });
  const bin = path.join(root, 'bin');
  const stub = (name: string, status: number): void => {
    const file = path.join(bin, name);
    // Node.js is asked where another one was installed.
    writeFileSync(file, `#!${BASH}\n${name === 'node' ? `echo ${bin}\n` : ''}exit ${status}\n`);
    chmodSync(file, 0o755);
  };
  for (const name of ['npm', 'node', 'python3', ...tools]) stub(name, 0);
  stub('apt-get', aptStatus);
  const dirname = execFileSync('sh', ['-c', 'command -v dirname'], { encoding: 'utf8' }).trim();
  symlinkSync(dirname, path.join(bin, 'dirname'));
  const { status, stdout, stderr } = spawnSync(BASH, [path.join(root, '.ci/run')], {
    env: { PATH: bin },
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
}

t.test('the check succeeds where every tool is there', (t) => {
  const { status, said } = run(t, TOOLS, 1);
  t.equal(status, 0, said);
  t.end();
});

for (const missing of TOOLS) {
  t.test(`it fails where ${missing} is missing and cannot be installed`, (t) => {
    const tools = TOOLS.filter((tool) => tool !== missing);
    const { status, said } = run(t, tools, 1);
    t.equal(status, 1);
    t.match(said, `FAILED: ${missing} is missing`);
    t.match(said, '== result', 'after all its steps');
    t.equal(run(t, tools, 0).status, 1, 'also where the package manager reports success and did not install it');
    t.end();
  });
}
