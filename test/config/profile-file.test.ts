import t from 'tap';
import { checksumAddress } from '../../src/chain/contracts/deployments.js';
import { BUILT_IN_PROFILES, type ReadProfile, readProfileFile, withEndpoints } from '../../src/config/profile-file.js';
import { readDocument } from '../app/read-document.js';

const documentation = readDocument('docs/reference/profile.md');
const example = /```json\n([^]*?)```/.exec(documentation)?.[1] ?? '';

type Json = Record<string, unknown>;

/** The documented example with fields replaced; a path is written with dots. */
async function readChanged(changes: Readonly<Record<string, unknown>>): Promise<ReadProfile> {
  const content = JSON.parse(example) as Json;
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    const parent = names.reduce<Json>((node, name) => node[name] as Json, content);
    parent[last] = value;
  }
  return readProfileFile('profile.json', () => Promise.resolve(JSON.stringify(content)));
}

async function problems(changes: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const result = await readChanged(changes);
  return result.ok ? [] : result.problems;
}

t.test('the documented example is a profile', async (t) => {
  const result = await readChanged({});
  t.match(result, {
    ok: true,
    profile: {
      name: 'my-testnet',
      settlement: { chainId: 421613, wsUrl: 'wss://settlement.example.org/ws', maxHeadAgeSeconds: 60 },
      stream: { chainId: 42170, wsUrl: null, confirmations: 0, maxHeadAgeSeconds: null },
      contracts: {
        orderbookStream: { startBlock: 1000 },
        erc20Router: { startBlock: 0 },
        multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11' },
      },
      tokens: [{ symbol: 'WETH' }, { symbol: 'USDC', decimals: 6 }],
    },
  });
});

t.test('the documented profile of a test network is one', async (t) => {
  const testNetwork = /```json profile\n([^]*?)```/.exec(documentation)?.[1] ?? '';
  const result = await readProfileFile('sepolia.json', () => Promise.resolve(testNetwork));
  t.match(result, { ok: true, profile: { name: 'sepolia', settlement: { chainId: 421_614 }, vaults: [] } });
});

t.test('every field of the documentation is one of the file', async (t) => {
  const content = JSON.parse(example) as Json;
  const fields = [...documentation.matchAll(/^\| `([a-zA-Z0-9.]+)`\*? \|/gm)].map(([, name = '']) => name);
  const inFile = JSON.stringify(content);
  for (const field of fields.filter((name) => name !== 'local' && name !== 'arbitrum')) {
    t.match(inFile, `"${field.split('.').at(-1) ?? ''}":`, field);
  }
});

t.test('the documentation lists just the profiles that need no file', async (t) => {
  const [, table = ''] = documentation.split('are built in:');
  const listed = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  t.strictSame(listed, BUILT_IN_PROFILES);
});

t.test('any chain id is one of a settlement chain', async (t) => {
  for (const chainId of [1, 31_337, 42_161, 421_613, 421_614]) {
    t.match(await readChanged({ 'settlement.chainId': chainId }), { ok: true, profile: { settlement: { chainId } } });
  }
});

t.test('what begins like a URL and is not one is named by its place', async (t) => {
  const changes = { 'stream.rpcUrls': ['https://a.example', 'http://:'], 'settlement.wsUrl': 'wss://a.example:65536' };
  t.strictSame(await problems(changes), [
    'The profile profile.json: /settlement/wsUrl is no URL.',
    'The profile profile.json: /stream/rpcUrls/1 is no URL.',
  ]);
});

t.test('addresses come out as checksums, whatever letter case they were written in', async (t) => {
  const address = '0xcA11bde05977b3631167028862bE2a173976CA11';
  for (const written of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
    const result = await readChanged({ 'contracts.multicall3.address': written });
    t.equal(result.ok && result.profile.contracts.multicall3?.address, address, written);
  }
});

t.test('without Multicall3', async (t) => {
  const result = await readChanged({ 'contracts.multicall3': undefined });
  t.match(result, { ok: true, profile: { contracts: { multicall3: null } } });
});

t.test('all problems of a profile are reported at once', async (t) => {
  t.strictSame(
    await problems({
      name: 'My Testnet',
      'settlement.chainId': 0,
      'stream.rpcUrls': [],
      'contracts.poolFactory': { address: '0x12' },
      'contracts.vault': {},
      'tokens.0.decimals': 1.5,
    }),
    [
      'The profile profile.json: /name must match pattern "^[a-z0-9][a-z0-9-]{0,31}$".',
      'The profile profile.json: /settlement/chainId must be >= 1.',
      'The profile profile.json: /stream/rpcUrls must NOT have fewer than 1 items.',
      'The profile profile.json: /contracts must NOT have additional properties (vault).',
      'The profile profile.json: /contracts/poolFactory/address must match pattern "^0x[a-fA-F0-9]{40}$".',
      'The profile profile.json: /tokens/0/decimals must be integer.',
    ],
  );
});

t.test('a mistyped checksum, a symbol or a vault listed twice', async (t) => {
  const token = { symbol: 'WETH', address: `0x${'6'.repeat(40)}`, decimals: 18 };
  const vault = { name: 'pSV-WETH/USDC-C', address: `0x${'8'.repeat(40)}` };
  t.strictSame(
    await problems({
      'contracts.multicall3.address': '0xca11bde05977b3631167028862bE2a173976CA11',
      tokens: [token, token],
      vaults: [vault, vault],
    }),
    [
      'The profile profile.json: /contracts/multicall3/address is not its own EIP-55 checksum.',
      'The profile profile.json: /tokens lists WETH more than once.',
      'The profile profile.json: /vaults lists pSV-WETH/USDC-C more than once.',
      'The profile profile.json: /tokens/0/address and /tokens/1/address are the same address.',
      'The profile profile.json: /vaults/0/address and /vaults/1/address are the same address.',
    ],
  );
});

t.test('addresses of tokens and vaults are held to their checksums, too', async (t) => {
  const [token, vault] = ['ab', 'cd'].map((byte) => checksumAddress(`0x${byte.repeat(20)}`));
  const lists = (write: (address: string) => string): Readonly<Record<string, unknown>> => ({
    tokens: [{ symbol: 'WETH', address: write(String(token)), decimals: 18 }],
    vaults: [{ name: 'pSV-WETH/USDC-C', address: write(String(vault)) }],
  });
  const swapCase = (digits: string): string =>
    digits === digits.toLowerCase() ? digits.toUpperCase() : digits.toLowerCase();
  t.strictSame(
    await problems(lists((address) => address.slice(0, -2) + swapCase(address.slice(-2, -1)) + address.slice(-1))),
    [
      'The profile profile.json: /tokens/0/address is not its own EIP-55 checksum.',
      'The profile profile.json: /vaults/0/address is not its own EIP-55 checksum.',
    ],
  );
  const result = await readChanged(lists((address) => address.toLowerCase()));
  t.match(result, { ok: true, profile: { tokens: [{ address: token }], vaults: [{ address: vault }] } });
});

t.test('one address in two places is refused, but for a stream on a chain of its own', async (t) => {
  const [first, second] = ['/contracts/orderbookStream/address', '/contracts/erc20Router/address'];
  const same = { 'contracts.erc20Router.address': `0x${'1'.repeat(40)}` };
  t.strictSame(await problems({ ...same, 'stream.chainId': 421613 }), [
    `The profile profile.json: ${first} and ${second} are the same address.`,
  ]);
  t.strictSame(await problems(same), []);
});

t.test('a file that is not there, or not JSON', async (t) => {
  const missing = await readProfileFile('arbitrun', () =>
    Promise.reject(Object.assign(new Error(), { code: 'ENOENT' })),
  );
  t.strictSame(missing.ok ? [] : missing.problems, [
    'The profile arbitrun cannot be read: there is no such file (or did you mean the built-in profile arbitrum?).',
  ]);
  const torn = await readProfileFile('profile.json', () => Promise.resolve('{'));
  t.match(torn, { ok: false, problems: [/^The profile profile\.json is not JSON/] });
});

t.test('settings replace the endpoints', async (t) => {
  const result = await readChanged({});
  if (!result.ok) throw new Error(result.problems.join('\n'));
  const { profile } = result;
  const none = { settlementRpcUrls: null, streamRpcUrls: null, settlementWsUrl: null, streamWsUrl: null };
  t.strictSame(withEndpoints(profile, none), profile);
  const changed = withEndpoints(profile, {
    ...none,
    streamRpcUrls: ['http://mine.example'],
    streamWsUrl: 'ws://mine.example',
  });
  t.strictSame(changed, {
    ...profile,
    stream: { ...profile.stream, rpcUrls: ['http://mine.example'], wsUrl: 'ws://mine.example' },
  });
  const settled = { settlementRpcUrls: ['http://its.example'], settlementWsUrl: 'ws://its.example' };
  t.strictSame(withEndpoints(profile, { ...none, ...settled }), {
    ...profile,
    settlement: { ...profile.settlement, rpcUrls: settled.settlementRpcUrls, wsUrl: settled.settlementWsUrl },
  });
});
