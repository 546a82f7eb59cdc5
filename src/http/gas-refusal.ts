import type { NetRequestHead, NetResponse } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import { rateLimited, refuse, retryAfter, unavailable } from './answer.js';

/** The operator pays for nothing more just now: for this key, or for any. */
export function gasRefused(request: NetRequestHead, refusal: GasRefusal): NetResponse {
  if (refusal.type === 'OVER_BUDGET') return rateLimited(request, refusal.retryAfterMs);
  if (refusal.type === 'STORAGE_FULL') return unavailable(request, refusal.type);
  const message = `The wallet ${refusal.wallet} has spent what it may in a day`;
  return refuse(request, 429, message, retryAfter(refusal.retryAfterMs));
}
