import type { SignedNonce } from '../engine/command.js';
import type { Hex, Signature } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { onChain } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import {
  type RestoreQuotesResult,
  withdrawalBody,
  type WithdrawalJson,
  type WithdrawQuotesResult,
} from '../wire/withdrawals.js';
import { lower } from './orderbook-routes.js';
import { readJson } from './parse.js';
import { chainNotServed, json, notNow, rateLimited, refuse } from './responses.js';
import type { Route } from './router.js';

/** What a provider signed. Addresses and ids in lower case. */
export interface WithdrawalRequest extends SignedNonce {
  readonly provider: Hex;
  readonly quoteIds: readonly Hex[];
  readonly signature: Signature;
}

/** `changed` are withdrawn, or shown again. `seq`: the last event, which the answer shows. */
export interface WithdrawalDone {
  readonly type: 'DONE';
  readonly changed: readonly Hex[];
  readonly unchanged: readonly Hex[];
  readonly unknown: readonly Hex[];
  readonly seq: number;
}

export type WithdrawalResult =
  | WithdrawalDone
  | { readonly type: 'BAD_SIGNATURE' | 'EXPIRED' | 'TOO_FAR_AHEAD' | 'NONCE_SPENT' }
  /** The provider, or all of them, have signed with as many nonces as are kept. */
  | { readonly type: 'TOO_MANY_NONCES'; readonly retryAfterMs: number }
  /** Nothing can be written now, in the words of the journal or of the cluster. */
  | { readonly type: 'NOT_NOW'; readonly refusal: string };

export interface QuoteWithdrawals {
  withdraw(request: WithdrawalRequest): Promise<WithdrawalResult>;
  restore(request: WithdrawalRequest): Promise<WithdrawalResult>;
}

export interface WithdrawalRouteLimits {
  readonly bodyParts: number;
  readonly schemaErrors: number;
  readonly withdrawalsPerRequest: number;
  readonly signedAheadSeconds: number;
}

const NOTICE = 'Withdrawn quotes can still be filled on chain until they are cancelled there';

/** DELETE /quotes and POST /quotes/restore. */
export function withdrawalRoutes(
  withdrawals: QuoteWithdrawals,
  chainId: string,
  limits: WithdrawalRouteLimits,
): Route[] {
  const checkBody = compile(onChain(withdrawalBody(limits.withdrawalsPerRequest), chainId), limits.schemaErrors);

  function acting(
    carryOut: (request: WithdrawalRequest) => Promise<WithdrawalResult>,
    render: (done: WithdrawalDone) => WithdrawQuotesResult | RestoreQuotesResult,
  ) {
    return async (request: NetRequest): Promise<NetResponse> => {
      const parsed = readJson(request.body, limits.bodyParts);
      if (!parsed.ok) return refuse(request, parsed.code, parsed.error);
      const body = checkBody(parsed.value);
      if (!body.ok) return refuse(request, 'invalid_parameter', body.errors);
      if (body.value.chainId !== chainId) return refuse(request, 'unsupported_chain', chainNotServed(null, chainId));
      const result = await carryOut(toRequest(body.value));
      return result.type === 'DONE' ? json(JSON.stringify(render(result))) : refused(request, result);
    };
  }

  function refused(request: NetRequest, result: Exclude<WithdrawalResult, WithdrawalDone>): NetResponse {
    switch (result.type) {
      case 'BAD_SIGNATURE':
        return refuse(request, 'invalid_signature', 'The provider did not sign this');
      case 'EXPIRED':
        return refuse(request, { code: 'invalid_parameter', param: 'deadline' }, 'The deadline has passed');
      case 'TOO_FAR_AHEAD': {
        const message = `The deadline is more than ${limits.signedAheadSeconds} seconds ahead`;
        return refuse(request, { code: 'invalid_parameter', param: 'deadline' }, message);
      }
      case 'NONCE_SPENT':
        return refuse(request, 'nonce_spent', 'The nonce counts no more');
      case 'TOO_MANY_NONCES':
        return rateLimited(request, result.retryAfterMs);
      case 'NOT_NOW':
        return notNow(request, result.refusal);
    }
  }

  return [
    {
      method: 'DELETE',
      path: '/quotes',
      needsKey: true,
      handle: acting(
        (request) => withdrawals.withdraw(request),
        ({ changed, unchanged, unknown, seq }) => ({
          withdrawn: [...changed],
          unchanged: [...unchanged],
          unknown: [...unknown],
          seq,
          notice: NOTICE,
        }),
      ),
    },
    {
      method: 'POST',
      path: '/quotes/restore',
      needsKey: true,
      handle: acting(
        (request) => withdrawals.restore(request),
        ({ changed, unchanged, unknown, seq }) => ({
          restored: [...changed],
          unchanged: [...unchanged],
          unknown: [...unknown],
          seq,
        }),
      ),
    },
  ];
}

function toRequest({ provider, quoteIds, nonce, deadline, signature }: WithdrawalJson): WithdrawalRequest {
  const { r, s, v } = signature;
  return {
    provider: lower(provider),
    quoteIds: quoteIds.map(lower),
    nonce: BigInt(nonce),
    deadline,
    signature: { r: lower(r), s: lower(s), v },
  };
}
