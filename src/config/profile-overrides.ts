import type { Profile } from '../chain/contracts/deployments.js';
import type { Settings } from './setting-table.js';

type Endpoints = Pick<Settings, 'settlementRpcUrls' | 'streamRpcUrls' | 'settlementWsUrl' | 'streamWsUrl'>;

/** The profile with the endpoints that settings name in place of its own. */
export function withEndpoints(profile: Profile, settings: Endpoints): Profile {
  const { settlement, stream } = profile;
  return {
    ...profile,
    settlement: {
      ...settlement,
      rpcUrls: settings.settlementRpcUrls ?? settlement.rpcUrls,
      wsUrl: settings.settlementWsUrl ?? settlement.wsUrl,
    },
    stream: {
      ...stream,
      rpcUrls: settings.streamRpcUrls ?? stream.rpcUrls,
      wsUrl: settings.streamWsUrl ?? stream.wsUrl,
    },
  };
}
