// A test of tests: runs test files side by side, each in a process of its own, and is run by run-tests.mjs, which says
// what the arguments are. tap could run the files, too, but would put the loader that it measures coverage with
// into each of their processes and into all that they start, which takes more than half of a short one's time.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import t from 'tap';

/** Folders whose files share processes: loading what they import takes longer than most of their tests. */
const TOGETHER = [
  ...['api-docs', 'app', 'auth', 'chain', 'cli', 'client', 'config', 'e2e', 'engine', 'feed', 'http', 'market'],
  ...['metrics', 'net', 'past', 'protection', 'quota', 'rfq', 'system', 'trading', 'wire', 'ws'],
  ...['contracts', 'dev', 'follow', 'options', 'publish', 'rpc', 'wallet'].map((folder) => `chain/${folder}`),
  ...['codec', 'disk', 'format', 'log', 'recovery', 'snapshot'].map((folder) => `persistence/${folder}`),
  ...['client/trading', 'net/node'],
];
/** So many at most, which leaves something to run side by side. */
const FILES_A_PROCESS = 8;

const { values, positionals } = parseArgs({
  options: {
    jobs: { type: 'string' },
    timeout: { type: 'string' },
    except: { type: 'string', default: '' },
    first: { type: 'string', default: '' },
    alone: { type: 'string', default: '' },
    root: { type: 'string', default: 'dist/test' },
    together: { type: 'string', default: TOGETHER.join(',') },
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

const namesOf = (list) => new Set(list.split(',').flatMap((name) => (name === '' ? [] : [`${name}.test.js`])));
const first = namesOf(values.first);
const alone = namesOf(values.alone);
// A renamed file would run beside others. A run of some folders may name files of others.
const known = new Set(readdirSync(values.root, { recursive: true }).map((file) => path.basename(file)));
for (const name of [...first, ...alone]) if (!known.has(name)) t.fail(`there is no ${name} to run first or alone`);
const runsAlone = (file) => alone.has(path.basename(file));
/** Of a file, in the order in which they start. */
const turnOf = (file) => (runsAlone(file) ? 2 : first.has(path.basename(file)) ? 0 : 1);
const together = new Set(values.together.split(','));
/** What runs in one process: a file, or some files of a folder that is named in `together`. */
const groups = new Map();
const counts = new Map();
for (const file of files.toSorted((a, b) => turnOf(a) - turnOf(b) || (a < b ? -1 : 1))) {
  const folder = path.dirname(file);
  const isShared = together.has(path.relative(values.root, folder)) && turnOf(file) === 1;
  const count = counts.get(folder) ?? 0;
  if (isShared) counts.set(folder, count + 1);
  const group = isShared ? `${folder} ${1 + Math.floor(count / FILES_A_PROCESS)}` : file;
  groups.set(group, [...(groups.get(group) ?? []), file]);
}

const noAsyncHooks = new URL('no-async-hooks.mjs', import.meta.url).href;
const runTogether = path.join(import.meta.dirname, 'run-together.mjs');
t.jobs = Number(values.jobs);
for (const [group, members] of groups) {
  const seconds = Number(values.timeout) * members.length;
  const env = { ...process.env, TAP_TIMEOUT: `${seconds}`, TAP_CHILD_ID: group };
  // tap runs what is buffered side by side, and waits before what is not.
  const options = { env, timeout: seconds * 1_000, buffered: !runsAlone(group) };
  const program = group === members[0] ? [group] : [runTogether, group, ...members];
  // The loader comes in through NODE_OPTIONS, which tap sets, whatever is in `env`.
  const node = [process.execPath, '--import', noAsyncHooks, '--enable-source-maps'];
  t.spawn('env', ['-u', 'NODE_OPTIONS', ...node, ...program], options, group);
}
