import type { NetRequestHead, NetResponse } from '../net/net.js';
import { refuse, unavailable } from './answer.js';

export function noWallet(request: NetRequestHead): NetResponse {
  return refuse(request, 501, "No wallet is configured: set walletKey or walletKeyFile to the operator's private key");
}

export function chainUnreachable(request: NetRequestHead): NetResponse {
  return unavailable(request, 'The chain does not answer');
}
