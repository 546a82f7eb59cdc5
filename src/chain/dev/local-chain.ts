import type { Hex, Pool } from '../../engine/quote.js';
import type { ContractProfile, Profile } from '../contracts/deployments.js';
import { startAnvil } from './anvil.js';
import {
  completeDeployment,
  deployContracts,
  type Deployment,
  loadDeployment,
  type SavedDeployment,
  saveDeployment,
} from './contracts.js';
import { DEV_ACCOUNTS, type DevAccount, type DevClient, devClient } from './dev-client.js';
import { deployPools } from './dev-pools.js';

export const LOCAL_CHAIN_ID = 421_613;

export interface LocalChainOptions {
  /** LOCAL_CHAIN_ID, unless another network is to be played. */
  readonly chainId?: number;
  /** 0, the default, picks a free one. */
  readonly port?: number;
  /** The chain survives restarts in this file; the deployment is kept beside it in `<stateFile>.deployment`. */
  readonly stateFile?: string;
  /** A block each so many seconds, as on a real chain; absent: one for each transaction, at once. */
  readonly blockTimeSeconds?: number;
  /** Another anvil than the npm package's. */
  readonly anvilPath?: string;
}

/** A chain with the protocol on it. */
export interface LocalChain extends LocalEndpoints {
  /** `accounts[0]` is the operator's wallet. Each holds every token and has approved the router. */
  readonly accounts: readonly DevAccount[];
  /** Token addresses by symbol. */
  readonly tokens: Readonly<Record<string, Hex>>;
  readonly contracts: Deployment['contracts'];
  /** Calls and puts of several strikes and maturities, deployed. */
  readonly pools: readonly Pool[];
  readonly profile: Profile;
  /** Process id of anvil; null when it was running before. */
  readonly anvilPid: number | null;
  /** Ends anvil, when it was started here, and resolves when it is gone. */
  stop(): Promise<void>;
}

/** Starts anvil with the protocol deployed on it, or with what a state file brings back. Ends with this process. */
export async function startLocalChain(options: LocalChainOptions = {}): Promise<LocalChain> {
  const { chainId = LOCAL_CHAIN_ID } = options;
  const anvil = await startAnvil({ ...options, chainId });
  try {
    const client = devClient(anvil.rpcUrl, chainId);
    // Nobody reads what anvil says of each call.
    await client.setLoggingEnabled(false);
    await continueTime(client);
    const chain = await attachLocalChain({ ...options, rpcUrl: anvil.rpcUrl });
    // After the deployment, which would take minutes of such blocks.
    if (options.blockTimeSeconds !== undefined) await client.setIntervalMining({ interval: options.blockTimeSeconds });
    return { ...chain, anvilPid: anvil.pid, stop: () => anvil.stop() };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

/**
 * Deploys onto an anvil that is running already and goes on running. With `stateFile`, what was deployed there before
 * is found again.
 */
export async function attachLocalChain(
  options: Pick<LocalChainOptions, 'chainId' | 'stateFile'> & { readonly rpcUrl: string },
): Promise<LocalChain> {
  const { chainId = LOCAL_CHAIN_ID, rpcUrl, stateFile } = options;
  const endpoints = { chainId, rpcUrl, wsUrl: rpcUrl.replace(/^http/, 'ws') };
  const client = devClient(rpcUrl, chainId);
  const accounts = DEV_ACCOUNTS;
  const { deployment, pools } = await deployed(client, accounts, stateFile);
  return {
    ...endpoints,
    accounts,
    tokens: Object.fromEntries(deployment.tokens.map(({ symbol, address }) => [symbol, address])),
    contracts: deployment.contracts,
    pools,
    profile: localProfile(endpoints, deployment),
    anvilPid: null,
    stop: () => Promise.resolve(),
  };
}

/**
 * A chain whose time was moved forward forgets that when it is restored, and its next block would be older than the
 * last one: time goes on from the last block instead. A restored chain gets a block at once: the service takes the time
 * from the newest one, and what expired while the chain was stopped would be valid until the next transaction.
 */
async function continueTime(client: DevClient): Promise<void> {
  const newest = await client.getBlock();
  const next = await client.getBlock({ blockTag: 'pending' });
  const behind = Number(newest.timestamp - next.timestamp);
  if (behind > 0) await client.increaseTime({ seconds: behind });
  if (newest.number > 0n) await client.mine({ blocks: 1 });
}

/** The saved deployment as far as it is still there; deploys the missing parts. */
async function deployed(
  client: DevClient,
  accounts: readonly DevAccount[],
  stateFile: string | undefined,
): Promise<SavedDeployment> {
  const saved = stateFile === undefined ? null : await restored(client, stateFile);
  const deployment = saved?.deployment ?? (await deployContracts(client, accounts));
  const pools = await deployPools(client, deployment, saved?.pools ?? []);
  if (stateFile !== undefined) saveDeployment(stateFile, { deployment, pools });
  return { deployment, pools };
}

/** A chain whose state was never saved starts empty, whatever is kept beside its file. */
async function restored(client: DevClient, stateFile: string): Promise<SavedDeployment | null> {
  const saved = loadDeployment(stateFile);
  if (saved === null) return null;
  const code = await client.getCode({ address: saved.deployment.contracts.poolFactory });
  if (code === undefined) return null;
  return { ...saved, deployment: await completeDeployment(client, saved.deployment) };
}

export interface LocalEndpoints {
  readonly chainId: number;
  readonly rpcUrl: string;
  readonly wsUrl: string;
}

const LOOKBACK_SECONDS = 90 * 86_400;

/** The service's profile of the deployment: one chain in both roles. */
function localProfile(endpoints: LocalEndpoints, deployment: Deployment): Profile {
  const chain = {
    chainId: endpoints.chainId,
    rpcUrls: [endpoints.rpcUrl],
    wsUrl: endpoints.wsUrl,
    confirmations: 0,
    rereadBlocks: 64,
    // Blocks are made when there are transactions, so the age of the newest one says nothing.
    maxHeadAgeSeconds: null,
  };
  const at = (address: Hex): ContractProfile => ({ address, startBlock: deployment.startBlock });
  const { contracts } = deployment;
  return {
    name: 'local',
    settlement: chain,
    stream: chain,
    contracts: {
      orderbookStream: at(contracts.orderbookStream),
      poolFactory: at(contracts.poolFactory),
      poolDiamond: at(contracts.poolDiamond),
      erc20Router: at(contracts.erc20Router),
      oracleAdapter: at(contracts.oracleAdapter),
      volatilityOracle: at(contracts.volatilityOracle),
      multicall3: at(contracts.multicall3),
    },
    streamLookbackSeconds: LOOKBACK_SECONDS,
    tokens: deployment.tokens,
    vaults: deployment.vaults,
  };
}
