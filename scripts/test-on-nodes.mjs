// Runs tests on other major versions of Node, whose binaries come as npm packages. uWebSockets.js does not load there,
// so that they run on the other network backend. A version with a plus runs the suite but for the benchmarks, others
// what depends on the version.
//   node scripts/test-on-nodes.mjs 22 24+
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
const run = (command, args, env) => execFileSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });

const SUITE = ['--except=bench,browser,faults,load,soak', 'dist/test'];
const DEPENDING = 'auth cli client e2e feed http net persistence ws'.split(' ').map((folder) => `dist/test/${folder}`);

run('npm', ['run', '--silent', 'compile']);
for (const version of process.argv.slice(2)) {
  const major = version.replace('+', '');
  const files = version === major ? DEPENDING : SUITE;
  const dir = mkdtempSync(path.join(tmpdir(), `quotebook-node-${major}-`));
  try {
    run('npm', ['install', '--prefix', dir, '--no-save', '--no-package-lock', `node-${platform}@${major}`]);
    const bin = path.join(dir, 'node_modules', `node-${platform}`, 'bin');
    const env = { PATH: `${bin}${path.delimiter}${process.env.PATH}` };
    run('node', ['--version'], env);
    const options = ['--jobs=2', '--timeout=300', `--output-file=dist/node-${major}.tap`];
    run('node', ['scripts/run-tests.mjs', ...options, ...files], env);
  } catch (error) {
    console.log(`Node.js ${major}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
