import type { KeyCreation, RejectedMessage, SignInResult } from '../auth/sign-in.js';
import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetRequestHead, NetResponse } from '../net/net.js';
import {
  CreateKeyBody,
  type CreateKeyResult,
  NonceBody,
  type NonceResult,
  type SignOutResult,
  VerifyBody,
  type VerifyResult,
} from '../wire/auth.js';
import { compile } from '../wire/validation.js';
import { withBody } from './checked-input.js';
import { readBody } from './parse.js';
import { chainUnreachable, json, rateLimited, refuse } from './responses.js';
import type { Caller, Route } from './router.js';

/** Keys for callers without one. */
export interface SelfService {
  readonly isOn: boolean;
  /** Counts one request without a key. Returns 0, or for how many milliseconds none of that address is looked at. */
  strike(remoteAddress: string): number;
  /** Stands for the network of that address as the id of a key stands for a key. */
  networkId(remoteAddress: string): string;
}

/** Proofs that callers own addresses. */
export interface SignIns {
  /** Times are in Unix milliseconds. */
  issueNonce(keyId: string): { readonly nonce: string; readonly expiresAtMs: number };
  verify(
    keyId: string,
    signed: { readonly message: string; readonly signature: Hex; readonly keep: 'session' | 'key' },
  ): Promise<SignInResult>;
  /** A key for the address that signed. `networkId` is what the nonce was issued to. */
  createKey(networkId: string, signed: { readonly message: string; readonly signature: Hex }): Promise<KeyCreation>;
  /** By what stands in place of the API key. */
  signOut(token: string): Promise<'SIGNED_OUT' | 'NO_SESSION' | 'TOO_MANY' | 'UNAVAILABLE'>;
}

const SIGNED_OUT_RETRY_MS = 60_000;

export interface AuthRouteParts {
  readonly signIns: SignIns;
  readonly selfService: SelfService;
  readonly chainId: string;
  readonly limits: {
    readonly bodyParts: number;
    readonly schemaErrors: number;
    readonly provenPerKey: number;
    readonly selfKeysPerNetwork: number;
    readonly selfKeyUnusedDays: number;
  };
}

/**
 * POST /auth/nonce, /auth/verify and /auth/signout: sign-in with Ethereum (EIP-4361). POST /auth/keys/nonce and
 * /auth/keys: a key for callers without one.
 */
export function authRoutes({ signIns, selfService, chainId, limits }: AuthRouteParts): Route[] {
  const checkEmpty = compile(NonceBody, limits.schemaErrors);

  /** Null: there is no body, or an empty object. */
  function wrongEmptyBody(request: NetRequest): NetResponse | null {
    if (request.body.length === 0) return null;
    const body = readBody(request, checkEmpty, limits.bodyParts);
    return body.ok ? null : refuse(request, body.code, body.error);
  }

  function nonce(request: NetRequest, issuedTo: string): NetResponse {
    const wrong = wrongEmptyBody(request);
    if (wrong !== null) return wrong;
    const issued = signIns.issueNonce(issuedTo);
    const result: NonceResult = {
      nonce: issued.nonce,
      expiresAt: seconds(issued.expiresAtMs),
      chainId: Number(chainId),
    };
    return json(JSON.stringify(result));
  }

  const verify = withBody(VerifyBody, { limits }, async (request, caller: Caller, body) => {
    const { message, signature, keep = 'session' } = body;
    const result = await signIns.verify(caller.id, { message, signature, keep });
    switch (result.type) {
      case 'SIGNED_IN':
        return verified({ address: result.address, token: result.token, expiresAt: seconds(result.expiresAtMs) });
      case 'PROVEN':
        return verified({ address: result.address, token: null, expiresAt: null });
      case 'TOO_MANY_TAKERS':
        return refuse(request, 'too_many_takers', `Too many addresses: one key proves at most ${limits.provenPerKey}`);
      case 'KEY_REVOKED':
        return refuse(request, 'api_key_unknown', 'NOT_FOUND');
      default:
        return rejected(request, result);
    }
  });

  function rejected(request: NetRequest, result: RejectedMessage): NetResponse {
    switch (result.type) {
      case 'INVALID':
        return refuse(request, { code: 'sign_in_rejected', param: 'message' }, result.problem);
      case 'NONCE_REJECTED':
        return refuse(request, 'nonce_rejected', 'The nonce is unknown, spent or expired');
      case 'UNAVAILABLE':
        return chainUnreachable(request);
      case 'TOO_MANY':
        return rateLimited(request, result.retryAfterMs);
    }
  }

  /** So no body of such a request is read. */
  function refusedSelfService(request: NetRequestHead): NetResponse | null {
    if (selfService.isOn) return null;
    return refuse(request, 'self_service_off', 'This service hands out no keys: ask its operator for one');
  }

  /** Requests without a key are counted by their network. */
  function bounded(
    handle: (request: NetRequest, networkId: string) => NetResponse | Promise<NetResponse>,
  ): (request: NetRequest) => NetResponse | Promise<NetResponse> {
    return (request) => {
      const retryAfterMs = selfService.strike(request.remoteAddress);
      if (retryAfterMs > 0) return rateLimited(request, retryAfterMs);
      return handle(request, selfService.networkId(request.remoteAddress));
    };
  }

  const createKey = withBody(CreateKeyBody, { limits }, async (request, networkId: string, body) => {
    const result = await signIns.createKey(networkId, body);
    switch (result.type) {
      case 'CREATED': {
        const { id, key, address, replaced } = result;
        const created: CreateKeyResult = {
          id,
          key,
          tier: 'self',
          address,
          replaced,
          unusedDays: limits.selfKeyUnusedDays,
        };
        return json(JSON.stringify(created), 201);
      }
      case 'FULL':
        // Of keys that nobody uses some expire each day.
        return refuse(request, 'self_keys_exhausted', 'Too many keys are in force', { 'retry-after': '86400' });
      case 'NETWORK_FULL': {
        const message = `Too many keys: ${limits.selfKeysPerNetwork} were created from this network`;
        return refuse(request, 'too_many_keys', message);
      }
      default:
        return rejected(request, result);
    }
  });

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
    { method: 'POST', path: '/auth/nonce', needsKey: true, handle: (request, { id }) => nonce(request, id) },
    { method: 'POST', path: '/auth/verify', needsKey: true, handle: verify },
    { method: 'POST', path: '/auth/signout', needsKey: true, handle: signOut },
    {
      method: 'POST',
      path: '/auth/keys/nonce',
      needsKey: false,
      refuse: refusedSelfService,
      handle: bounded(nonce),
    },
    {
      method: 'POST',
      path: '/auth/keys',
      needsKey: false,
      refuse: refusedSelfService,
      handle: bounded(createKey),
    },
  ];
}

function verified(result: VerifyResult): NetResponse {
  return json(JSON.stringify(result));
}

/** Rounded down: a client that waits for it never comes too late. */
function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
