import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { type DoctorOptions, examine, type Finding } from '../../src/app/doctor.js';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { limits } from '../../src/config/limits.js';
import type { Settings } from '../../src/config/setting-table.js';
import { loadSettings } from '../../src/config/settings.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { RpcProxy, type Trick } from '../chain/rpc-proxy.js';

const chain = await startLocalChain();
const proxy = await RpcProxy.open(chain.rpcUrl);
const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-doctor-'));
t.teardown(async () => {
  proxy.close();
  await chain.stop();
  await rm(dataDir, { recursive: true, force: true });
});
const read = await loadSettings({ settings: { dataDir } }, {}, () => Promise.reject(new Error('nothing is read')));
if (!read.ok) throw new Error(read.problems.join('\n'));
const settings: Settings = read.settings;

/** What the doctor says of a changed profile, with an endpoint that answers some methods otherwise. */
async function diagnose(
  changes: Partial<DoctorOptions> & { readonly profile?: Profile | null } = {},
  tricks: Readonly<Record<string, Trick>> = {},
): Promise<Finding[]> {
  proxy.trick = ({ method }) => tricks[method] ?? 'PASS';
  const one = { ...chain.profile.settlement, rpcUrls: [proxy.url] };
  return examine({
    settings,
    limits: { ...limits, rpcTimeoutMs: 5_000 },
    profile: { ...chain.profile, settlement: one, stream: one },
    walletAddress: chain.accounts[0]?.address ?? null,
    clock: systemClock,
    random: systemRandom,
    descriptors: 65_536,
    nodeVersion: 'v24.1.0',
    onStep: () => undefined,
    ...changes,
  });
}

const bad = (findings: readonly Finding[], check: string): Finding[] =>
  findings.filter((finding) => finding.check === check && finding.level !== 'OK');

await t.test('a set-up that works fails nothing, and every finding that is not OK has a remedy', async (t) => {
  const findings = await diagnose();
  t.strictSame(
    findings.filter(({ level }) => level === 'FAIL'),
    [],
  );
  for (const check of ['endpoint', 'contracts', 'clock', 'wallet', 'disk', 'files', 'node']) {
    t.ok(
      findings.some((finding) => finding.check === check && finding.level === 'OK'),
      check,
    );
  }
  t.match(bad(findings, 'endpoint'), [{ message: /has one endpoint/, remedy: /another provider/ }]);
  t.ok(findings.every(({ level, remedy }) => (level === 'OK') === (remedy === null)));
  t.strictSame(await readdir(dataDir), [], 'the file that was synced is gone');
});

await t.test('the contracts and tokens that are wrong are named', async (t) => {
  const [first, ...tokens] = chain.profile.tokens;
  if (first === undefined) throw new Error('a chain has tokens');
  const nowhere = { address: `0x${'de'.repeat(20)}`, startBlock: 0 } as const;
  const profile: Profile = {
    ...chain.profile,
    contracts: { ...chain.profile.contracts, poolFactory: nowhere },
    tokens: [{ ...first, decimals: first.decimals + 1 }, ...tokens],
  };
  t.match(bad(await diagnose({ profile }), 'contracts'), [
    { level: 'FAIL', message: /contracts\.poolFactory 0x(de)+ has no contract on its chain/ },
    { level: 'FAIL', message: /decimals, not/, remedy: /Correct the profile/ },
  ]);
});

await t.test('an endpoint without a method, with short ranges, of another chain or without an answer', async (t) => {
  const missing = { error: { code: -32601, message: 'the method does not exist' } };
  const refused = await diagnose({}, { eth_getTransactionCount: missing });
  t.match(bad(refused, 'endpoint'), [{ level: 'FAIL', message: /refuses eth_getTransactionCount: the method/ }, {}]);
  const tooLong = { error: { code: -32000, message: 'block range too large' } };
  t.match(bad(await diagnose({}, { eth_getLogs: tooLong }), 'endpoint'), [{ message: /refuses eth_getLogs/ }, {}]);
  const other = await diagnose({}, { eth_chainId: { rewrite: () => '0x1' } });
  t.match(bad(other, 'endpoint')[0], { level: 'FAIL', message: /chain/, remedy: /settlementRpcUrls/ });
  const down = await diagnose({}, { eth_chainId: 'CUT', eth_blockNumber: 'CUT' });
  t.match(bad(down, 'endpoint')[0], { level: 'FAIL' });
  t.match(bad(down, 'contracts'), [{ message: /could not be asked/ }]);
});

await t.test('an endpoint that refuses a block or a balance leaves all other findings', async (t) => {
  const checks = (findings: readonly Finding[]): string[] => [...new Set(findings.map(({ check }) => check))];
  const limited = { status: 429, body: 'Too many requests' };
  const block = await diagnose({}, { eth_getBlockByNumber: limited });
  const balance = await diagnose({}, { eth_getBalance: limited });
  t.match(bad(block, 'endpoint'), [{ level: 'FAIL', message: /refuses eth_getBlockByNumber: .*429/ }, {}]);
  t.match(bad(balance, 'endpoint'), [{ level: 'FAIL', message: /refuses eth_getBalance: .*429/ }, {}]);
  t.strictSame(checks(block), ['endpoint', 'wallet', 'contracts', 'disk', 'files', 'node']);
  t.strictSame(checks(balance), ['endpoint', 'clock', 'contracts', 'disk', 'files', 'node']);
});

await t.test('an endpoint that gives shorter ranges is usable', async (t) => {
  proxy.trick = () => 'PASS';
  const one = { ...chain.profile.settlement, rpcUrls: [proxy.url] };
  let asked = 0;
  proxy.trick = ({ method }) => {
    if (method !== 'eth_getLogs') return 'PASS';
    asked += 1;
    return asked === 1 ? { error: { code: -32000, message: 'block range too large' } } : 'PASS';
  };
  const findings = await examine({
    settings,
    limits: { ...limits, logRangeBlocks: 4 },
    profile: { ...chain.profile, settlement: one, stream: one },
    walletAddress: null,
    clock: systemClock,
    random: systemRandom,
    descriptors: 65_536,
    nodeVersion: 'v24.1.0',
    onStep: () => undefined,
  });
  t.match(bad(findings, 'endpoint')[0], {
    level: 'WARN',
    message: /logs of 1 blocks at once/,
    remedy: /longer ranges/,
  });
});

await t.test('a clock that is wrong, a wallet without money, few descriptors and an old Node', async (t) => {
  const behind = { ...systemClock, wallMs: () => Date.now() - 3_600_000 };
  t.match(bad(await diagnose({ clock: behind }), 'clock'), [{ level: 'FAIL', message: /behind the newest block/ }]);
  const empty = await diagnose({ walletAddress: `0x${'ab'.repeat(20)}`, descriptors: 1_024, nodeVersion: 'v20.15.0' });
  t.match(bad(empty, 'wallet'), [{ level: 'FAIL', message: /has no money for gas/ }]);
  t.match(bad(empty, 'files'), [{ level: 'WARN', message: /may open 1024 files/, remedy: /LimitNOFILE/ }]);
  t.match(bad(empty, 'node'), [{ level: 'WARN' }]);
});

await t.test('a data directory that is not there, and one that is too full', async (t) => {
  const missing = path.join(dataDir, 'not', 'there');
  const findings = await diagnose({ settings: { ...settings, dataDir: missing }, profile: null });
  t.ok(findings.some(({ message, level }) => level === 'OK' && message.startsWith(`${dataDir}, where a start makes`)));
  t.strictSame(await readdir(dataDir), [], 'nothing was made');
  const full = { ...settings, lowWaterBytes: 2 ** 50 };
  t.match(bad(await diagnose({ settings: full, profile: null }), 'disk'), [{ level: 'WARN', remedy: /lowWaterBytes/ }]);
});

await t.test('a data directory that cannot be looked at fails, and what comes after it is examined', async (t) => {
  const file = path.join(dataDir, 'file');
  await writeFile(file, '');
  const findings = await diagnose({ settings: { ...settings, dataDir: path.join(file, 'data') }, profile: null });
  t.match(bad(findings, 'disk'), [{ level: 'FAIL', message: /cannot be looked at: ENOTDIR/, remedy: /that user/ }]);
  t.ok(findings.some(({ check }) => check === 'node'));
  await rm(file);
});

await t.test('the probe files of killed doctors are removed', async (t) => {
  for (const name of ['doctor.tmp', 'doctor-1.tmp', `doctor-${process.pid}.tmp`, 'doctor-notes.tmp']) {
    await writeFile(path.join(dataDir, name), '');
  }
  const findings = await diagnose({ profile: null });
  t.notOk(findings.some(({ level }) => level === 'FAIL'));
  t.strictSame(await readdir(dataDir), ['doctor-notes.tmp']);
});
