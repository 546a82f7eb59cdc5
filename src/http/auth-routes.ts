import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { NonceBody, type NonceResult, type SignOutResult, VerifyBody, type VerifyResult } from '../wire/auth.js';
import { compile } from '../wire/validation.js';
import { readJson } from './parse.js';
import { chainUnreachable, json, rateLimited, refuse } from './responses.js';
import type { Caller, Route } from './router.js';

/** Proofs that callers own addresses. */
export interface SignIns {
  /** Times are in Unix milliseconds. */
  issueNonce(keyId: string): { readonly nonce: string; readonly expiresAtMs: number };
  verify(
    keyId: string,
    signed: { readonly message: string; readonly signature: Hex; readonly keep: 'session' | 'key' },
  ): Promise<
    | { readonly type: 'SIGNED_IN'; readonly address: Hex; readonly token: string; readonly expiresAtMs: number }
    | { readonly type: 'PROVEN' | 'TOO_MANY_TAKERS' | 'KEY_REVOKED' | 'UNAVAILABLE'; readonly address: Hex }
    | { readonly type: 'INVALID'; readonly problem: string }
    | { readonly type: 'NONCE_REJECTED' | 'UNAVAILABLE' }
    | { readonly type: 'TOO_MANY'; readonly retryAfterMs: number }
  >;
  /** By what stands in place of the API key. */
  signOut(token: string): Promise<'SIGNED_OUT' | 'NO_SESSION' | 'TOO_MANY' | 'UNAVAILABLE'>;
}

const SIGNED_OUT_RETRY_MS = 60_000;

export interface AuthRouteParts {
  readonly signIns: SignIns;
  readonly chainId: string;
  readonly limits: { readonly bodyParts: number; readonly schemaErrors: number; readonly provenPerKey: number };
}

/** POST /auth/nonce, /auth/verify and /auth/signout: sign-in with Ethereum (EIP-4361). */
export function authRoutes({ signIns, chainId, limits }: AuthRouteParts): Route[] {
  const checkEmpty = compile(NonceBody, limits.schemaErrors);
  const checkVerify = compile(VerifyBody, limits.schemaErrors);

  /** Null: there is no body, or an empty object. */
  function wrongEmptyBody(request: NetRequest): NetResponse | null {
    if (request.body.length === 0) return null;
    const parsed = readJson(request.body, limits.bodyParts);
    if (!parsed.ok) return refuse(request, parsed.code, parsed.error);
    const body = checkEmpty(parsed.value);
    return body.ok ? null : refuse(request, 'invalid_parameter', body.errors);
  }

  function nonce(request: NetRequest, caller: Caller): NetResponse {
    const wrong = wrongEmptyBody(request);
    if (wrong !== null) return wrong;
    const issued = signIns.issueNonce(caller.id);
    const result: NonceResult = {
      nonce: issued.nonce,
      expiresAt: seconds(issued.expiresAtMs),
      chainId: Number(chainId),
    };
    return json(JSON.stringify(result));
  }

  async function verify(request: NetRequest, caller: Caller): Promise<NetResponse> {
    const parsed = readJson(request.body, limits.bodyParts);
    if (!parsed.ok) return refuse(request, parsed.code, parsed.error);
    const body = checkVerify(parsed.value);
    if (!body.ok) return refuse(request, 'invalid_parameter', body.errors);
    const { message, signature, keep = 'session' } = body.value;
    const result = await signIns.verify(caller.id, { message, signature, keep });
    switch (result.type) {
      case 'SIGNED_IN':
        return verified({ address: result.address, token: result.token, expiresAt: seconds(result.expiresAtMs) });
      case 'PROVEN':
        return verified({ address: result.address, token: null, expiresAt: null });
      case 'INVALID':
        return refuse(request, { code: 'sign_in_rejected', param: 'message' }, result.problem);
      case 'NONCE_REJECTED':
        return refuse(request, 'nonce_rejected', 'The nonce is unknown, spent or expired');
      case 'TOO_MANY_TAKERS':
        return refuse(request, 'too_many_takers', `Too many addresses: one key proves at most ${limits.provenPerKey}`);
      case 'KEY_REVOKED':
        return refuse(request, 'api_key_unknown', 'NOT_FOUND');
      case 'UNAVAILABLE':
        return chainUnreachable(request);
      case 'TOO_MANY':
        return rateLimited(request, result.retryAfterMs);
    }
  }

  async function signOut(request: NetRequest): Promise<NetResponse> {
    const wrong = wrongEmptyBody(request);
    if (wrong !== null) return wrong;
    const outcome = await signIns.signOut(request.header('x-apikey') ?? '');
    if (outcome === 'TOO_MANY') return rateLimited(request, SIGNED_OUT_RETRY_MS);
    if (outcome === 'UNAVAILABLE') return chainUnreachable(request);
    const result: SignOutResult = { signedOut: outcome === 'SIGNED_OUT' };
    return json(JSON.stringify(result));
  }

  return [
    { method: 'POST', path: '/auth/nonce', needsKey: true, handle: nonce },
    { method: 'POST', path: '/auth/verify', needsKey: true, handle: verify },
    { method: 'POST', path: '/auth/signout', needsKey: true, handle: signOut },
  ];
}

function verified(result: VerifyResult): NetResponse {
  return json(JSON.stringify(result));
}

/** Rounded down: a client that waits for it never comes too late. */
function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
