// Starts the built service as a user would, does what README and the first guides do next (example scripts, the pages, every
// route that reads, the commands of the terminal), and stops it with Ctrl-C. A second start compiles nothing.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { URLSearchParams } from 'node:url';
import { promisify } from 'node:util';

const START_MS = 60_000;
const SAY_MS = 60_000;
const dir = mkdtempSync(path.join(tmpdir(), 'quotebook-smoke-'));
const readyFile = path.join(dir, 'ready.json');
const flags = ['--port', '0', '--data-dir', dir, '--ready-file', readyFile];
let service, ended;

/** Resolves when it is ready, to the milliseconds that it took. */
async function start() {
  const startedAt = Date.now();
  service = spawn('npm', ['start', '--', ...flags], { stdio: ['ignore', 'ignore', 'inherit'], detached: true });
  ended = new Promise((resolve) => service.on('exit', resolve));
  while (!existsSync(readyFile)) {
    if (service.exitCode !== null) throw new Error('the service ended before it was ready');
    if (Date.now() - startedAt > START_MS) throw new Error(`not ready within ${START_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return Date.now() - startedAt;
}

/** An example script that runs until it is ended. */
class Example {
  #output = '';

  constructor(...words) {
    this.words = words;
    this.child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child.stdout.on('data', (text) => (this.#output += text));
  }

  /** Resolves when it has printed that text; any, if empty. */
  async says(text) {
    const until = Date.now() + SAY_MS;
    while (this.#output === '' || !this.#output.includes(text)) {
      if (this.child.exitCode !== null) throw new Error(`${this.words[0]} ended: ${this.#output}`);
      if (Date.now() > until) throw new Error(`${this.words[0]} has not printed "${text}" in time: ${this.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const run = promisify(execFile);

/** Runs a command of the program against the service; resolves to what it prints. */
async function quotebook(...words) {
  const program = 'dist/src/cli/quotebook.js';
  const { stdout } = await run(process.execPath, [program, ...words, '--ready', readyFile]);
  return stdout;
}

/** Checks that the pages are there, and asks every route that reads with the example of its document. */
async function readAll({ httpUrl, apiKey, pools }) {
  const pages = {
    '/': 'app.js',
    '/docs': 'docs.js',
    '/docs/sockets': 'docs.js',
    '/docs.js': '/openapi.json',
    '/redoc.js': 'Redoc',
  };
  const documents = {
    '/openapi.json': '"openapi"',
    '/asyncapi.json': '"asyncapi"',
    '/llms.txt': '/quotes',
    '/changelog.txt': '# Changelog',
  };
  for (const [path, part] of Object.entries({ ...pages, ...documents, '/health': 'alive', '/ready': '"ready":true' })) {
    const response = await fetch(httpUrl + path);
    if (!response.ok || !(await response.text()).includes(part)) throw new Error(`${path} is not as it should be`);
  }
  const { paths } = await (await fetch(`${httpUrl}/openapi.json`)).json();
  let asked = 0;
  for (const [template, { get }] of Object.entries(paths)) {
    if (get === undefined) continue;
    let target = template;
    const query = new URLSearchParams();
    for (const { name, in: place, example } of get.parameters ?? []) {
      if (example === undefined) continue;
      const value = /^pool(Address)?$/.test(name) ? pools[0].poolAddress : example;
      if (place === 'path') target = target.replace(`{${name}}`, value);
      else for (const item of [value].flat()) query.append(Array.isArray(value) ? `${name}[]` : name, item);
    }
    const response = await fetch(`${httpUrl}${target}?${query}`, { headers: { 'x-apikey': apiKey } });
    // Ids of the examples are another chain's: a route may say that it knows none of them.
    if (response.status >= 500 || response.status === 401) throw new Error(`GET ${target}: ${await response.text()}`);
    asked += 1;
  }
  console.log(`read ${asked} routes and ${Object.keys(pages).length + Object.keys(documents).length} pages`);
}

/** Quotes, buys and cancels with the commands of the terminal. */
async function useTerminal() {
  if (!(await quotebook('status')).startsWith('ready')) throw new Error('status does not say that it is ready');
  const option = JSON.parse((await quotebook('chain', '--json')).split('\n')[0]).instrument;
  await quotebook('quote', option, 'ask', '0.05', '2', '--account', '3');
  if (!(await quotebook('book', option)).includes('0.05')) throw new Error('the book does not show the quote');
  await quotebook('fill', option, 'buy', '1', '--limit', '0.05', '--account', '2', '--approve');
  await quotebook('cancel', '--all', '--account', '3');
  if ((await quotebook('book', option, '--json')).includes('"50000000000000000"'))
    throw new Error('cancelled, and still there');
  console.log('quoted, bought and cancelled in the terminal');
}

const builtAt = () => statSync('dist/web/app.js').mtimeMs;

try {
  console.log(`ready after ${await start()} ms`);
  const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
  const { httpUrl, rpcUrl, apiKey, chainId, pools } = ready;
  const watch = new Example('examples/watch.mjs', readyFile);
  await watch.says('');
  const { stdout } = await run(process.execPath, ['examples/post-quote.mjs', readyFile]);
  if (!stdout.startsWith('201 ')) throw new Error(`posting a quote gave ${stdout}`);
  const query = `poolAddress=${pools[0].poolAddress}&side=ask&size=1&chainId=${chainId}`;
  const response = await fetch(`${httpUrl}/quotes?${query}`, { headers: { 'x-apikey': apiKey } });
  const quotes = await response.json();
  if (quotes.length !== 1) throw new Error(`the book shows ${JSON.stringify(quotes)}`);
  await watch.says('POST_QUOTE');
  watch.child.kill();
  console.log('posted a quote, saw it pushed, and read it back');
  const maker = new Example('examples/market-maker.mjs', readyFile, '1', '0.03', '2');
  await maker.says('ask 1.5 at');
  const { stdout: taken } = await run(process.execPath, ['examples/taker.mjs', readyFile, '1', '1']);
  maker.child.kill('SIGINT');
  if (!taken.includes('covered 1 of 1')) throw new Error(`taking gave ${taken}`);
  console.log('made a market, and took from it');
  await readAll(ready);
  await useTerminal();
  process.kill(-service.pid, 'SIGINT');
  await ended;
  const chainAnswers = await fetch(rpcUrl, { method: 'POST' }).then(
    () => true,
    () => false,
  );
  if (chainAnswers) throw new Error('the local chain outlived the service');
  console.log('stopped, and the chain with it');
  rmSync(readyFile, { force: true });
  const builtFirst = builtAt();
  console.log(`started again, ready after ${await start()} ms`);
  if (builtAt() !== builtFirst) throw new Error('a second start compiled what had not changed');
  process.kill(-service.pid, 'SIGINT');
  await ended;
} finally {
  if (service.exitCode === null && service.signalCode === null) process.kill(-service.pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}
