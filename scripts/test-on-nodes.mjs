// Runs the compiled suite on other major versions of Node, whose binaries come as npm packages:
//   node scripts/test-on-nodes.mjs 22 24
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
const run = (command, args, env) => execFileSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });

for (const major of process.argv.slice(2)) {
  const dir = mkdtempSync(path.join(tmpdir(), `quotebook-node-${major}-`));
  try {
    run('npm', ['install', '--prefix', dir, '--no-save', '--no-package-lock', `node-${platform}@${major}`]);
    const bin = path.join(dir, 'node_modules', `node-${platform}`, 'bin');
    const env = { PATH: `${bin}${path.delimiter}${process.env.PATH}` };
    run('node', ['--version'], env);
    run('npm', ['test', '--', `--output-file=dist/node-${major}.tap`], env);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
