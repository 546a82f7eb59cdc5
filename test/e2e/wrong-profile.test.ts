import t, { type Test } from 'tap';
import { checksumAddress, type Profile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { Hex } from '../../src/engine/quote.js';
import { ServiceProcess } from '../faults/service-process.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const { profile } = chain;
const { contracts, tokens, vaults } = profile;

/** Where nothing is. */
const [nowhere = '0x', noToken = '0x', noVault = '0x'] = [1, 2, 3].map((n) =>
  checksumAddress(`0x${String(n).padStart(40, 'dead0')}`),
);
const at = (address: Hex) => ({ address, startBlock: 0 });

/** What the program says when it is started with this profile, in order, and how it ends. */
async function startWith(t: Test, changed: Partial<Profile>): Promise<{ code: number | null; lines: string[] }> {
  const service = await ServiceProcess.prepare({ ...chain, profile: { ...profile, ...changed } }, t.testdir());
  const { code, stderr } = await service.run(['serve']);
  const lines = stderr.split('\n').filter((line) => line.includes('The profile local: '));
  return { code, lines: lines.map((line) => line.replace(/^.*The profile local: /, '')) };
}

t.test('a profile that fits is served', async (t) => {
  const service = await ServiceProcess.prepare(chain, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  await service.start();
  t.equal(await service.end('SIGTERM'), 0);
});

t.test('a token that may be renamed is served under any name of its own', async (t) => {
  const dai = { symbol: 'DAI', address: chain.tokens.ARB ?? nowhere, decimals: 18, onChainSymbol: '*' };
  const others = tokens.filter(({ symbol }) => !['DAI', 'ARB'].includes(symbol));
  const renamed = { ...profile, tokens: [...others, dai], vaults: vaults.filter(({ name }) => !name.includes('ARB')) };
  const service = await ServiceProcess.prepare({ ...chain, profile: renamed }, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  await service.start();
  t.equal(await service.end('SIGTERM'), 0);
});

t.test('everything that is wrong with a profile is listed at the start, which ends', async (t) => {
  const [weth, ...others] = tokens.filter(({ symbol }) => !['USDC', 'DAI', 'ARB'].includes(symbol));
  if (weth === undefined) throw new Error('The local chain has tokens');
  const usdc = { symbol: 'USDC', address: chain.tokens.USDC ?? nowhere, decimals: 18 };
  const dai = { symbol: 'DAI', address: chain.tokens.ARB ?? nowhere, decimals: 18 };
  const [callVault, putVault] = vaults;
  if (callVault === undefined || putVault === undefined) throw new Error('The local chain has vaults');
  const { code, lines } = await startWith(t, {
    contracts: {
      ...contracts,
      orderbookStream: at(contracts.erc20Router.address),
      poolFactory: at(nowhere),
      poolDiamond: at(contracts.oracleAdapter.address),
      erc20Router: at(contracts.poolFactory.address),
      oracleAdapter: at(contracts.poolDiamond.address),
    },
    tokens: [weth, ...others, usdc, dai, { symbol: 'NEW', address: noToken, decimals: 18 }],
    vaults: [
      { name: callVault.name, address: putVault.address },
      { name: 'pSV-NONE/USDC-C', address: callVault.address },
      { name: putVault.name, address: noVault },
    ],
  });
  t.equal(code, 1);
  t.strictSame(lines, [
    `contracts.orderbookStream ${contracts.erc20Router.address} does not answer as OrderbookStream.`,
    `contracts.poolFactory ${nowhere} has no contract on its chain.`,
    `contracts.poolDiamond ${contracts.oracleAdapter.address} does not answer as the diamond of pools.`,
    `contracts.erc20Router ${contracts.poolFactory.address} does not answer as ERC20Router.`,
    `contracts.oracleAdapter ${contracts.poolDiamond.address} does not answer as an oracle adapter.`,
    `token USDC ${usdc.address} has 6 decimals, not 18.`,
    `token DAI ${dai.address} calls itself "ARB", not DAI.`,
    `token NEW ${noToken} has no contract on its chain.`,
    `vault ${callVault.name} ${putVault.address} holds another token than testWETH.`,
    `vault pSV-NONE/USDC-C ${callVault.address} has a name of no two tokens of the profile.`,
    `vault ${putVault.name} ${noVault} has no contract on its chain.`,
  ]);
});

t.test('a contract that is no stream or no Multicall3 is named, also where it takes any call', async (t) => {
  for (const [name, address, problem] of [
    ['orderbookStream', nowhere, 'has no contract on its chain, or one that takes any call.'],
    ['multicall3', nowhere, 'has no contract on its chain.'],
    ['multicall3', contracts.oracleAdapter.address, 'does not answer as Multicall3.'],
  ] as const) {
    // Of the oracle there is one already.
    const oracle = address === contracts.oracleAdapter.address ? { oracleAdapter: at(nowhere) } : {};
    const { code, lines } = await startWith(t, { contracts: { ...contracts, ...oracle, [name]: at(address) } });
    t.strictSame([code, lines[0]], [1, `contracts.${name} ${address} ${problem}`]);
  }
});

t.test(
  'one contract in two places, and a token under two symbols, are refused before any chain is asked',
  async (t) => {
    const [first, second] = tokens;
    if (first === undefined || second === undefined) throw new Error('The local chain has tokens');
    const service = await ServiceProcess.prepare(
      {
        ...chain,
        profile: {
          ...profile,
          contracts: { ...contracts, poolDiamond: contracts.poolFactory },
          tokens: [first, { ...second, address: first.address }],
          vaults: [],
        },
      },
      t.testdir(),
    );
    const { code, stderr } = await service.run(['config', 'check']);
    t.not(code, 0);
    t.match(stderr, '/contracts/poolFactory/address and /contracts/poolDiamond/address are the same address.');
    t.match(stderr, '/tokens/0/address and /tokens/1/address are the same address.');
  },
);
