import type { NetRequestHead, NetResponse } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-refusal.js';
import { rateLimited, refuse, retryAfter } from './answer.js';

/** The operator pays for nothing more just now: of this key's, or of anybody's. */
export function gasRefused(request: NetRequestHead, refusal: GasRefusal): NetResponse {
  if (refusal.type === 'OVER_BUDGET') return rateLimited(request, refusal.retryAfterMs);
  const message = `The wallet ${refusal.wallet} has spent what it may in a day`;
  return refuse(request, 429, message, retryAfter(refusal.retryAfterMs));
}
