import type { NetRequestHead, NetResponse } from '../net/net.js';
import { refuse } from './answer.js';

/** Seconds after which what was refused for now may be tried again. */
const RETRY_AFTER = { 'retry-after': '1' };

export function noWallet(request: NetRequestHead): NetResponse {
  return refuse(request, 501, "No wallet is configured: set walletKey or walletKeyFile to the operator's private key");
}

export function chainUnreachable(request: NetRequestHead): NetResponse {
  return unavailable(request, 'The chain does not answer');
}

export function unavailable(request: NetRequestHead, message: string): NetResponse {
  return refuse(request, 503, message, RETRY_AFTER);
}
