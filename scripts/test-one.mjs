// Compiles the tree and runs single test files, or with --watch runs them again after each change:
//   npm run test:one test/engine/engine.test.ts
//   npm run test:one -- --watch test/engine/engine.test.ts
import { spawn, spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({ options: { watch: { type: 'boolean' } }, allowPositionals: true });
const compiled = positionals.map((file) => `dist/${file.replace(/^\.\//, '').replace(/\.ts$/, '.js')}`);
if (compiled.length === 0) throw new Error('name a test file, such as test/engine/engine.test.ts');

const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noCheck'];
const node = (args) => spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;

if (values.watch) {
  node(tsc);
  spawn(process.execPath, [...tsc, '--watch', '--preserveWatchOutput'], { stdio: 'inherit' });
  for (const file of compiled) spawn(process.execPath, ['--watch', '--enable-source-maps', file], { stdio: 'inherit' });
} else {
  process.exitCode = node(tsc);
  for (const file of process.exitCode === 0 ? compiled : []) {
    process.exitCode = node(['--enable-source-maps', file]) || process.exitCode;
  }
}
