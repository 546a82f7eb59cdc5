import { readdir } from 'node:fs/promises';
import t from 'tap';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { parseFlags } from '../../src/cli/flags.js';
import { keysCommand } from '../../src/cli/keys.js';
import { type CliCommand, runCommand, UsageError } from '../../src/cli/run.js';
import { configCommand, serveCommand } from '../../src/cli/serve.js';
import { limits } from '../../src/config/limits.js';
import { flagOf, settingNames, type Settings, settingTable } from '../../src/config/setting-table.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { readDocument } from '../app/read-document.js';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface World {
  readonly environment?: Record<string, string>;
  readonly files?: Record<string, string>;
  readonly runService?: (settings: Settings) => Promise<void>;
}

const noService = (): Promise<void> => Promise.reject(new Error('not to be started'));

async function run(
  words: readonly string[],
  { environment = {}, files = {}, runService = noService }: World = {},
): Promise<Ran> {
  const commands: readonly [CliCommand, ...CliCommand[]] = [serveCommand(runService), keysCommand, configCommand];
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommand(words, commands, '1.2.3', {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    environment,
    readText(path) {
      const text = files[path];
      if (text === undefined) return Promise.reject(Object.assign(new Error('missing'), { code: 'ENOENT' }));
      return Promise.resolve(text);
    },
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

t.test('help and version', async (t) => {
  t.match(await run(['--help']), { code: 0, out: /^quotebook \[COMMAND\]/, err: '' });
  t.strictSame(await run(['--version']), { code: 0, out: '1.2.3', err: '' });
  for (const name of ['serve', 'keys', 'config']) {
    t.match(await run([name, '--help']), { code: 0, out: new RegExp(`^quotebook ${name} `), err: '' });
    t.strictSame(await run([name, '-h']), await run([name, '--help']), 'the short form says the same');
  }
});

t.test('the help of serve names every flag, and what holds without it', async (t) => {
  const { out } = await run(['serve', '--help']);
  for (const name of settingNames.filter((setting) => settingTable[setting].flag)) t.match(out, `--${flagOf(name)}\n`);
  t.notMatch(out, '--wallet-key\n');
  t.match(out, `--port\n      ${settingTable.port.about}\n      Takes ${settingTable.port.form}. Default: 8080.\n`);
  t.notMatch(out, 'Default: null', 'what has none tells none');
});

t.test('an unknown command or flag is refused with a hint', async (t) => {
  t.match(await run(['serv']), { code: 2, err: /unknown command serv: did you mean serve\?/ });
  t.match(await run(['xyzzy-plugh']), { code: 2, err: /unknown command xyzzy-plugh\nCommands: serve, keys, config/ });
  t.match(await run(['serve', '--prot', '1']), { code: 2, err: /unknown flag --prot: did you mean --port\?/ });
  t.match(await run(['serve', '--wallet-key', 'ab']), { code: 2, err: /unknown flag --wallet-key/ });
  t.match(await run(['serve', '-p', '1']), { code: 2, err: /unknown flag -p/ });
  t.match(await run(['serve', '--constructor', '1']), { code: 2, err: /unknown flag --constructor/ });
  t.match(await run(['serve', 'local']), { code: 2, err: /serve takes flags alone, not local/ });
});

t.test('flags are read with a space or an equals sign, the last one counts', async (t) => {
  const known = { port: 'value', help: 'switch' } as const;
  t.equal(parseFlags(['--port', '1'], known).values.get('port'), '1');
  t.equal(parseFlags(['--port=1', '--port=2'], known).values.get('port'), '2');
  t.equal(parseFlags(['--port=--x'], known).values.get('port'), '--x');
  const { positionals, switches } = parseFlags(['a', '--help', '--', '--port'], known);
  t.strictSame([positionals, [...switches]], [['a', '--port'], ['help']]);
  t.equal(parseFlags(['a', '--', '--help'], known).switches.size, 0);
  const bare = { ...known, live: { alone: '1' } };
  t.strictSame(
    [...parseFlags(['--live', '--port', '2'], bare).values],
    [
      ['live', '1'],
      ['port', '2'],
    ],
  );
  t.equal(parseFlags(['--live=7'], bare).values.get('live'), '7');
  t.throws(() => parseFlags(['--port'], known), new UsageError('--port needs a value'));
  t.throws(() => parseFlags(['--port', '--help'], known), new UsageError('--port needs a value'));
  t.throws(() => parseFlags(['--help=yes'], known), new UsageError('--help takes no value'));
});

t.test('without a command, or with flags alone, the service is started', async (t) => {
  const started: Settings[] = [];
  const runService = (settings: Settings): Promise<void> => {
    started.push(settings);
    return Promise.resolve();
  };
  t.match(await run([], { runService }), { code: 0, err: '' });
  t.match(await run(['--port', '0'], { runService }), { code: 0, err: '' });
  t.match(started, [
    { profile: 'local', port: 8080 },
    { profile: 'local', port: 0 },
  ]);
  t.match(await run(['--prot', '1']), { code: 2, err: /quotebook serve: unknown flag --prot: did you mean --port\?/ });
});

t.test('serve starts the service with the settings of all sources', async (t) => {
  const started: Settings[] = [];
  const runService = (settings: Settings): Promise<void> => {
    started.push(settings);
    return Promise.resolve();
  };
  const environment = { QUOTEBOOK_HOST: '0.0.0.0', QUOTEBOOK_PORT: '1' };
  const files = { 'q.json': '{"logLevel": "warn", "host": "::1"}' };
  const words = ['serve', '--config', 'q.json', '--port', '0', '--ready-file=ready.json', '--profile', 'arbitrum'];
  t.strictSame(await run(words, { environment, files, runService }), { code: 0, out: '', err: '' });
  const expected = { port: 0, host: '0.0.0.0', logLevel: 'warn', readyFile: 'ready.json', profile: 'arbitrum' };
  t.match(started, [expected]);
});

t.test('serve does not start with wrong settings, and tells all of them', async (t) => {
  const result = await run(['serve', '--port', 'x', '--sync', 'y'], { environment: { QUOTEBOOK_HOTS: 'z' } });
  t.equal(result.code, 2);
  t.match(result.err, /QUOTEBOOK_HOTS.*\n.*port cannot.*\n.*sync cannot.*\n3 problems with the settings\.$/s);
});

t.test('a service that fails prints the error with its causes', async (t) => {
  const cause = new Error('EADDRINUSE');
  const runService = (): Promise<void> => Promise.reject(new Error('cannot listen on port 80', { cause }));
  t.strictSame(await run(['serve'], { runService }), {
    code: 1,
    out: '',
    err: 'quotebook: cannot listen on port 80\n  because: EADDRINUSE',
  });
});

t.test('config print masks secrets and says where each setting is from', async (t) => {
  const environment = { QUOTEBOOK_WALLET_KEY: 'ab'.repeat(32) };
  const result = await run(['config', 'print', '--port', '1'], { environment });
  t.match(result, { code: 0, err: '' });
  t.match(result.out, /^port +1 +flag$/m);
  t.match(result.out, /^walletKey +\*\*\* +environment$/m);
});

t.test('config check reports an invalid wallet key, and does not show it', async (t) => {
  const key = '0'.repeat(64);
  const result = await run(['config', 'check'], { environment: { QUOTEBOOK_WALLET_KEY: key } });
  t.match(result, { code: 2, err: /^walletKey is no private key: / });
  t.notMatch(result.err, key);
});

t.test('config check looks into the files that settings name', async (t) => {
  t.strictSame(await run(['config', 'check']), { code: 0, out: 'The settings are valid.', err: '' });
  const files = { 'p.json': '{}', key: 'no key' };
  const words = ['config', 'check', '--profile', 'p.json', '--wallet-key-file', 'key'];
  const result = await run(words, { files });
  t.equal(result.code, 2);
  t.match(result.err, /^The profile p\.json: \/ must have required property 'name'\.$/m);
  t.match(result.err, /^walletKeyFile key does not hold 32 bytes in hex\.$/m);
  const worse = await run([...words, '--port', 'x'], { files });
  t.match(
    worse.err,
    /^port cannot be "x".*\n.*p\.json.*\n[^]*wallet.*\n\d+ problems with the settings\.$/,
    'all of it at once',
  );
  t.match(await run(['serve', ...words.slice(2)], { files }), { code: 2, err: result.err }, 'and serve says the same');
  const one = { code: 2, err: /^walletKeyFile key .*\n1 problem with the settings\.$/ };
  t.match(await run(['serve', '--wallet-key-file', 'key'], { files }), one, 'one problem is enough');
  t.match(await run(['config']), { code: 2, err: /say `config check` or `config print`/ });
  t.match(await run(['config', 'check', 'more']), { code: 2 });
});

t.test('config check and serve hold the caps of tokens against the profile', async (t) => {
  const check = (caps: string, ...more: string[]) =>
    run(['config', 'check', '--operator-tokens-per-day', caps, ...more]);
  t.match(await check('USDC=5000,WETH=0.5', '--profile', 'arbitrum'), { code: 0 });
  t.match(await check('testWETH=0.5'), { code: 0 }, 'of the local chain');
  const wrong = await check('FOO=1,usdc=5,USDC=0.0000001,WETH=1,WETH=1000000');
  t.strictSame(wrong.err.replace(/give one of .*/g, 'give one of ...').split('\n'), [
    'operatorTokensPerDay has FOO=1, and the profile has no token FOO: give one of ...',
    'operatorTokensPerDay has usdc=5, and the profile has no token usdc: give one of ...',
    'operatorTokensPerDay has USDC=0.0000001, and USDC has 6 decimals: give no more.',
    'operatorTokensPerDay names WETH more than once: give each token one amount.',
    '4 problems with the settings.',
  ]);
  t.equal(wrong.code, 2);
  t.match(wrong.err, /no token FOO: give one of .*\bUSDC\b/);
  t.match(await run(['serve', '--operator-tokens-per-day', 'FOO=1']), { code: 2, err: /no token FOO/ });
});

t.test('config check holds the caps of tokens against the file of a profile', async (t) => {
  const [, example = ''] = /```json\n([^]*?)```/.exec(readDocument('docs/reference/profile.md')) ?? [];
  const files = { 'p.json': example };
  const check = (caps: string) =>
    run(['config', 'check', '--profile', 'p.json', '--operator-tokens-per-day', caps], { files });
  t.match(await check('WETH=1'), { code: 0 });
  t.match(await check('ARB=1'), { code: 2, err: /no token ARB: give one of / });
});

t.test('settings that are wrong themselves name no files', async (t) => {
  const files = { 'q.json': '{"profile": 5, "walletKeyFile": ["key"]}' };
  const { code, err } = await run(['config', 'check', '--config', 'q.json'], { files });
  t.equal(code, 2);
  t.match(err, /^profile cannot be 5 .*\nwalletKeyFile cannot be \["key"\] .*\n2 problems with the settings\.$/);
});

t.test('keys are those of the data directory', async (t) => {
  const directory = t.testdir();
  const at = ['--data-dir', directory];
  t.strictSame(await run(['keys', 'list', ...at]), { code: 0, out: '', err: `There are no keys in ${directory}.` });
  t.match(await run(['keys', 'revoke', '00', ...at]), { code: 1, err: `There are no keys in ${directory}.` });
  t.strictSame(await readdir(directory), [], 'to look does not make files');

  const created = await run(['keys', 'create', ...at]);
  t.match(created, { code: 0, out: /^qb_\S{48}$/ });
  t.notMatch(created.err, created.out, 'the key is on the standard output alone');
  t.match(await run(['keys', 'list'], { environment: { QUOTEBOOK_DATA_DIR: directory } }), {
    code: 0,
    out: /^id +tier +scopes +proven +created +revoked +label\n[0-9a-f]{16} +free +- +0 .* - +unnamed$/,
  });
  const [id = ''] = /[0-9a-f]{16}/.exec(created.err) ?? [];
  const change = ['keys', 'change', id, '--tier', 'paid', ...at];
  t.match(await run(change), { code: 0, err: `Key ${id} is of the paid tier.` });
  t.match(await run(change), { code: 0, err: `Key ${id} is of the paid tier already.` });
  t.match((await run(['keys', 'list', ...at])).out, new RegExp(`^${id} +paid`, 'm'));
  await run(['keys', 'revoke', id, ...at]);
  t.match(await run(change), { code: 1, err: /is revoked: create another/ });
  t.match(await run(['keys', 'revoke', '0123456789abcdef', ...at]), {
    code: 1,
    err: /There is no key 0123456789abcdef/,
  });
});

t.test('a key that its holder created stays in its tier, and keeps its address', async (t) => {
  const directory = t.testdir();
  const at = ['--data-dir', directory];
  const files = new DiskKeyFiles(directory, systemClock, limits.keyUpdateMs, lockFile);
  const store = await KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize: 1 });
  const { id, hash } = store.newKey();
  const [address, other] = [`0x${'ab'.repeat(20)}`, `0x${'cd'.repeat(20)}`] as const;
  await store.addSelfKey({ id, hash, address, network: store.networkId('192.0.2.1') }, limits);
  t.equal(await store.prove(id, other, 2), 'PROVEN');
  t.match(await run(['keys', 'change', id, '--tier', 'paid', ...at]), { code: 1, err: /is of the self tier/ });
  t.match(await run(['keys', 'unprove', id, ...at]), {
    code: 0,
    err: `Key ${id} has lost 1 proven addresses. It keeps ${address}, which it was created for`,
  });
  t.match((await run(['keys', 'list', ...at])).out, new RegExp(`^${id} +self +- +1 `, 'm'));
});

t.test('keys create gives a scope where it is asked to, and no other command does', async (t) => {
  const at = ['--data-dir', t.testdir()];
  const created = await run(['keys', 'create', '--scope', 'operator', ...at]);
  t.match(created, { code: 0, out: /^qb_/, err: /^Key [0-9a-f]{16} of the free tier with the scope operator\./ });
  await run(['keys', 'create', ...at]);
  const { out } = await run(['keys', 'list', ...at]);
  t.match(out, /\n[0-9a-f]{16} +free +operator .*\n[0-9a-f]{16} +free +- /);
  t.match(await run(['keys', 'create', '--scope', 'root', ...at]), { code: 2, err: /--scope is one of operator/ });
  t.match(await run(['keys', 'change', 'ab', '--tier', 'paid', '--scope', 'operator', ...at]), {
    code: 2,
    err: /--scope belongs to `keys create`/,
  });
});

t.test('keys says what it takes', async (t) => {
  const at = ['--data-dir', t.testdir()];
  t.match(await run(['keys', ...at]), {
    code: 2,
    err: /say `keys create`, `keys list`, `keys change ID --tier TIER`, `keys revoke ID` or `keys unprove ID`/,
  });
  t.match(await run(['keys', 'revoke', ...at]), { code: 2, err: /say `keys create`/ });
  t.match(await run(['keys', 'create', '--tier', 'gold', ...at]), { code: 2, err: /--tier is one of free, paid/ });
  t.match(await run(['keys', 'create', '--label', 'first', 'client', ...at]), {
    code: 2,
    err: /keys create takes flags alone, not client/,
  });
  for (const words of [
    ['change', '--tier', 'paid'],
    ['list', 'ab', '--tier', 'paid'],
    ['creat', '--label', 'x'],
    ['creat', 'ab'],
  ]) {
    t.match(await run(['keys', ...words, ...at]), { code: 2, err: /say `keys create`/ }, words.join(' '));
  }
  t.match(await run(['keys', 'revoke', 'ab', '--label', 'x', ...at]), {
    code: 2,
    err: /--label belongs to `keys create`/,
  });
  t.match(await run(['keys', 'list', '--tier', 'free', ...at]), { code: 2, err: /--tier belongs to `keys create`/ });
  t.match(await run(['keys', 'change', 'ab', ...at]), { code: 2, err: /--tier is one of free, paid/ });
  t.match(await run(['keys', 'create', '--label', '\u0007', ...at]), { code: 1, err: /a label is 1 to 100 printable/ });
  t.match(await run(['keys', 'create', '--port', '1', ...at]), { code: 2, err: /unknown flag --port/ });
});
