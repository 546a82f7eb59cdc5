import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { greeting, localApiKey, openLocalSetup, writeReadyFile } from '../../src/app/local-setup.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';

t.test('where another process runs the local chain no second one is begun on its state', async (t) => {
  const dataDir = t.testdir();
  const other = await lockFile(path.join(dataDir, 'local-chain.lock'));
  await t.rejects(openLocalSetup(dataDir), {
    code: 'LOCKED',
    message: `another process is using the local chain in ${dataDir}`,
  });
  t.strictSame(readdirSync(dataDir), ['local-chain.lock'], 'nothing was deployed');
  await other?.release();
});

t.test('once it has stopped the next one has the chain as it was left', async (t) => {
  const dataDir = t.testdir();
  const first = await openLocalSetup(dataDir);
  await t.rejects(openLocalSetup(dataDir), { code: 'LOCKED' });
  await first.stop();
  const saved = readFileSync(path.join(dataDir, 'local-chain.json.deployment'), 'utf8');
  const second = await openLocalSetup(dataDir);
  t.strictSame(second.chain.pools, first.chain.pools);
  await second.stop();
  t.equal(readFileSync(path.join(dataDir, 'local-chain.json.deployment'), 'utf8'), saved);
});

t.test('a ready file says where the service is, in one piece, to nobody but its owner', async (t) => {
  const directory = t.testdir({ 'ready.json': 'of an earlier run' });
  const file = path.join(directory, 'ready.json');
  for (const [host, authority] of [
    ['127.0.0.1', '127.0.0.1:8080'],
    ['::1', '[::1]:8080'],
  ] as const) {
    const ready = await writeReadyFile(file, { host, port: 8080, containerPort: null }, null);
    t.strictSame(ready, { httpUrl: `http://${authority}`, wsUrl: `ws://${authority}` });
    t.strictSame(JSON.parse(await readFile(file, 'utf8')), ready);
  }
  const withContainer = await writeReadyFile(file, { host: '::1', port: 8080, containerPort: 3000 }, null);
  t.equal(withContainer.containerUrl, 'http://[::1]:3000');
  // On the local chain it holds keys.
  t.equal((await stat(file)).mode & 0o777, 0o600);
  t.strictSame(await readdir(directory), ['ready.json']);
});

const SCREEN = { lines: 24, columns: 160 };

t.test('the greeting fits on a screen, with the key last, and its commands work from any directory', (t) => {
  const address = (n: number): `0x${string}` => `0x${n.toString(16).padStart(40, '0')}`;
  const poolKey = {
    base: address(1),
    quote: address(2),
    oracleAdapter: address(3),
    strike: '1800000000000000000000',
    maturity: 1_795_766_400,
    isCallPool: true,
  };
  const ready = {
    httpUrl: 'http://127.0.0.1:8080',
    wsUrl: 'ws://127.0.0.1:8080',
    apiKey: 'the-key',
    rpcUrl: 'http://127.0.0.1:8545',
    chainId: 31337,
    accounts: Array.from({ length: 10 }, (_, n) => ({ address: address(n), privateKey: `0x${'1'.repeat(64)}` })),
    tokens: { testWETH: address(1), USDC: address(2) },
    contracts: {
      orderbookStream: '',
      poolFactory: '',
      erc20Router: '',
      oracleAdapter: '',
      volatilityOracle: '',
      multicall3: '',
    },
    vaults: {},
    pools: Array.from({ length: 12 }, (_, n) => ({ poolAddress: address(n), poolKey })),
  };
  const text = greeting(ready, 'data dir/ready.json', '/opt/quote book/examples/');
  const lines = text.split('\n');
  t.ok(lines.length <= SCREEN.lines, `${lines.length} lines`);
  const tooLong = lines.filter((line) => line.length > SCREEN.columns && !line.includes('curl'));
  t.strictSame(tooLong, []);
  t.match(text, '12 pools, such as testWETH/USDC call 1800 2026-11-27.');
  const file = path.resolve('data dir/ready.json');
  t.match(text, `node '/opt/quote book/examples/post-quote.mjs' '${file}'`);
  t.ok(text.indexOf('API key    the-key') > text.indexOf('curl'), 'what is needed next stands last');
  t.notMatch(text, 'Container');
  t.match(
    greeting({ ...ready, containerUrl: 'http://127.0.0.1:3000' }, 'r.json', null),
    '  Container  http://127.0.0.1:3000\n',
  );
  t.notMatch(greeting(ready, 'r.json', null), 'node ', 'and no scripts where there are none');
  t.end();
});

t.test('the key of the local chain has the scope operator; one of an earlier version is replaced once', async (t) => {
  const dataDir = t.testdir();
  const files = new MemoryKeyFiles();
  const keys = await KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize: 10 });
  const { key: old } = await keys.create('paid', 'local set-up');
  writeFileSync(path.join(dataDir, 'local.key'), `${old}\n`);
  const key = await localApiKey(keys, dataDir);
  t.match(keys.verify(key), { tier: 'paid', scopes: ['operator'] });
  t.equal(await localApiKey(keys, dataDir), key, 'the same at the next start');
  t.strictSame(Object.keys(keys.verify(old)), ['id', 'tier'], 'the old one stays as it was');
});
