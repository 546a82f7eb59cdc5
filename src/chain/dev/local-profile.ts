import type { ContractProfile, Profile } from '../profile.js';
import type { Hex } from '../../engine/quote.js';
import type { Deployment } from './deploy.js';

export interface LocalEndpoints {
  readonly chainId: number;
  readonly rpcUrl: string;
  readonly wsUrl: string;
}

const LOOKBACK_SECONDS = 90 * 86_400;

/** The deployment as the service is told of it: one chain in both roles. */
export function localProfile(endpoints: LocalEndpoints, deployment: Deployment): Profile {
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
      multicall3: at(contracts.multicall3),
    },
    streamLookbackSeconds: LOOKBACK_SECONDS,
    tokens: deployment.tokens,
    vaults: deployment.vaults,
  };
}
