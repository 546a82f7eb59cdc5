import t from 'tap';
import { type CliCommand, EXIT_FAILED, EXIT_OK, EXIT_USAGE, runCommand } from '../../src/cli/run.js';
import { accountCommand, bookCommand, chainCommand, statusCommand, watchCommand } from '../../src/cli/read.js';
import { ONE, signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { startTestService } from '../e2e/running-service.js';
import { until } from '../until.js';

const running = await startTestService();
t.teardown(() => running.stop());
const { chain, httpUrl, apiKey } = running;
const commands: readonly [CliCommand, ...CliCommand[]] = [
  statusCommand,
  chainCommand,
  bookCommand,
  watchCommand,
  accountCommand,
];
const [maker, taker] = chain.accounts.slice(1);
const [pool] = chain.pools;
if (maker === undefined || taker === undefined || pool === undefined) throw new Error('a chain has accounts and pools');
const signed = await Promise.all([
  signQuote(maker.privateKey, pool, { price: ONE / 20n, size: 2n * ONE }),
  signQuote(maker.privateKey, pool, { price: ONE / 25n, size: ONE, isBuy: true }),
]);
const posted = await new RestClient(httpUrl, apiKey).post('/quotes', signed);
if (posted.status !== 201) throw new Error('the quotes were not created');

const ready = { httpUrl, apiKey, chainId: chain.chainId };

/** Runs a command against the service, with a ready file of this content unless `readyFile` is null. */
async function run(
  words: readonly string[],
  { readyFile = ready, environment = {} }: { readyFile?: object | null; environment?: Record<string, string> } = {},
  out: string[] = [],
) {
  const err: string[] = [];
  const code = await runCommand(words, commands, '0.0.0', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment,
    async readText(file) {
      if (readyFile === null || file !== 'data/ready.json') throw new Error(`there is no ${file}`);
      return JSON.stringify(readyFile);
    },
  });
  return { code, out, err };
}

const name = await run(['chain', '--json']).then(({ out }) => {
  const quoted = out.map((line) => JSON.parse(line) as { instrument: string; poolAddress: string; ask: unknown });
  return quoted.find(({ poolAddress }) => poolAddress === pool.poolAddress)?.instrument ?? '';
});

await t.test('chain lists the options by name, with prices, and filters them', async (t) => {
  const { code, out } = await run(['chain']);
  t.equal(code, EXIT_OK);
  t.match(out[0], /option +bid +size +ask/);
  t.match(
    out.find((line) => line.startsWith(name) || line.trim().startsWith(name)),
    /0\.04 +1 +0\.05 +2/,
  );
  t.equal(out.length, 1 + chain.pools.length);
  const [, , expiry = ''] = name.split('-');
  const some = await run(['chain', '--underlying', 'wbtc', '--expiry', expiry.toLowerCase()]);
  t.ok(some.out.length > 1 && some.out.slice(1).every((line) => line.trim().startsWith(`WBTC-USDC-${expiry}`)));
});

await t.test('book shows the levels of an option by its name, also with the whole year, or its address', async (t) => {
  const withYear = name.replace(/(\d\d-\d+-[CP])$/, '20$1');
  for (const option of [name, name.toLowerCase(), withYear, withYear.toLowerCase(), pool.poolAddress]) {
    const { code, out } = await run(['book', option]);
    t.equal(code, EXIT_OK);
    t.strictSame(out.slice(0, 1), [name]);
    t.match(out[2], /ask +0\.05 +2 +1/);
    t.match(out[3], /bid +0\.04 +1 +1/);
  }
  const { out } = await run(['book', name, '--json', '--depth', '1']);
  t.match(JSON.parse(out[0] ?? ''), { instrument: name, asks: [{ price: (ONE / 20n).toString() }] });
});

await t.test('account shows quotes, positions and balances', async (t) => {
  const { code, out } = await run(['account', maker.address]);
  t.equal(code, EXIT_OK);
  t.equal(out.filter((line) => line.endsWith('live')).length, 2);
  t.ok(out.some((line) => /USDC +\d/.test(line)));
  t.match(out[0], /^ *option +quote +side /);
  t.equal(out.filter((line) => line.trim().startsWith(`${name}  0x`)).length, 2, 'each quote names its option');
  const json = JSON.parse((await run(['account', maker.address, '--json'])).out[0] ?? '') as object;
  t.match(json, { orders: { validQuotes: [{}, {}] }, positions: { open: [] } });
});

await t.test('account shows private quotes to a key that may see them', async (t) => {
  const secret = await signQuote(maker.privateKey, pool, { price: ONE / 30n, size: ONE, taker: taker.address });
  t.equal((await new RestClient(httpUrl, apiKey).post('/quotes', [secret])).status, 201);
  const { out } = await run(['account', maker.address]);
  t.equal(out.filter((line) => line.endsWith('live')).length, 3);
});

await t.test('status says that the service is ready', async (t) => {
  const { code, out } = await run(['status']);
  t.strictSame([code, out[0]], [EXIT_OK, 'ready']);
  t.match(out[1], new RegExp(`event \\d+ of log [0-9a-f]{16}; ${chain.pools.length} pools, 1 with quotes`));
});

await t.test('watch prints each event of an option until it is interrupted', async (t) => {
  const out: string[] = [];
  const watching = run(['watch', name, '--json'], {}, out);
  const listeners = process.listenerCount('SIGINT');
  await until(() => process.listenerCount('SIGINT') !== listeners);
  const quote = await signQuote(maker.privateKey, pool, { price: ONE / 10n });
  await new RestClient(httpUrl, apiKey).post('/quotes', [quote]);
  await until(() => out.length > 0);
  process.emit('SIGINT');
  t.equal((await watching).code, EXIT_OK);
  t.match(
    out.map((line) => JSON.parse(line) as object),
    [{ type: 'POST_QUOTE', body: { price: (ONE / 10n).toString(), instrument: name } }],
  );
});

await t.test('the service may be named by flags and the key by a variable', async (t) => {
  const words = ['status', '--url', httpUrl, '--chain-id', String(chain.chainId)];
  const environment = { QUOTEBOOK_API_KEY: apiKey };
  t.equal((await run(words, { readyFile: null, environment })).code, EXIT_OK);
});

await t.test(
  'next to --url a ready file is read where it is named, and otherwise none of its values goes there',
  async (t) => {
    const url = ['--url', httpUrl];
    const { code, err } = await run(['status', ...url]);
    t.equal(code, EXIT_USAGE);
    t.match(err[0], /name --api-key, too, or the ready file of the service with --ready/);
    const withKey = await run(['status', ...url], { environment: { QUOTEBOOK_API_KEY: apiKey } });
    t.match([withKey.code, withKey.err[0]], [EXIT_USAGE, /name --chain-id, too/]);
    t.equal((await run(['status', ...url, '--ready', 'data/ready.json'])).code, EXIT_OK);
  },
);

await t.test('of the ready file of a cluster the first gateway answers', async (t) => {
  const { apiKey: key, chainId } = ready;
  const gateways = [{ httpUrl }, { httpUrl: 'http://127.0.0.1:9' }];
  const { code, err } = await run(['status'], { readyFile: { apiKey: key, chainId, gateways } });
  t.equal(code, EXIT_OK, err.join('\n'));
});

await t.test('a ready file that lacks a value is said to be there', async (t) => {
  const { code, err } = await run(['status'], { readyFile: { httpUrl, apiKey } });
  t.equal(code, EXIT_USAGE);
  t.match(err[0], /data\/ready\.json has no chainId: name the service with --url, --api-key and --chain-id/);
});

await t.test('wrong words and an unknown key are refused', async (t) => {
  for (const [words, says] of [
    [['book'], /name one option/],
    [['book', 'WETH-USDC-1'], /there is no option/],
    [['book', name, '--depth', '0'], /--depth/],
    [['book', name, '--taker', 'me'], /--taker/],
    [['account', 'me'], /name one address/],
    [['chain', '--colour'], /unknown flag/],
  ] as const) {
    const { code, err } = await run(words);
    t.equal(code, EXIT_USAGE, words.join(' '));
    t.match(err.join('\n'), says);
  }
  const alone = await run(['status'], { readyFile: null });
  t.equal(alone.code, EXIT_USAGE);
  t.match(alone.err[0], /--url, --api-key and --chain-id/);
});

await t.test('a key or a chain that the service does not know is said to be so', async (t) => {
  for (const command of ['chain', 'watch']) {
    const { code, err } = await run([command, '--api-key', 'unknown']);
    t.equal(code, EXIT_FAILED);
    t.match(err, [/^quotebook: http:.* does not know this API key: name another with --api-key or QUOTEBOOK_API_KEY$/]);
  }
  for (const chainId of ['42161', '1']) {
    const { code, err } = await run(['book', name, '--chain-id', chainId]);
    t.equal(code, EXIT_FAILED);
    t.match(err, [new RegExp(`serves no chain ${chainId}: .* with --chain-id$`)]);
  }
});
