// Follows the README from its first line to an own fill on the page, as a stranger would: runs its first block of commands
// in a new clone in an empty directory, opens the page in headless Chromium, and does there what the numbered steps say.
// Prints TAP with the seconds of each step. It fails when one does not lead on, or when all take longer than five minutes.
// Changes that are not committed are not followed. Needs npm ci and npm run test:browser in this directory before.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { browserPath, launch } from '../dist/test/browser/browser.js';

const LIMIT_SECONDS = 300;
t.setTimeout(LIMIT_SECONDS * 1_000);
const root = fileURLToPath(new URL('..', import.meta.url));
const dir = mkdtempSync(path.join(tmpdir(), 'quotebook-readme-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

const clone = path.join(dir, 'quotebook');
execFileSync('git', ['clone', '--quiet', root, clone], { stdio: 'inherit' });
const readme = readFileSync(path.join(clone, 'README.md'), 'utf8');
const [, commands = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(readme) ?? [];
const [, address = '', port = ''] = /`(http:\/\/127\.0\.0\.1:(\d+)\/)`/.exec(readme) ?? [];
const steps = [...readme.matchAll(/^\d+\. ([\s\S]*?)(?=^\d+\. |\n\n)/gm)].map(([, step]) => step);

function isFree(wanted) {
  const server = net.createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(wanted, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Runs the README's commands, which end with one that stays; resolves to the page's address. */
async function start() {
  const isDefaultFree = await isFree(Number(port));
  // Another program may have the port that the README names.
  const line = isDefaultFree ? commands : `${commands.trimEnd()} -- --port 0`;
  const service = spawn('bash', ['-e', '-c', line], { cwd: clone, stdio: ['ignore', 'pipe', 2], detached: true });
  service.stdout.resume();
  const ended = new Promise((resolve) => service.on('exit', resolve));
  const isOver = () => service.exitCode !== null || service.signalCode !== null;
  t.teardown(async () => {
    if (!isOver()) process.kill(-service.pid, 'SIGINT');
    await ended;
  });
  const readyFile = path.join(clone, 'data/ready.json');
  while (!existsSync(readyFile)) {
    if (isOver()) throw new Error('the commands ended');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { httpUrl } = JSON.parse(readFileSync(readyFile, 'utf8'));
  if (isDefaultFree && `${httpUrl}/` !== address) throw new Error(`it listens at ${httpUrl}, not at ${address}`);
  return `${httpUrl}/`;
}

/** Does what a step says: `an "Ask" of `0.12`` enters, "Quote" is a part of the page, every other name is a button's. */
async function follow(page, step) {
  let part = page.locator('body');
  for (const [, name, value] of step.matchAll(/"([^"]+)"(?:\s+of\s+`([^`]+)`)?/g)) {
    const heading = page.getByRole('heading', { name, exact: true });
    const address = page.locator('header').getByRole('button', { name: /^0x/ });
    const isAccount = name.startsWith('Demo account');
    if (isAccount && (await address.isVisible())) await address.click();
    const place = isAccount ? page.getByRole('dialog') : part;
    if (value !== undefined) await part.getByLabel(new RegExp(`^\\s*${name}, `)).fill(value);
    else if (await heading.isVisible()) part = page.locator('section').filter({ has: heading });
    else await place.getByRole('button', { name: new RegExp(`^${name}( |$)`) }).click();
  }
}

t.test('the README leads to an own fill on the page', async (t) => {
  const startedAt = Date.now();
  const secondsSince = (from) => (Date.now() - from) / 1_000;
  const timed = async (name, work) => {
    const from = Date.now();
    const result = await work();
    t.pass(`${name} (${secondsSince(from).toFixed(1)} s)`);
    return result;
  };
  const executable = browserPath();
  if (executable === null) throw new Error('there is no Chromium here: apt-get install chromium');
  t.ok(commands !== '' && steps.length > 1, 'it has commands, and numbered steps for the page');
  const url = await timed(commands.trim(), start);
  const browser = await launch(executable);
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  await timed(`open ${address}`, () => page.goto(url));
  for (const step of steps) await timed(step.replaceAll(/\s+/g, ' ').trim(), () => follow(page, step));
  for (const part of ['Account', 'Trades']) {
    const row = page.getByRole('region', { name: part }).getByRole('row').filter({ hasText: '1.00' });
    await timed(`the fill is under "${part}"`, () => row.waitFor());
  }
  const seconds = secondsSince(startedAt);
  t.ok(seconds <= LIMIT_SECONDS, `all of it took ${seconds.toFixed(1)} s, at most ${LIMIT_SECONDS} s`);
});
