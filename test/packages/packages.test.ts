import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { until } from '../until.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MAX_INSTALLED_BYTES = 3_000_000;
const MAX_BUNDLE_BYTES = 35_000;
const READY_MS = 120_000;
t.setTimeout(300_000);

/** Below no package of this repository: what is installed there is all that is found. */
const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-packages-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));

const run = (file: string, args: readonly string[], cwd = ROOT): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(file, args, { cwd, maxBuffer: 1 << 24 });
const pack = (...args: string[]) => run(process.execPath, ['scripts/pack.mjs', ...args]);

async function emptyProject(name: string): Promise<string> {
  const dir = path.join(directory, name);
  await mkdir(dir);
  await writeFile(path.join(dir, 'package.json'), '{ "private": true, "type": "module" }\n');
  return dir;
}

async function install(dir: string, ...what: string[]): Promise<void> {
  const quiet = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...quiet, ...what], dir);
}

function bytesIn(dir: string): number {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((file) => path.join(dir, file));
  return files.map((file) => statSync(file)).reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

/** A market maker as a user writes it: quotes each side of a pool around a price, and sees its own quotes in the book. */
const BOT = `import { readFileSync } from 'node:fs';
import { OrderbookClient, type OrderbookQuote, type PoolKey, type QuotedPool } from '@quotebook/client';
import { type FillPlan, planFill } from '@quotebook/client/trading';
import { privateKeyToAccount } from 'viem/accounts';

interface Ready {
  readonly httpUrl: string;
  readonly apiKey: string;
  readonly chainId: number;
  readonly accounts: readonly { readonly privateKey: \`0x\${string}\` }[];
  readonly pools: readonly { readonly poolAddress: \`0x\${string}\`; readonly poolKey: PoolKey }[];
}

const ready = JSON.parse(readFileSync(process.argv[2] ?? 'ready.json', 'utf8')) as Ready;
const { httpUrl: url, apiKey, chainId } = ready;
const [pool] = ready.pools;
const account = ready.accounts[1];
if (pool === undefined || account === undefined) throw new Error('The local chain has no pools or accounts');
const client = new OrderbookClient({ url, apiKey, chainId: String(chainId) });
const maker = privateKeyToAccount(account.privateKey);
const quoted: QuotedPool = pool;

const quotes = client.followQuotes({ poolAddress: pool.poolAddress });
await quotes.whenLive();
const seen = new Promise<string>((resolve) => {
  quotes.onEvent(({ type, body }) => {
    if (type === 'POST_QUOTE') resolve(body.quoteId);
  });
});
const signed = await client.signQuote(maker, quoted, {
  side: 'ask',
  price: 50_000_000_000_000_000n,
  size: 1_000_000_000_000_000_000n,
});
const { created, failed } = await client.rest.postQuotes([signed.posted]);
const [mine]: readonly OrderbookQuote[] = created;
if (mine === undefined) throw new Error(JSON.stringify(failed));
if ((await seen) !== mine.quoteId) throw new Error('another quote came');
const { validQuotes } = await client.rest.orders({ quoteIds: [mine.quoteId] });
const plan: FillPlan = planFill({ side: 'ask', size: 1n, limitPrice: 50_000_000_000_000_000n }, validQuotes, {
  taker: '0x2222222222222222222222222222222222222222',
  longs: 0n,
  shorts: 0n,
  feeShare: 1_000_000_000_000_000_000n,
  decimals: 18,
  notBefore: 0,
});
console.log('quoted', validQuotes.length, mine.fillableSize, 'planned', plan.covered);
client.close();
`;

const BUNDLED = `import { OrderbookClient, signQuote } from '@quotebook/client';
globalThis.quotebook = { OrderbookClient, signQuote };
`;

t.test('without a build nothing is packed', async (t) => {
  const failed = await pack(`--build=${directory}`, `--out=${path.join(directory, 'none')}`).catch((e: unknown) => e);
  t.match(failed, { code: 1, stderr: 'Run npm run build first' });
  t.notOk(existsSync(path.join(directory, 'none')));
});

t.test('the packages work where they are installed', async (t) => {
  const { stdout } = await pack(`--out=${path.join(directory, 'packed')}`);
  const [service = '', client = ''] = stdout.trim().split('\n');

  const home = await emptyProject('service');
  await install(home, service);
  const readyFile = path.join(home, 'ready.json');
  const server = spawn('npx', ['quotebook', '--port', '0', '--ready-file', readyFile], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const said: Buffer[] = [];
  server.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  const isOver = (): boolean => server.exitCode !== null || server.signalCode !== null;
  t.teardown(() => {
    if (!isOver() && server.pid !== undefined) process.kill(-server.pid, 'SIGKILL');
  });

  const bot = await emptyProject('bot');
  await t.test('the client is small without viem', async (t) => {
    await install(bot, '--legacy-peer-deps', client);
    const bytes = bytesIn(path.join(bot, 'node_modules'));
    t.ok(bytes <= MAX_INSTALLED_BYTES, `${bytes} bytes`);
  });

  await t.test('a bot and the program of the README compile under strict', async (t) => {
    const { dependencies } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    await install(bot, `viem@${dependencies.viem ?? ''}`);
    await writeFile(path.join(bot, 'bot.ts'), BOT);
    const readme = await readFile(path.join(ROOT, 'packages/client/README.md'), 'utf8');
    const [, program = ''] = /^```ts\n(.*?)^```$/ms.exec(readme) ?? [];
    t.match(program, 'OrderbookClient');
    await writeFile(path.join(bot, 'readme.ts'), program);
    const compilerOptions = {
      strict: true,
      noUncheckedIndexedAccess: true,
      target: 'ES2022',
      module: 'NodeNext',
      moduleResolution: 'NodeNext',
      types: ['node'],
      typeRoots: [path.join(ROOT, 'node_modules/@types')],
    };
    await writeFile(path.join(bot, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', bot], bot).catch((error: unknown) => {
      throw new Error((error as { stdout?: string }).stdout, { cause: error });
    });
  });

  await t.test('a browser bundle is small, and has the client', async (t) => {
    await writeFile(path.join(bot, 'page.js'), BUNDLED);
    const esbuild = path.join(ROOT, 'node_modules/esbuild/bin/esbuild');
    const options = ['--bundle', '--minify', '--format=esm', '--platform=browser', '--target=es2022'];
    await run(esbuild, ['page.js', ...options, '--outfile=bundle.mjs', '--log-level=error'], bot);
    const bytes = gzipSync(await readFile(path.join(bot, 'bundle.mjs')), { level: 9 }).byteLength;
    t.ok(bytes <= MAX_BUNDLE_BYTES, `${bytes} bytes`);
    const { stdout } = await run(
      process.execPath,
      [
        '-e',
        "globalThis.WebSocket ??= class {}; import('./bundle.mjs').then(() => console.log(Object.keys(quotebook)))",
      ],
      bot,
    );
    t.match(stdout, 'OrderbookClient');
  });

  await t.test('npx quotebook serves the local set-up, and the bot quotes on it', async (t) => {
    await until(() => existsSync(readyFile) || isOver(), READY_MS);
    t.ok(existsSync(readyFile), `ready:\n${Buffer.concat(said).toString()}`);
    t.match(Buffer.concat(said).toString(), 'Quotebook is ready on a local chain');
    const { httpUrl } = JSON.parse(await readFile(readyFile, 'utf8')) as { httpUrl: string };
    t.match(await (await fetch(httpUrl)).text(), 'app.js', 'with its page');
    const { stdout } = await run(process.execPath, ['bot.js', readyFile], bot);
    t.equal(stdout, 'quoted 1 1000000000000000000 planned 1n\n');
  });

  await t.test('and stops with all that it started', async (t) => {
    const { httpUrl, rpcUrl } = JSON.parse(await readFile(readyFile, 'utf8')) as { httpUrl: string; rpcUrl: string };
    const answers = (url: string): Promise<boolean> =>
      fetch(url, { method: 'POST' }).then(
        () => true,
        () => false,
      );
    t.strictSame(await Promise.all([httpUrl, rpcUrl].map(answers)), [true, true], 'both answer before');
    const ended = once(server, 'exit');
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGINT');
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    // npx itself may end by the signal once the service has ended; of a service that fails it gives the exit code.
    t.match(String(code ?? signal), /^(0|SIGINT)$/);
    t.strictSame(await Promise.all([httpUrl, rpcUrl].map(answers)), [false, false], 'none outlives it');
  });
});
