// A test of tests: runs test files side by side, each in a process of its own, and is run by run-tests.mjs, which says
// what the arguments are. tap could run the files, too, but would put the loader that it measures coverage with
// into each of their processes and into all that they start, which takes more than half of a short one's time.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import t from 'tap';

const { values, positionals } = parseArgs({
  options: {
    jobs: { type: 'string' },
    timeout: { type: 'string' },
    except: { type: 'string', default: '' },
    alone: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const except = new Set(values.except.split(','));
const isWanted = (file) => file.endsWith('.test.js') && !except.has(file.split(path.sep)[0]);
const files = positionals.flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .filter(isWanted)
    .map((file) => path.join(folder, file)),
);
if (files.length === 0) t.fail('there are no such tests');

const alone = new Set(values.alone.split(',').map((name) => `${name}.test.js`));
const runsAlone = (file) => alone.has(path.basename(file));
const noAsyncHooks = new URL('no-async-hooks.mjs', import.meta.url).href;
t.jobs = Number(values.jobs);
for (const file of [...files.filter((file) => !runsAlone(file)).sort(), ...files.filter(runsAlone).sort()]) {
  const env = { ...process.env, TAP_TIMEOUT: values.timeout, TAP_CHILD_ID: file };
  // tap runs what is buffered side by side, and waits before what is not.
  const options = { env, timeout: Number(values.timeout) * 1_000, buffered: !runsAlone(file) };
  // The loader comes in through NODE_OPTIONS, which tap sets, whatever is in `env`.
  const node = [process.execPath, '--import', noAsyncHooks, '--enable-source-maps'];
  t.spawn('env', ['-u', 'NODE_OPTIONS', ...node, file], options, file);
}
