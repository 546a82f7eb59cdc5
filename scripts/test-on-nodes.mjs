// Runs tests on other major versions of Node, whose binaries come as npm packages: what depends on the version. With
// `:service` the tests of the whole service run, too: on a version for which a native network library is packaged.
//   node scripts/test-on-nodes.mjs 22 20:service
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installNode } from './node-native.mjs';

const run = (command, args, env) => execFileSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });

const DEPENDING = ['client', 'http', 'net', 'persistence', 'ws'];
/** Of the whole service. */
const OF_SERVICE = ['e2e'];

run('npm', ['run', '--silent', 'compile']);
for (const version of process.argv.slice(2)) {
  const [major, extent] = version.split(':');
  const dir = mkdtempSync(path.join(tmpdir(), `quotebook-node-${major}-`));
  try {
    const { bin } = installNode(major, dir, false);
    const env = {
      // Compiles what all of the files import once.
      NODE_COMPILE_CACHE: path.join(dir, 'compiled'),
      PATH: `${bin}${path.delimiter}${process.env.PATH}`,
    };
    // Says which library serves, and of which version.
    run('node', ['dist/test/net/open-server.test.js'], env);
    const folders = [...DEPENDING, ...(extent === 'service' ? OF_SERVICE : [])].map((folder) => `dist/test/${folder}`);
    const options = ['--jobs=3', '--timeout=300', '--first=quote-manager', `--output-file=dist/node-${major}.tap`];
    run('node', ['scripts/run-tests.mjs', ...options, ...folders], env);
  } catch (error) {
    console.log(`Node.js ${major}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
