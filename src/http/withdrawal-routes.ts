import type { TakerAccess } from '../auth/taker-access.js';
import type { Hex, Order } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type {
  QuoteWithdrawals,
  WithdrawalDone,
  WithdrawalRequest,
  WithdrawalResult,
} from '../protection/quote-withdrawals.js';
import { rowsChargedForPassingOver } from '../system/paced-work.js';
import { onChain } from '../wire/primitives.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { type Check, compile } from '../wire/validation.js';
import {
  type RestoreQuotesResult,
  WithdrawAllBody,
  type WithdrawAllJson,
  withdrawalBody,
  type WithdrawalJson,
  WithdrawnQuotesQuery,
  type WithdrawQuotesResult,
} from '../wire/withdrawals.js';
import { withBody, withQuery } from './checked-input.js';
import { consentOf, consentRefused, partlySigned } from './consent.js';
import { lower, lowerOrNull, pageLimit } from './parse.js';
import { json, largeAnswer, type LargeAnswerRunner, notNow } from './responses.js';
import type { Caller, Route } from './router.js';

export interface WithdrawalRouteLimits {
  readonly bodyParts: number;
  readonly schemaErrors: number;
  readonly queryPairs: number;
  readonly withdrawalsPerRequest: number;
  readonly signedAheadSeconds: number;
}

const NOTICE = 'Withdrawn quotes can still be filled on chain until they are cancelled there';

export interface WithdrawalRouteParts {
  readonly withdrawals: QuoteWithdrawals;
  /** All that are known of the provider. */
  ordersOf(provider: Hex): Iterable<Order>;
  whenDurable(): Promise<void> | null;
  readonly quoteJson: QuoteJson;
  readonly answers: LargeAnswerRunner;
  readonly takers: TakerAccess;
  readonly chainId: string;
  readonly limits: WithdrawalRouteLimits;
}

/** DELETE /quotes, POST /quotes/restore and GET /quotes/withdrawn. */
export function withdrawalRoutes(parts: WithdrawalRouteParts): Route[] {
  const { withdrawals, chainId, limits, takers } = parts;
  const checkBody = compile(onChain(withdrawalBody(limits.withdrawalsPerRequest), chainId), limits.schemaErrors);
  const checkAll = compile(onChain(WithdrawAllBody, chainId), limits.schemaErrors);
  const checkEither: Check<WithdrawalJson | WithdrawAllJson> = (body) =>
    typeof body === 'object' && body !== null && 'all' in body ? checkAll(body) : checkBody(body);

  function acting(
    check: Check<WithdrawalJson | WithdrawAllJson>,
    carryOut: (request: WithdrawalRequest) => Promise<WithdrawalResult>,
    render: (done: WithdrawalDone) => WithdrawQuotesResult | RestoreQuotesResult,
  ) {
    return withBody(check, { chainId, limits }, async (request, caller: Caller, body) => {
      const partly = 'all' in body ? null : partlySigned(request, body);
      if (partly !== null) return partly;
      const consent = consentOf(body, caller, takers);
      const quoteIds = 'all' in body ? { ofPool: lowerOrNull(body.poolAddress) } : body.quoteIds.map(lower);
      const result = await carryOut({ provider: lower(body.provider), askedBy: caller.id, quoteIds, consent });
      return result.type === 'DONE' ? json(JSON.stringify(render(result))) : refused(request, caller, result);
    });
  }

  function refused(
    request: NetRequest,
    caller: Caller,
    result: Exclude<WithdrawalResult, WithdrawalDone>,
  ): NetResponse {
    if (result.type === 'NOT_NOW') return notNow(request, result.refusal);
    return consentRefused(request, result, {
      notAuthorized: `The provider signed nothing, and key ${caller.id} has not proven its address`,
      tooFarAhead: `The deadline is more than ${limits.signedAheadSeconds} seconds ahead`,
    });
  }

  const list = withQuery(WithdrawnQuotesQuery, { chainId, limits }, (request, caller, query) =>
    largeAnswer(parts.answers, request, caller, async (work) => {
      const known = [...parts.ordersOf(lower(query.provider))];
      const { page, next } = pageOf(
        known.filter(({ quote }) => takers.maySeeQuote(caller, quote)),
        query,
      );
      const rows = page.map((order) => parts.quoteJson.encode(order));
      const text = `{"next":${JSON.stringify(next)},"quotes":[${rows.join(',')}]}`;
      work.charge(rows.length + rowsChargedForPassingOver(known.length), text.length);
      await parts.whenDurable();
      return json(text);
    }),
  );

  return [
    { method: 'GET', path: '/quotes/withdrawn', needsKey: true, handle: list },
    {
      method: 'DELETE',
      path: '/quotes',
      needsKey: true,
      handle: acting(
        checkEither,
        (request) => withdrawals.withdraw(request),
        ({ changed, unchanged, unknown, seq, more }) => ({
          withdrawn: [...changed],
          unchanged: [...unchanged],
          unknown: [...unknown],
          seq,
          notice: NOTICE,
          ...(more !== undefined && { more }),
        }),
      ),
    },
    {
      method: 'POST',
      path: '/quotes/restore',
      needsKey: true,
      handle: acting(
        checkBody,
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

/** By id: the order in which pages follow each other whatever is withdrawn or restored meanwhile. */
function pageOf(
  known: readonly Order[],
  { poolAddress, cursor, limit }: WithdrawnQuotesQuery,
): { readonly page: readonly Order[]; readonly next: Hex | null } {
  const pool = lowerOrNull(poolAddress);
  const after = cursor === undefined ? '' : lower(cursor);
  const found = known
    .filter(({ state, quote }) => state === 'withdrawn' && (pool === null || quote.pool.poolAddress === pool))
    .filter(({ quote }) => quote.quoteId > after)
    .sort((a, b) => (a.quote.quoteId < b.quote.quoteId ? -1 : 1));
  const page = found.slice(0, pageLimit(limit));
  return { page, next: found.length > page.length ? (page.at(-1)?.quote.quoteId ?? null) : null };
}
