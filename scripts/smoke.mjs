// Starts the built service as a user would, runs the example scripts against it, and stops it with Ctrl-C. A second start
// compiles nothing.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const START_MS = 60_000;
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

const builtAt = () => statSync('dist/web/app.js').mtimeMs;

try {
  console.log(`ready after ${await start()} ms`);
  const { httpUrl, rpcUrl, apiKey, chainId, pools } = JSON.parse(readFileSync(readyFile, 'utf8'));
  const { stdout } = await promisify(execFile)(process.execPath, ['examples/post-quote.mjs', readyFile]);
  if (!stdout.startsWith('201 ')) throw new Error(`posting a quote gave ${stdout}`);
  const query = `poolAddress=${pools[0].poolAddress}&side=ask&size=1&chainId=${chainId}`;
  const response = await fetch(`${httpUrl}/quotes?${query}`, { headers: { 'x-apikey': apiKey } });
  const quotes = await response.json();
  if (quotes.length !== 1) throw new Error(`the book shows ${JSON.stringify(quotes)}`);
  console.log('posted a quote and read it back');
  const maker = spawn(process.execPath, ['examples/market-maker.mjs', readyFile, '1', '0.03', '2']);
  await new Promise((resolve, reject) => {
    maker.stdout.on('data', (text) => `${text}`.includes('ask 1.5 at') && resolve());
    maker.on('exit', () => reject(new Error('the market maker ended')));
  });
  const { stdout: taken } = await promisify(execFile)(process.execPath, ['examples/taker.mjs', readyFile, '1', '1']);
  maker.kill('SIGINT');
  if (!taken.includes('covered 1 of 1')) throw new Error(`taking gave ${taken}`);
  console.log('made a market, and took from it');
  const page = await fetch(httpUrl);
  if (!(await page.text()).includes('app.js')) throw new Error('there is no page at /');
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
