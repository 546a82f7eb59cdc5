import { encodeFunctionData, getContractAddress, maxUint256 } from 'viem';
import { ZERO_ADDRESS, type Hex } from '../../engine/quote.js';
import { erc20Abi } from '../abi/erc20.js';
import type { TokenProfile, VaultProfile } from '../profile.js';
import { deployer, type DevAccount } from './accounts.js';
import { creationData } from './artifact.js';
import { sendTogether, type DevClient, type DevTransaction } from './dev-client.js';
import { priceOracleAbi, testTokenAbi } from './dev-abi.js';
import { devTokens, devVaultBases } from './market.js';

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
  await becomeDeployer(client);

  const creations = new Creations(await client.getTransactionCount({ address: deployer }));
  const contracts = createProtocol(creations);
  const tokens = createTokens(creations);
  const addresses = new Map(tokens.map(({ symbol, address }) => [symbol, address]));
  const addressOf: AddressOf = (symbol) => addresses.get(symbol) ?? ZERO_ADDRESS;
  const vaults = createVaults(creations, contracts, addressOf);
  await sendTogether(client, creations.transactions);

  await sendTogether(client, [
    ...priceTransactions(contracts.oracleAdapter, addressOf),
    ...grantTransactions(accounts, vaults, contracts.erc20Router, addressOf),
  ]);
  return { startBlock, contracts, tokens, vaults };
}

/** Lets the node sign for the deployer, and gives it what gas costs. */
export async function becomeDeployer(client: DevClient): Promise<void> {
  await client.impersonateAccount({ address: deployer });
  await client.setBalance({ address: deployer, value: 10n ** 24n });
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

function createProtocol(creations: Creations): Deployment['contracts'] {
  const orderbookStream = creations.add('OrderbookStream');
  const multicall3 = creations.add('Multicall3');
  const oracleAdapter = creations.add('PriceOracle');
  const discounts = creations.add('Discounts');
  // Router and diamond know the factory, which knows the diamond.
  const poolFactory = creations.addressAfter(2);
  const erc20Router = creations.add('ERC20Router', poolFactory);
  const poolDiamond = creations.add('Pool', poolFactory, erc20Router, feeReceiver, discounts);
  creations.add('PoolFactory', poolDiamond);
  return { orderbookStream, poolFactory, poolDiamond, erc20Router, oracleAdapter, multicall3, discounts };
}

function createTokens(creations: Creations): TokenProfile[] {
  return devTokens.map(({ symbol, decimals }) => ({
    symbol,
    decimals,
    address: creations.add('TestToken', symbol, decimals),
  }));
}

type AddressOf = (symbol: string) => Hex;

function createVaults(
  creations: Creations,
  { poolFactory, poolDiamond, erc20Router, oracleAdapter }: Deployment['contracts'],
  addressOf: AddressOf,
): VaultProfile[] {
  return devVaultBases.flatMap((base) =>
    [true, false].map((isCallPool) => {
      const name = `pSV-${base}/USDC-${isCallPool ? 'C' : 'P'}`;
      const pair = {
        base: addressOf(base),
        quote: addressOf('USDC'),
        oracleAdapter,
        strike: 0n,
        maturity: 0n,
        isCallPool,
      };
      return { name, address: creations.add('Vault', name, pair, poolFactory, poolDiamond, erc20Router) };
    }),
  );
}

function priceTransactions(oracleAdapter: Hex, addressOf: AddressOf): DevTransaction[] {
  return devTokens.map(({ symbol, usdPrice }) =>
    fromDeployer(
      oracleAdapter,
      encodeFunctionData({ abi: priceOracleAbi, functionName: 'setUsdPrice', args: [addressOf(symbol), usdPrice] }),
    ),
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
