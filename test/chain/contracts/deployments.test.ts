import { createRequire } from 'node:module';
import fc from 'fast-check';
import t from 'tap';
import { getAddress } from 'viem';
import * as chains from 'viem/chains';
import {
  arbitrum,
  arbitrumGoerli,
  checksumAddress,
  type ContractProfile,
  type Profile,
  readIdentity,
} from '../../../src/chain/contracts/deployments.js';
import { pairOfVault } from '../../../src/chain/contracts/vault-names.js';
import type { Hex } from '../../../src/engine/quote.js';
import { RestoredChain, ScriptedChain } from '../scripted-chain.js';

const require = createRequire(import.meta.url);

interface Published {
  readonly tokens: Readonly<Record<string, string>>;
  readonly core: Readonly<Record<string, { readonly address: string; readonly block: number }>>;
  readonly vaults: Readonly<Record<string, { readonly address: string }>>;
}

function published(name: string): Published {
  return require(`@premia/v3-abi/deployment/${name}.json`) as Published;
}

const networks: readonly [Profile, settlement: Published, stream: Published][] = [
  [arbitrum, published('arbitrum'), published('arbitrumNova')],
  [arbitrumGoerli, published('arbitrumGoerli'), published('arbitrumGoerli')],
];

for (const [profile, settlement, stream] of networks) {
  t.test(`${profile.name}: contracts and their first blocks are the published ones`, async (t) => {
    const at = (source: Published, name: string): ContractProfile => {
      const { address = '', block = -1 } = source.core[name] ?? {};
      return { address: getAddress(address), startBlock: block };
    };
    t.same(
      { ...profile.contracts, multicall3: null },
      {
        orderbookStream: at(stream, 'OrderbookStream'),
        poolFactory: at(settlement, 'PoolFactoryProxy'),
        poolDiamond: at(settlement, 'PremiaDiamond'),
        erc20Router: at(settlement, 'ERC20Router'),
        oracleAdapter: at(settlement, 'ChainlinkAdapterProxy'),
        volatilityOracle: at(settlement, 'VolatilityOracleProxy'),
        multicall3: null,
      },
    );
  });

  t.test(`${profile.name}: tokens are the published ones, in the order of their table`, async (t) => {
    t.same(
      profile.tokens.map(({ symbol, address }) => [symbol, address]),
      Object.entries(settlement.tokens).map(([symbol, address]) => [symbol, getAddress(address)]),
    );
  });

  t.test(`${profile.name}: vaults are the published ones, each of two tokens of the profile`, async (t) => {
    t.same(
      profile.vaults,
      Object.entries(settlement.vaults).map(([name, { address }]) => ({ name, address: getAddress(address) })),
    );
    const symbols = profile.tokens.map(({ symbol }) => symbol);
    t.strictSame(
      profile.vaults.filter(({ name }) => pairOfVault(name, symbols) === null),
      [],
    );
  });

  t.test(`${profile.name}: every address is an EIP-55 checksum`, async (t) => {
    const contracts = Object.values(profile.contracts).map((contract) => contract?.address ?? '');
    const addresses = [...contracts, ...[...profile.tokens, ...profile.vaults].map(({ address }) => address)];
    t.same(
      addresses,
      addresses.map((address) => getAddress(address)),
    );
  });
}

t.test('tokens have the decimals of the real ones', async (t) => {
  const odd = ({ tokens }: Profile) =>
    Object.fromEntries(
      tokens.filter(({ decimals }) => decimals !== 18).map(({ symbol, decimals }) => [symbol, decimals]),
    );
  t.strictSame(odd(arbitrum), { WBTC: 8, USDC: 6, USDT: 6, SOL: 9 });
  t.strictSame(odd(arbitrumGoerli), { WBTC: 8, USDC: 6 });
});

t.test('chain ids, public endpoints and Multicall3 are those that viem knows', async (t) => {
  const { arbitrum: one, arbitrumNova: nova, arbitrumGoerli: goerli } = chains;
  t.equal(arbitrum.settlement.chainId, one.id);
  t.equal(arbitrum.stream.chainId, nova.id);
  t.same(arbitrum.settlement.rpcUrls, one.rpcUrls.default.http);
  t.same(arbitrum.stream.rpcUrls, nova.rpcUrls.default.http);
  t.equal(arbitrumGoerli.settlement.chainId, goerli.id);
  t.same(arbitrumGoerli.settlement.rpcUrls, goerli.rpcUrls.default.http);
  const { multicall3 } = one.contracts;
  t.same(arbitrum.contracts.multicall3, {
    address: getAddress(multicall3.address),
    startBlock: multicall3.blockCreated,
  });
});

async function genesisOf(rpc: ScriptedChain): Promise<Hex> {
  const { settlementGenesis, streamGenesis } = await readIdentity(arbitrum, { settlement: rpc, stream: rpc });
  t.equal(settlementGenesis, streamGenesis);
  return settlementGenesis as Hex;
}

await t.test('a chain is known by the genesis block that it stands on, whichever one a node shows', async (t) => {
  const chain = new ScriptedChain(3);
  t.equal(await genesisOf(chain), chain.hash(0));
  t.equal(await genesisOf(new RestoredChain(3)), chain.hash(0));
});

await t.test('one that has only its genesis block is known by that, and stays the same when it grows', async (t) => {
  const chain = new ScriptedChain(0);
  const before = await genesisOf(chain);
  t.equal(before, chain.hash(0));
  chain.mine(5);
  t.equal(await genesisOf(chain), before);
});

await t.test('a node that has lost the first block still knows the genesis block', async (t) => {
  const chain = new ScriptedChain(3);
  chain.lose(1);
  t.equal(await genesisOf(chain), chain.hash(0));
});

t.test('an address has the checksum that viem gives it, whatever its letter case was', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
      const address: Hex = `0x${Buffer.from(bytes).toString('hex')}`;
      t.equal(checksumAddress(address), getAddress(address));
      t.equal(checksumAddress(`0x${address.slice(2).toUpperCase()}`), getAddress(address));
    }),
    { numRuns: 50 },
  );
});
