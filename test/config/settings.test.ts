import fc from 'fast-check';
import t from 'tap';
import { effectiveLimits } from '../../src/config/effective-limits.js';
import { limits } from '../../src/config/limits.js';
import { settingNames, type Settings, settingTable } from '../../src/config/setting-table.js';
import { showSettings } from '../../src/config/settings-watch.js';
import {
  explainFileError,
  loadSettings,
  type ReadSettings,
  readSettings,
  type SettingSources,
  whyUnreadable,
} from '../../src/config/settings.js';

function read(sources: Partial<SettingSources>): ReadSettings {
  return readSettings({ flags: {}, environment: {}, file: null, ...sources });
}

function settingsOf(result: ReadSettings): Settings {
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.settings;
}

function problemsOf(result: ReadSettings): readonly string[] {
  return result.ok ? [] : result.problems;
}

const file = (content: unknown): SettingSources['file'] => ({ name: 'quotebook.json', text: JSON.stringify(content) });

t.test('nothing set: the defaults, and they are all valid', async (t) => {
  const result = read({});
  const settings = settingsOf(result);
  t.match(settings, { profile: 'local', host: '127.0.0.1', walletKey: null, sync: 'always', corsOrigins: ['*'] });
  t.strictSame(Object.keys(settings), settingNames);
  const again = read({
    file: file(Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null))),
  });
  t.strictSame(settingsOf(again), settings);
});

t.test(
  'a flag goes before the environment, the environment before the file, the file before the default',
  async (t) => {
    const flags = { port: '1' };
    const environment = { QUOTEBOOK_PORT: '2', PATH: '/bin' };
    t.equal(settingsOf(read({ flags, environment, file: file({ port: 3 }) })).port, 1);
    t.equal(settingsOf(read({ environment, file: file({ port: 3 }) })).port, 2);
    const result = read({ file: file({ port: 3 }) });
    t.equal(settingsOf(result).port, 3);
    t.match(result, { origins: { port: 'file', host: 'default' } });
  },
);

t.test('a number may be as small and as large in a text as its schema allows', (t) => {
  let bounds = 0;
  for (const name of settingNames) {
    const { type, minimum, maximum } = settingTable[name].schema as {
      type?: string;
      minimum?: number;
      maximum?: number;
    };
    for (const bound of type === 'integer' ? [minimum, maximum] : []) {
      if (bound === undefined) continue;
      t.equal(settingsOf(read({ flags: { [name]: String(bound) } }))[name], bound, `${name} ${bound}`);
      t.notOk(read({ flags: { [name]: String(bound === minimum ? bound - 1 : bound + 1) } }).ok);
      bounds += 1;
    }
  }
  t.ok(bounds > 10);
  t.end();
});

t.test('an empty variable and a null in the file count as not set', async (t) => {
  const result = read({
    environment: { QUOTEBOOK_PORT: '', QUOTEBOOK_WALLET_KEY: '' },
    file: file({ readyFile: null }),
  });
  t.match(result, { ok: true, settings: { port: 8080, walletKey: null, readyFile: null } });
});

t.test('a path or an address has no space or line end around it', async (t) => {
  for (const wrong of ['data\r', 'data\n', ' data', 'data ', ' ']) {
    for (const name of ['DATA_DIR', 'PROFILE', 'READY_FILE', 'WALLET_KEY_FILE', 'HOST', 'METRICS_HOST']) {
      const result = read({ environment: { [`QUOTEBOOK_${name}`]: wrong } });
      t.match(problemsOf(result), [JSON.stringify(wrong).slice(1, -1)], `${name} ${JSON.stringify(wrong)}`);
    }
  }
  const inside = read({
    environment: { QUOTEBOOK_DATA_DIR: 'my data', QUOTEBOOK_READY_FILE: 'r', QUOTEBOOK_HOST: '::1' },
  });
  t.match(settingsOf(inside), { dataDir: 'my data', readyFile: 'r', host: '::1' });
});

t.test('lists are separated by commas in texts', async (t) => {
  const environment = { QUOTEBOOK_STREAM_RPC_URLS: 'http://a.example, http://b.example/x' };
  t.strictSame(settingsOf(read({ environment })).streamRpcUrls, ['http://a.example', 'http://b.example/x']);
});

t.test('all wrong settings are reported at once, each with its source and what to give', async (t) => {
  const result = read({
    flags: { port: '99999', sync: 'sometimes' },
    environment: { QUOTEBOOK_LOG_LEVEL: 'loud', QUOTEBOOK_WALLET_KEY: '0xnotakey', QUOTEBOOK_PROT: '1' },
    file: file({ maxTxBytes: '90000', corsOrigins: ['example.org'], hots: 'x', zebra: 1 }),
  });
  t.strictSame(problemsOf(result), [
    'quotebook.json sets `hots`, which is no setting: did you mean host?',
    'quotebook.json sets `zebra`, which is no setting: remove it (docs/reference/settings.md lists them all).',
    'The environment sets QUOTEBOOK_PROT, which is no setting: did you mean QUOTEBOOK_PORT?',
    'port cannot be 99999 (from --port): give a whole number from 0 to 65535.',
    'logLevel cannot be "loud" (from QUOTEBOOK_LOG_LEVEL): give one of trace, debug, info, warn, error, fatal, silent.',
    'walletKey has a wrong value (from QUOTEBOOK_WALLET_KEY): give 32 bytes in hex.',
    'corsOrigins cannot be ["example.org"] (from quotebook.json): give origins such as https://example.org, separated by commas, or *.',
    'sync cannot be "sometimes" (from --sync): give always, never or interval(MILLISECONDS).',
    'maxTxBytes cannot be "90000" (from quotebook.json): give a whole number from 2000 to 1000000.',
  ]);
});

t.test('a list in the file has to be a JSON list; a text is reported as wrong', async (t) => {
  const result = read({ file: file({ corsOrigins: 'https://example.org', streamRpcUrls: 'http://a.example' }) });
  t.strictSame(problemsOf(result), [
    'streamRpcUrls has a wrong value (from quotebook.json): give 1 to 10 http(s) URLs, separated by commas, in the file as a JSON list.',
    'corsOrigins cannot be "https://example.org" (from quotebook.json): give origins such as https://example.org, separated by commas, or *, in the file as a JSON list.',
  ]);
});

t.test('numbers are whole and plain', async (t) => {
  for (const port of ['', '1.5', '1e3', '0x50', ' 80', '-1', 'NaN', '9'.repeat(400)]) {
    t.match(problemsOf(read({ flags: { port } })), [/^port cannot be/], JSON.stringify(port));
  }
});

t.test('sync takes an interval', async (t) => {
  t.equal(settingsOf(read({ flags: { sync: 'interval(200)' } })).sync, 'interval(200)');
  t.match(problemsOf(read({ flags: { sync: 'interval(0)' } })), [/^sync cannot be/]);
});

t.test('a malformed URL is reported before anything connects to it', async (t) => {
  for (const url of ['ws://:', 'ws://[', 'ws://a.example:65536', 'wss://a.example/#heads']) {
    t.match(problemsOf(read({ flags: { streamWsUrl: url } })), [/^streamWsUrl .*: give a ws\(s\) URL\.$/], url);
  }
  const rpcUrls = 'https://a.example,http://:';
  t.match(problemsOf(read({ flags: { settlementRpcUrls: rpcUrls } })), [/^settlementRpcUrls .*: give 1 to 10 http/]);
});

t.test('an address of the referrer is refused in mixed case, unless that is its checksum', async (t) => {
  const right = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
  const capitals = `0x${right.slice(2).toUpperCase()}`;
  for (const operatorReferrer of [right, right.toLowerCase(), capitals])
    t.match(settingsOf(read({ file: file({ operatorReferrer }) })), { operatorReferrer });
  t.strictSame(problemsOf(read({ flags: { operatorReferrer: right.replace('3C', '3c') } })), [
    'operatorReferrer cannot be "0x3c44CdDdB6a900fa2b585dd299e03d12FA4293BC" (from --operator-referrer): ' +
      'give an address in one letter case, or with its EIP-55 checksum.',
  ]);
});

t.test('an origin is one that a browser can have: in no other spelling would a page ever be let in', async (t) => {
  const origins = ['*', 'https://a-b.example.org', 'http://localhost:3000', 'http://[::1]:3000', 'https://1.2.3.4'];
  t.strictSame(settingsOf(read({ file: file({ corsOrigins: origins }) })).corsOrigins, origins);
  const others = [
    'https://A.example',
    'https://*.a.example',
    'https://u@a.example',
    'https://a.example/',
    'https://:1',
  ];
  for (const origin of others) {
    t.match(problemsOf(read({ flags: { corsOrigins: origin } })), [/^corsOrigins cannot be /], origin);
  }
});

t.test('a key and a key file are one too many', async (t) => {
  const environment = { QUOTEBOOK_WALLET_KEY: 'ab'.repeat(32), QUOTEBOOK_WALLET_KEY_FILE: 'key' };
  t.strictSame(problemsOf(read({ environment })), ['walletKey and walletKeyFile are both set: keep one of them.']);
  for (const [name, value] of Object.entries(environment)) t.ok(read({ environment: { [name]: value } }).ok, name);
});

t.test('a member of a cluster has a chain that others share, not a local one of its own', async (t) => {
  for (const role of ['engine', 'gateway']) {
    t.strictSame(problemsOf(read({ flags: { role, cluster: 'nats://127.0.0.1:4222' } })), [
      `role is ${role} and profile is local, whose chain is of one process alone: give another profile, or the file of one, that all members of the cluster share.`,
    ]);
    for (const profile of ['arbitrum', './local.json']) t.ok(read({ flags: { role, profile } }).ok, profile);
  }
});

t.test('two servers have two ports, unless each has an address of its own', async (t) => {
  t.strictSame(problemsOf(read({ flags: { metricsPort: '8080' } })), [
    'port and metricsPort are both 8080 at 127.0.0.1: give one of them another.',
  ]);
  t.ok(read({ flags: { metricsPort: '8080', metricsHost: '10.0.0.1' } }).ok);
  t.ok(read({ flags: { port: '0', containerPort: '0', metricsPort: '0' } }).ok, 'each is given a free one');
  const three = { port: '3000', containerPort: '3000', metricsPort: '3000', metricsHost: '0.0.0.0' };
  t.strictSame(problemsOf(read({ flags: three })), [
    'port and containerPort are both 3000 at 127.0.0.1: give one of them another.',
  ]);
});

t.test('a settings file of another form', async (t) => {
  t.match(problemsOf(read({ file: { name: 'a.json', text: '{"port": 1' } })), [/^a\.json is not JSON/]);
  for (const content of [[], 1, null]) {
    t.match(problemsOf(read({ file: file(content) })), [/^quotebook\.json is not a JSON object/]);
  }
});

t.test('a name of Object.prototype is no setting', async (t) => {
  const text = '{"__proto__": {"port": 1}, "constructor": 1}';
  t.match(problemsOf(read({ file: { name: 'a.json', text } })), [
    /`__proto__`, which is no/,
    /`constructor`, which is no/,
  ]);
});

t.test('the file is named by the flag, else by the environment', async (t) => {
  const files: Record<string, string> = { one: '{"port": 1}', two: '{"port": 2}' };
  const readText = (path: string): Promise<string> => {
    const text = files[path];
    return text === undefined ? Promise.reject(Object.assign(new Error(), { code: 'ENOENT' })) : Promise.resolve(text);
  };
  const environment = { QUOTEBOOK_CONFIG: 'two' };
  t.equal(settingsOf(await loadSettings({ config: 'one', settings: {} }, environment, readText)).port, 1);
  t.equal(settingsOf(await loadSettings({ settings: {} }, environment, readText)).port, 2);
  t.equal(settingsOf(await loadSettings({ settings: {} }, { QUOTEBOOK_CONFIG: '' }, readText)).port, 8080);
  const missing = await loadSettings({ config: 'three', settings: { port: 'x' } }, {}, readText);
  t.match(problemsOf(missing), [/^three cannot be read: there is no such file\./, /^port cannot be "x"/]);
});

t.test('what is shown masks secrets', async (t) => {
  const key = 'ab'.repeat(32);
  const environment = {
    QUOTEBOOK_WALLET_KEY: key,
    QUOTEBOOK_STREAM_RPC_URLS: 'https://rpc.example/v3/s3cret,http://127.0.0.1:8545,https://user:s3cret@other.example',
  };
  const result = read({
    environment,
    flags: { settlementWsUrl: 'wss://ws.example/?key=s3cret', streamWsUrl: 'ws://s3cret@ws.example' },
  });
  const shown = result.ok ? showSettings(result.settings, result.origins) : '';
  t.notMatch(shown, key);
  t.notMatch(shown, 's3cret');
  t.match(shown, /^walletKey +\*\*\* +environment$/m);
  t.match(shown, 'https://rpc.example/***,http://127.0.0.1:8545,https://other.example/***');
  t.match(shown, /^settlementWsUrl +wss:\/\/ws\.example\/\*\*\* +flag$/m);
  t.match(shown, /^readyFile +- +default$/m);
});

t.test('wrong values of secrets are not repeated in the problems', async (t) => {
  const environment = {
    QUOTEBOOK_WALLET_KEY: 's3cret',
    QUOTEBOOK_SETTLEMENT_WS_URL: 'http://x.example/s3cret',
    QUOTEBOOK_STREAM_WS_URL: 'ws://[s3cret',
  };
  t.notMatch(problemsOf(read({ environment })).join('\n'), 's3cret');
});

t.test('of a file that is not JSON nothing is repeated: a secret may stand there', async (t) => {
  const broken = [
    '{"port": 9000, "walletKey": s3cret0123456789}',
    `{"walletKey": 's3cret0123456789'}`,
    '{"streamRpcUrls": ["https://a.example/\\s3cret/s3cret"]}',
    's3cret',
    '"\n" s3cret',
  ];
  for (const text of broken) {
    const [problem = ''] = problemsOf(read({ file: { name: 'a.json', text } }));
    t.match(problem, /^a\.json is not JSON \(.+\): correct it there\.$/, text);
    t.notMatch(problem, /3cr/, text);
  }
});

t.test('whatever is written, the answer is settings or problems, never a throw', async (t) => {
  const name = fc.constantFrom(...settingNames);
  const flags = fc.dictionary(name, fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(flags, fc.jsonValue(), (given, content) => {
      const result = read({ flags: given, file: file(content) });
      return result.ok || result.problems.length > 0;
    }),
  );
  t.pass('every time');
});

t.test('settings change the limits they name and no other', async (t) => {
  const settings = settingsOf(read({ flags: { maxTxBytes: '50000', reorgDepth: '3' } }));
  t.strictSame(effectiveLimits(settings), { ...limits, maxTxBytes: 50_000, reorgDepth: 3 });
});

t.test('of a long value that is wrong the beginning is shown', async (t) => {
  const [problem] = problemsOf(read({ flags: { port: 'x'.repeat(200) } }));
  t.match(problem, /^port cannot be "x{79}\.\.\. \(from --port\)/);
});

t.test('trusted proxies are addresses and networks', async (t) => {
  const given = '127.0.0.1, 10.0.0.0/8,2001:db8::/32,::1';
  t.strictSame(settingsOf(read({ flags: { trustedProxies: given } })).trustedProxies, [
    '127.0.0.1',
    '10.0.0.0/8',
    '2001:db8::/32',
    '::1',
  ]);
  for (const wrong of ['proxy.example', '10.0.0.0/33', '10.0.0.0/', '10.0.0/8', '::1/129', 'fe80::1%eth0', '']) {
    t.match(
      problemsOf(read({ flags: { trustedProxies: `127.0.0.1,${wrong}` } })),
      [/^trustedProxies cannot be /],
      wrong,
    );
  }
});

const dataDir = '/srv/quotebook';
const readyFile = '/run/quotebook/ready.json';

const failure = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: mkdir`), { code, ...(path === undefined ? {} : { path }) });

const explained = (code: string, path: string): string => {
  const error = explainFileError(failure(code, path), { dataDir, readyFile });
  return error instanceof Error ? error.message : String(error);
};

t.test('each error about the data directory names the setting, the place, the code and a remedy', async (t) => {
  for (const [code, remedy] of [
    ['EEXIST', 'Move that away'],
    ['ENOTDIR', 'Correct the path'],
    ['ENOENT', 'Create the parent directory'],
    ['EACCES', 'Give this user the permission'],
    ['EPERM', 'Give this user the permission'],
    ['EROFS', 'Mount it writable'],
  ] as const) {
    for (const path of [dataDir, '/srv']) {
      const message = explained(code, path);
      t.ok(message.startsWith(`dataDir is ${dataDir}: ${path} cannot be used, since `), message);
      t.match(message, `(${code}). ${remedy}`);
      t.match(message, /--data-dir \(QUOTEBOOK_DATA_DIR\)/);
    }
  }
  t.match(explained('EACCES', `${dataDir}/arbitrum/lock`), `${dataDir}/arbitrum/lock cannot be used`);
  t.match(explained('EROFS', `${readyFile}.new`), /^readyFile is .* Mount it writable, or set --ready-file/);
});

t.test('an error about something else stays as it is', async (t) => {
  for (const error of [
    failure('EACCES', '/etc/quotebook.key'),
    failure('EACCES', `${dataDir}-2/lock`),
    failure('ENOENT', `${dataDir}/arbitrum/segment-1.log`),
    failure('EIO', dataDir),
    failure('EACCES'),
    'no error',
    null,
  ]) {
    t.equal(explainFileError(error, { dataDir, readyFile }), error);
  }
  const ready = failure('EROFS', readyFile);
  t.equal(explainFileError(ready, { dataDir, readyFile: null }), ready);
});

t.test('a file that may not be read is said so in words, with the code', async (t) => {
  t.equal(whyUnreadable(failure('EACCES')), 'EACCES: this user has no permission to read it');
  t.equal(whyUnreadable(failure('ENOENT')), 'there is no such file');
  t.equal(whyUnreadable(failure('EISDIR')), 'EISDIR');
});
