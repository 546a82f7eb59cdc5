import t from 'tap';
import { arbitrum, arbitrumGoerli } from '../../../src/chain/contracts/deployments.js';
import { basesOfVaults, findVault, pairOfVault } from '../../../src/chain/contracts/vault-names.js';

t.test('vaults are found by the names that each deployment gives them', async (t) => {
  const nameOf = (profile: typeof arbitrum, base: string, quote: string, type: 'C' | 'P') =>
    findVault(profile.vaults, { base, quote, type })?.name;
  t.equal(nameOf(arbitrum, 'WETH', 'USDC', 'C'), 'pSV-WETH/USDCe-C');
  t.equal(nameOf(arbitrum, 'ARB', 'USDC', 'P'), 'pSV-ARB/USDCe-P');
  t.equal(nameOf(arbitrum, 'WETH', 'DAI', 'C'), undefined);
  t.equal(nameOf(arbitrum, 'WSTETH', 'USDC', 'P'), 'pSV-wstETH/USDCe-P');
  t.equal(nameOf(arbitrum, 'FXS', 'FRAX', 'C'), 'pSV-FXS/FRAX-C');
  t.equal(nameOf(arbitrumGoerli, 'LINK', 'USDC', 'P'), 'pSV-LINK/USDC-P');
  t.equal(nameOf(arbitrumGoerli, 'testWETH', 'USDC', 'C'), 'SV-ETH/USDC-C');
  t.equal(nameOf(arbitrumGoerli, 'WETH', 'USDC', 'C'), undefined);
});

t.test('a vault is found by tokens that its name writes in another letter case', async (t) => {
  const vault = { name: 'pSV-wstETH/USDCe-C', address: '0x0000000000000000000000000000000000000001' } as const;
  t.strictSame(pairOfVault(vault.name, ['USDC', 'WSTETH']), { base: 'WSTETH', quote: 'USDC', type: 'C' });
  t.equal(findVault([vault], { base: 'WSTETH', quote: 'USDC', type: 'C' }), vault);
  t.equal(findVault([vault], { base: 'WSTETH', quote: 'USDC', type: 'P' }), undefined);
});

t.test('base tokens go by the names that the vaults have for them', async (t) => {
  const bases = (profile: typeof arbitrum) =>
    basesOfVaults(
      profile.vaults,
      profile.tokens.map(({ symbol }) => symbol),
    );
  t.equal(bases(arbitrum).get('wstETH'), 'WSTETH');
  t.notOk(bases(arbitrum).has('WSTETH'));
  t.equal(bases(arbitrumGoerli).get('testWETH'), 'testWETH');
});

t.test('the name of each vault of the deployments tells the option that finds it', async (t) => {
  for (const { vaults, tokens } of [arbitrum, arbitrumGoerli]) {
    const symbols = tokens.map(({ symbol }) => symbol);
    const pairs = vaults.map(({ name }) => pairOfVault(name, symbols));
    t.ok(vaults.length > 0);
    t.strictSame(
      pairs.map((pair) => pair && findVault(vaults, pair)?.name),
      vaults.map(({ name }) => name),
    );
  }
});
