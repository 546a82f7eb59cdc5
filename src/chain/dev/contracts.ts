import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, maxUint256, parseAbi } from 'viem';
import { type Hex, type Pool, ZERO_ADDRESS } from '../../engine/quote.js';
import { erc20Abi } from '../contracts/abi.js';
import { MULTICALL3, type TokenProfile, type VaultProfile } from '../contracts/deployments.js';
import { deployer, type DevAccount, type DevClient, type DevTransaction, sendTogether } from './dev-client.js';

/** Addresses of one deployment, EIP-55 checksums. */
export interface Deployment {
  /** Nothing of it is in this block or before it. */
  readonly startBlock: number;
  readonly contracts: {
    readonly orderbookStream: Hex;
    readonly poolFactory: Hex;
    readonly poolDiamond: Hex;
    readonly erc20Router: Hex;
    readonly oracleAdapter: Hex;
    readonly volatilityOracle: Hex;
    readonly multicall3: Hex;
    /** Of the local chain alone: each taker's discount on fees. */
    readonly discounts: Hex;
  };
  readonly tokens: readonly TokenProfile[];
  readonly vaults: readonly VaultProfile[];
}

/** Where fees go that pools pass on. */
export const feeReceiver: Hex = '0x00000000000000000000000000000000000fee5a';

const CREATION_GAS = 5_000_000n;
const MINT_GAS = 2_000_000n;

/**
 * Deploys the contracts onto an empty or used anvil and hands out tokens: two batches of transactions, a few blocks.
 */
export async function deployContracts(client: DevClient, accounts: readonly DevAccount[]): Promise<Deployment> {
  const startBlock = Number(await client.getBlockNumber());
  return asDeployer(client, async () => {
    const creations = new Creations(await client.getTransactionCount({ address: deployer }));
    const contracts = { ...createProtocol(creations), volatilityOracle: creations.add('VolatilityOracle') };
    const tokens = createTokens(creations);
    const addresses = new Map(tokens.map(({ symbol, address }) => [symbol, address]));
    const addressOf: AddressOf = (symbol) => addresses.get(symbol) ?? ZERO_ADDRESS;
    const vaults = createVaults(creations, contracts, addressOf);
    await sendTogether(client, [...creations.transactions, ...(await multicallCreation(client))]);

    await sendTogether(client, [
      ...priceTransactions(contracts.oracleAdapter, addressOf),
      volatilityTransaction(contracts.volatilityOracle, addressOf),
      ...grantTransactions(accounts, vaults, contracts.erc20Router, addressOf),
    ]);
    return { startBlock, contracts, tokens, vaults };
  });
}

/**
 * Lets the node sign for the deployer and for the creator of Multicall3, and gives both what gas costs, until `work` has
 * ended. Afterwards the node's accounts are the funded ones alone, as wallets list them.
 */
export async function asDeployer<Result>(client: DevClient, work: () => Promise<Result>): Promise<Result> {
  const senders = [deployer, MULTICALL3_CREATOR];
  await Promise.all(
    senders.flatMap((address) => [
      client.impersonateAccount({ address }),
      client.setBalance({ address, value: 10n ** 24n }),
    ]),
  );
  try {
    return await work();
  } finally {
    await Promise.all(senders.map((address) => client.stopImpersonatingAccount({ address })));
  }
}

/** Collects creations; their addresses follow from the deployer's nonce, so nothing waits for a receipt. */
class Creations {
  readonly transactions: DevTransaction[] = [];

  constructor(private readonly firstNonce: number) {}

  add(contractName: string, ...args: unknown[]): Hex {
    const address = this.addressAfter(0);
    this.transactions.push({ from: deployer, to: null, data: creationData(contractName, args), gas: CREATION_GAS });
    return address;
  }

  /** Address of the contract that is added after `others` more. */
  addressAfter(others: number): Hex {
    return getContractAddress({ from: deployer, nonce: BigInt(this.firstNonce + this.transactions.length + others) });
  }
}

/**
 * Deploys what a chain of an earlier version does not have: the volatility oracle, Multicall3 at its usual address and
 * the vaults under the names of Arbitrum One.
 */
export async function completeDeployment(client: DevClient, before: Deployment): Promise<Deployment> {
  const found: Partial<Deployment['contracts']> = before.contracts;
  if (found.volatilityOracle !== undefined) return before;
  return asDeployer(client, async () => {
    const creations = new Creations(await client.getTransactionCount({ address: deployer }));
    const contracts = {
      ...before.contracts,
      volatilityOracle: creations.add('VolatilityOracle'),
      multicall3: MULTICALL3,
    };
    const addresses = new Map(before.tokens.map(({ symbol, address }) => [symbol, address]));
    const addressOf: AddressOf = (symbol) => addresses.get(symbol) ?? ZERO_ADDRESS;
    const vaults = createVaults(creations, contracts, addressOf, before.vaults);
    await sendTogether(client, [...creations.transactions, ...(await multicallCreation(client))]);
    const added = vaults.filter(({ address }) => before.vaults.every((known) => known.address !== address));
    await sendTogether(client, [
      volatilityTransaction(contracts.volatilityOracle, addressOf),
      ...grantTransactions([], added, contracts.erc20Router, addressOf),
    ]);
    return { ...before, contracts, vaults };
  });
}

function createProtocol(creations: Creations): Omit<Deployment['contracts'], 'volatilityOracle'> {
  const orderbookStream = creations.add('OrderbookStream');
  const oracleAdapter = creations.add('PriceOracle');
  const discounts = creations.add('Discounts');
  // Router and diamond know the factory, which knows the diamond.
  const poolFactory = creations.addressAfter(2);
  const erc20Router = creations.add('ERC20Router', poolFactory);
  const poolDiamond = creations.add('Pool', poolFactory, erc20Router, feeReceiver, discounts);
  creations.add('PoolFactory', poolDiamond);
  return { orderbookStream, poolFactory, poolDiamond, erc20Router, oracleAdapter, multicall3: MULTICALL3, discounts };
}

function createTokens(creations: Creations): TokenProfile[] {
  return devTokens.map(({ symbol, decimals }) => ({
    symbol,
    decimals,
    address: creations.add('TestToken', symbol, decimals),
  }));
}

type AddressOf = (symbol: string) => Hex;

/**
 * Two vaults, of calls and of puts, for each base against USDC, without those that are `existing`. The vaults of
 * Arbitrum One say USDCe: vaults of these names are here too, so that a program written for that chain finds them.
 */
function createVaults(
  creations: Creations,
  { poolFactory, poolDiamond, erc20Router, oracleAdapter }: Omit<Deployment['contracts'], 'volatilityOracle'>,
  addressOf: AddressOf,
  existing: readonly VaultProfile[] = [],
): VaultProfile[] {
  const names = [
    ...devVaultBases.map((base) => [base, `pSV-${base}/USDC`] as const),
    ...arbitrumVaultBases.map((base) => [base, `pSV-${base}/USDCe`] as const),
  ];
  return names.flatMap(([base, pairName]) =>
    [true, false].map((isCallPool) => {
      const name = `${pairName}-${isCallPool ? 'C' : 'P'}`;
      const pair = {
        base: addressOf(base),
        quote: addressOf('USDC'),
        oracleAdapter,
        strike: 0n,
        maturity: 0n,
        isCallPool,
      };
      return (
        existing.find((vault) => vault.name === name) ?? {
          name,
          address: creations.add('Vault', name, pair, poolFactory, poolDiamond, erc20Router),
        }
      );
    }),
  );
}

/**
 * Multicall3 has the same address on every chain because the account that created it did nothing else: so a local
 * chain can have it there too.
 */
const MULTICALL3_CREATOR: Hex = '0x05f32B3cC3888453ff71B01135B34FF8e41263F2';

/** None where it is there already. */
async function multicallCreation(client: DevClient): Promise<DevTransaction[]> {
  if ((await client.getCode({ address: MULTICALL3 })) !== undefined) return [];
  return [{ from: MULTICALL3_CREATOR, to: null, data: creationData('Multicall3', []), gas: CREATION_GAS }];
}

function priceTransactions(oracleAdapter: Hex, addressOf: AddressOf): DevTransaction[] {
  return devTokens.map(({ symbol, usdPrice }) =>
    fromDeployer(
      oracleAdapter,
      encodeFunctionData({ abi: priceOracleAbi, functionName: 'setUsdPrice', args: [addressOf(symbol), usdPrice] }),
    ),
  );
}

function volatilityTransaction(volatilityOracle: Hex, addressOf: AddressOf): DevTransaction {
  const moving = devTokens.filter(({ volatility }) => volatility > 0n);
  const args = [moving.map(({ symbol }) => addressOf(symbol)), moving.map(({ volatility }) => volatility)] as const;
  return fromDeployer(
    volatilityOracle,
    encodeFunctionData({ abi: devVolatilityAbi, functionName: 'setAtTheMoney', args }),
  );
}

/** Every account and vault gets every token, and every account lets the router take them. */
function grantTransactions(
  accounts: readonly DevAccount[],
  vaults: readonly VaultProfile[],
  router: Hex,
  addressOf: AddressOf,
): DevTransaction[] {
  const holders = [...accounts, ...vaults].map(({ address }) => address);
  const approve = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [router, maxUint256] });
  return devTokens.flatMap(({ symbol, decimals, granted }) => {
    const to = addressOf(symbol);
    const amount = granted * 10n ** BigInt(decimals);
    const mint = encodeFunctionData({ abi: testTokenAbi, functionName: 'mintAll', args: [holders, amount] });
    const approvals = accounts.map(({ address }) => ({ from: address, to, data: approve }));
    return [{ ...fromDeployer(to, mint), gas: MINT_GAS }, ...approvals];
  });
}

export function fromDeployer(to: Hex, data: Hex): DevTransaction {
  return { from: deployer, to, data };
}

/** Beside the sources of the contracts, four levels above the compiled `dist/src/chain/dev`. */
const artifactsDir = new URL('../../../../contracts/artifacts/', import.meta.url);

interface Artifact {
  readonly abi: Abi;
  readonly bytecode: Hex;
}

/** Data of the transaction that creates a contract of `contracts/`. */
function creationData(contractName: string, args: readonly unknown[]): Hex {
  const text = readFileSync(new URL(`${contractName}.json`, artifactsDir), 'utf8');
  const { abi, bytecode } = JSON.parse(text) as Artifact;
  return encodeDeployData({ abi, bytecode, args });
}

/** Functions that only the local chain's contracts have: anyone may set there what no one can on a real chain. */
export const testTokenAbi = parseAbi([
  'function mint(address to, uint256 amount)',
  'function mintAll(address[] to, uint256 amount)',
]);

export const priceOracleAbi = parseAbi([
  'function usdPrice(address token) view returns (uint256)',
  'function setUsdPrice(address token, uint256 price)',
  'function setUsdPrices(address[] tokens, uint256[] prices)',
  'function setPriceAt(address tokenIn, address tokenOut, uint256 target, uint256 price)',
]);

export const devVolatilityAbi = parseAbi([
  'function atTheMoney(address token) view returns (uint256)',
  'function setAtTheMoney(address[] tokens, uint256[] volatilities)',
]);

/** Deployments on a chain: the contracts, and the pools that they were asked for at the start. */
export interface SavedDeployment {
  readonly deployment: Deployment;
  readonly pools: readonly Pool[];
}

/** A deployment is kept beside the state file of the chain that it is on. */
function pathOf(stateFile: string): string {
  return `${stateFile}.deployment`;
}

/** Null when nothing was saved; throws when what is there is no deployment. */
export function loadDeployment(stateFile: string): SavedDeployment | null {
  let text: string;
  try {
    text = readFileSync(pathOf(stateFile), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  return JSON.parse(text, (key, value: unknown) =>
    key === 'strike' ? BigInt(String(value)) : value,
  ) as SavedDeployment;
}

/** Written aside and renamed, so that there is a whole file or none. */
export function saveDeployment(stateFile: string, saved: SavedDeployment): void {
  const path = pathOf(stateFile);
  const text = JSON.stringify(saved, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value), 1);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** The eight symbols that the service knows, as the local chain has them. `usdPrice` and amounts are 1e-18. */
export interface DevToken {
  readonly symbol: string;
  readonly decimals: number;
  readonly usdPrice: bigint;
  /** Implied volatility at the money, a year, in 1e-18; 0: it has none. */
  readonly volatility: bigint;
  /** Amount that each account gets, in whole tokens. */
  readonly granted: bigint;
}

const ONE = 10n ** 18n;
const PERCENT = ONE / 100n;

export const devTokens: readonly DevToken[] = [
  { symbol: 'testWETH', decimals: 18, usdPrice: 1800n * ONE, volatility: 60n * PERCENT, granted: 1_000_000n },
  { symbol: 'WETH', decimals: 18, usdPrice: 1800n * ONE, volatility: 60n * PERCENT, granted: 1_000_000n },
  { symbol: 'WBTC', decimals: 8, usdPrice: 30_000n * ONE, volatility: 50n * PERCENT, granted: 100_000n },
  { symbol: 'PREMIA', decimals: 18, usdPrice: ONE / 2n, volatility: 120n * PERCENT, granted: 1_000_000_000n },
  { symbol: 'LINK', decimals: 18, usdPrice: 7n * ONE, volatility: 80n * PERCENT, granted: 1_000_000_000n },
  { symbol: 'USDC', decimals: 6, usdPrice: ONE, volatility: 0n, granted: 1_000_000_000n },
  { symbol: 'DAI', decimals: 18, usdPrice: ONE, volatility: 0n, granted: 1_000_000_000n },
  { symbol: 'ARB', decimals: 18, usdPrice: ONE, volatility: 90n * PERCENT, granted: 1_000_000_000n },
];

/** Bases of the vaults, one for calls and one for puts each, against USDC. */
const devVaultBases: readonly string[] = ['testWETH', 'WETH', 'WBTC'];

/** Bases of the vaults of Arbitrum One, whose names are listed on the local chain, too. */
const arbitrumVaultBases: readonly string[] = ['WETH', 'WBTC', 'ARB', 'LINK', 'PREMIA'];

/** Pools against USDC that are there from the start: each strike as a call and a put for each maturity. */
export interface DevSeries {
  readonly base: string;
  /** 1e-18 USDC per base token. */
  readonly strikes: readonly bigint[];
  /** Which of the calendar's maturities, from the nearest. */
  readonly maturities: number;
}

export const devSeries: readonly DevSeries[] = [
  { base: 'testWETH', strikes: [1600n, 1700n, 1800n, 1900n, 2000n].map((strike) => strike * ONE), maturities: 3 },
  { base: 'WBTC', strikes: [28_000n, 30_000n, 32_000n].map((strike) => strike * ONE), maturities: 2 },
];
