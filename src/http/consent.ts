import type { TakerAccess } from '../auth/taker-access.js';
import type { NetRequest, NetRequestHead, NetResponse } from '../net/net.js';
import type { Consent, ConsentRefusal } from '../protection/provider-consent.js';
import type { AuthorizationBody } from '../wire/protections.js';
import { lower } from './parse.js';
import { rateLimited, refuse } from './responses.js';
import type { Caller } from './router.js';

/** The fields of a body that come together with a signature of its provider. */
export type ConsentFields = Partial<Pick<AuthorizationBody, 'nonce' | 'deadline' | 'signature'>>;

/** The refusal of a body with a part of what a provider signs; null: it has all of it, or nothing. */
export function partlySigned(request: NetRequest, { nonce, deadline, signature }: ConsentFields): NetResponse | null {
  const given = [nonce, deadline, signature].filter((each) => each !== undefined).length;
  if (given === 0 || given === 3) return null;
  return refuse(request, 'invalid_parameter', 'nonce, deadline and signature come together');
}

/** The provider's consent as a body states it; a signature goes before a proof. */
export function consentOf(
  { nonce, deadline, signature, provider }: ConsentFields & Pick<AuthorizationBody, 'provider'>,
  caller: Caller,
  takers: TakerAccess,
): Consent {
  if (nonce !== undefined && deadline !== undefined && signature !== undefined) {
    const { r, s, v } = signature;
    return { nonce: BigInt(nonce), deadline, signature: { r: lower(r), s: lower(s), v } };
  }
  return takers.hasProven(caller, lower(provider)) ? 'PROVEN' : null;
}

/** The answer where a provider has not consented. `texts`: what each action says in its own words. */
export function consentRefused(
  request: NetRequestHead,
  refusal: ConsentRefusal,
  texts: { readonly notAuthorized: string; readonly tooFarAhead: string },
): NetResponse {
  switch (refusal.type) {
    case 'NOT_AUTHORIZED':
      return refuse(request, 'provider_not_authorized', texts.notAuthorized);
    case 'BAD_SIGNATURE':
      return refuse(request, 'invalid_signature', 'The provider did not sign this');
    case 'EXPIRED':
      return refuse(request, WRONG_DEADLINE, 'The deadline has passed');
    case 'TOO_FAR_AHEAD':
      return refuse(request, WRONG_DEADLINE, texts.tooFarAhead);
    case 'NONCE_SPENT':
      return refuse(request, 'nonce_spent', 'The nonce was used before');
    case 'TOO_MANY_NONCES':
      return rateLimited(request, refusal.retryAfterMs);
  }
}

const WRONG_DEADLINE = { code: 'invalid_parameter', param: 'deadline' } as const;
