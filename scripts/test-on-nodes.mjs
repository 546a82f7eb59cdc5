// Runs tests on other major versions of Node, whose binaries come as npm packages: what depends on the version. With
// `:native` that Node has a C library that uWebSockets.js 20.57 loads with (see node-native.mjs), and the tests of the
// whole service run, too; without, and on a machine whose own is old, node:http and ws serve.
//   node scripts/test-on-nodes.mjs 22 24:native
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installNode } from './node-native.mjs';

const run = (command, args, env) => execFileSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });

const DEPENDING = ['client', 'http', 'net', 'persistence', 'ws'];
/** With the native network library besides: what rests on it, and the feed, which it carries. */
const OF_NATIVE = ['auth', 'cli', 'e2e', 'feed'];

run('npm', ['run', '--silent', 'compile']);
for (const version of process.argv.slice(2)) {
  const [major, native] = version.split(':');
  const dir = mkdtempSync(path.join(tmpdir(), `quotebook-node-${major}-`));
  try {
    const { bin, isNative } = installNode(major, dir, native === 'native');
    const env = {
      // Compiles what all of the files import once.
      NODE_COMPILE_CACHE: path.join(dir, 'compiled'),
      PATH: `${bin}${path.delimiter}${process.env.PATH}`,
      ...(isNative && { QUOTEBOOK_TEST_UWS: '20.57' }),
    };
    // Says which library serves, and of which version.
    run('node', ['dist/test/net/open-server.test.js'], env);
    const folders = [...DEPENDING, ...(native === 'native' ? OF_NATIVE : [])].map((folder) => `dist/test/${folder}`);
    const options = ['--jobs=3', '--timeout=300', '--first=quote-manager', `--output-file=dist/node-${major}.tap`];
    run('node', ['scripts/run-tests.mjs', ...options, ...folders], env);
  } catch (error) {
    console.log(`Node.js ${major}: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
