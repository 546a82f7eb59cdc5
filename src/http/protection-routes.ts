import type { TakerAccess } from '../auth/taker-access.js';
import type { Authorization, FillLimit } from '../engine/protections.js';
import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { ConnectionTimers } from '../protection/open-connections.js';
import type { ProtectionResult, QuoteProtections } from '../protection/quote-protection.js';
import { noPoolText } from '../wire/primitives.js';
import {
  AuthorizationBody,
  type AuthorizationsResult,
  DisconnectBody,
  FillLimitBody,
  FillLimitsQuery,
  type FillLimitsResult,
  HeartbeatBody,
  RevocationBody,
  type TimerResult,
} from '../wire/protections.js';
import { type Form, type Formed, withBody, withQuery } from './checked-input.js';
import { type ConsentFields, consentOf, consentRefused, partlySigned } from './consent.js';
import { lower } from './parse.js';
import { json, notNow, refuse } from './responses.js';
import type { Caller, Route, RouteHandler } from './router.js';

/** Authorizations and fill limits in force. */
interface ProtectionState {
  authorization(provider: Hex, owner: string): Authorization | undefined;
  authorizationsTo(owner: string): Iterable<Authorization>;
  limitsOf(provider: Hex): Iterable<FillLimit>;
}

export interface ProtectionRouteParts {
  readonly protections: QuoteProtections;
  readonly connections: ConnectionTimers;
  readonly state: ProtectionState;
  readonly whenDurable: () => Promise<void> | null;
  readonly takers: TakerAccess;
  readonly chainId: string;
  readonly limits: {
    readonly bodyParts: number;
    readonly schemaErrors: number;
    readonly queryPairs: number;
    readonly timerMinSeconds: number;
    readonly timerMaxSeconds: number;
    readonly fillWindowSeconds: number;
  };
}

/** POST, GET and DELETE /authorizations, POST /heartbeat, POST and GET /fill_limits; `socketOnly`: what sockets add. */
export function protectionRoutes(parts: ProtectionRouteParts): {
  readonly routes: Route[];
  readonly socketOnly: Route[];
} {
  const authorizations = { path: '/authorizations', needsKey: true } as const;
  const fillLimits = { path: '/fill_limits', needsKey: true } as const;
  return {
    routes: [
      { ...authorizations, method: 'POST', handle: authorizing(parts) },
      { ...authorizations, method: 'DELETE', handle: revoking(parts) },
      { ...authorizations, method: 'GET', handle: listingAuthorizations(parts) },
      { method: 'POST', path: '/heartbeat', needsKey: true, handle: beating(parts) },
      { ...fillLimits, method: 'POST', handle: limiting(parts) },
      { ...fillLimits, method: 'GET', handle: listingLimits(parts) },
    ],
    socketOnly: [{ method: 'POST', path: CANCEL_ON_DISCONNECT, needsKey: true, handle: followingConnection(parts) }],
  };
}

/** Reads the body, and renders what `carryOut` comes to. */
function acting<const F extends Form>(
  parts: ProtectionRouteParts,
  form: F,
  carryOut: (body: Formed<F>, provider: Hex, caller: Caller, request: NetRequest) => Promise<ProtectionResult>,
  render: (provider: Hex, caller: Caller, body: Formed<F>) => unknown,
  secondsParam?: string & keyof Formed<F>,
): RouteHandler<Caller> {
  return withBody(form, parts, async (request, caller: Caller, body) => {
    const signed = body as ConsentFields & { readonly provider: string };
    const partly = partlySigned(request, signed);
    if (partly !== null) return partly;
    const provider = lower(signed.provider);
    const result = await carryOut(body, provider, caller, request);
    return result.type === 'DONE'
      ? json(JSON.stringify(render(provider, caller, body)))
      : refused(request, caller, result, parts.limits, secondsParam);
  });
}

function refused(
  request: NetRequest,
  caller: Caller,
  result: Exclude<ProtectionResult, { readonly type: 'DONE' }>,
  { timerMinSeconds, timerMaxSeconds, fillWindowSeconds }: ProtectionRouteParts['limits'],
  secondsParam = '',
): NetResponse {
  switch (result.type) {
    case 'INVALID_SECONDS': {
      const message = `Timers are 0, or ${timerMinSeconds} to ${timerMaxSeconds} seconds; windows 1 to ${fillWindowSeconds}`;
      return refuse(request, { code: 'invalid_parameter', param: secondsParam }, message);
    }
    case 'NO_POOL':
      return refuse(request, { code: 'pool_not_deployed', param: 'poolAddress' }, noPoolText('that address'));
    case 'TOO_MANY':
      return refuse(request, 'too_many_protections', 'Too many are in force');
    case 'NOT_NOW':
      return notNow(request, result.refusal);
    default: {
      const tooFarAhead = 'The deadline is too far ahead';
      return consentRefused(request, result, { notAuthorized: notAuthorizedText(caller), tooFarAhead });
    }
  }
}

/** POST /authorizations. */
function authorizing(parts: ProtectionRouteParts): RouteHandler<Caller> {
  const { protections, state, takers } = parts;
  return acting(
    parts,
    AuthorizationBody,
    (body, provider, caller) =>
      protections.ask({ type: 'AUTHORIZE', provider, keyId: caller.id, consent: consentOf(body, caller, takers) }),
    (_, caller) => authorizationsJson(state, caller),
  );
}

/** DELETE /authorizations. */
function revoking(parts: ProtectionRouteParts): RouteHandler<Caller> {
  const { protections, state, takers } = parts;
  return acting(
    parts,
    RevocationBody,
    async (body, provider, caller) => {
      const { keyId = caller.id } = body;
      const consent = consentOf(body, caller, takers);
      // Without the provider's consent a key may give up its own authorisation only.
      if (consent === null && keyId !== caller.id) return { type: 'NOT_AUTHORIZED' };
      return protections.ask({ type: 'REVOKE', provider, keyId, askedBy: caller.id, consent });
    },
    (_, caller) => authorizationsJson(state, caller),
  );
}

/** GET /authorizations. */
function listingAuthorizations({ state, whenDurable }: ProtectionRouteParts): RouteHandler<Caller> {
  return async (_, caller) => {
    const text = JSON.stringify(authorizationsJson(state, caller));
    await whenDurable();
    return json(text);
  };
}

/** POST /heartbeat. */
function beating(parts: ProtectionRouteParts): RouteHandler<Caller> {
  const { protections, state } = parts;
  return acting(
    parts,
    HeartbeatBody,
    ({ timeoutSeconds: seconds }, provider, { id: keyId }) =>
      protections.ask({ type: 'TIMER', kind: 'HEARTBEAT', provider, keyId, seconds }),
    (provider, caller, { timeoutSeconds }) => timerJson(state, provider, caller, timeoutSeconds),
    'timeoutSeconds',
  );
}

/** CANCEL_ON_DISCONNECT. */
function followingConnection(parts: ProtectionRouteParts): RouteHandler<Caller> {
  const { connections, state } = parts;
  return acting(
    parts,
    DisconnectBody,
    ({ graceSeconds }, provider, caller, request) =>
      connections.follow(caller.id, provider, graceSeconds, () => request.aborted),
    (provider, caller, { graceSeconds }) => timerJson(state, provider, caller, graceSeconds),
    'graceSeconds',
  );
}

/** POST /fill_limits. */
function limiting(parts: ProtectionRouteParts): RouteHandler<Caller> {
  const { protections, state, takers } = parts;
  return acting(
    parts,
    FillLimitBody,
    (body, provider, caller) => {
      const { contracts, fills, windowSeconds: seconds, poolAddress } = body;
      const bounds = { contracts: BigInt(contracts), fills, seconds };
      return protections.ask({
        type: 'FILL_LIMIT',
        provider,
        keyId: caller.id,
        poolAddress: lower(poolAddress),
        bounds: bounds.contracts === 0n && fills === 0 ? null : bounds,
        consent: consentOf(body, caller, takers),
      });
    },
    (provider) => fillLimitsJson(state, provider),
    'windowSeconds',
  );
}

/** GET /fill_limits. */
function listingLimits(parts: ProtectionRouteParts): RouteHandler<Caller> {
  const { state, takers, whenDurable } = parts;
  return withQuery(FillLimitsQuery, parts, async (request, caller, query) => {
    const provider = lower(query.provider);
    // A taker who knew the limits could fill up to them.
    const isOwn = state.authorization(provider, caller.id) !== undefined || takers.hasProven(caller, provider);
    if (!isOwn) return refuse(request, 'provider_not_authorized', notAuthorizedText(caller));
    const text = JSON.stringify(fillLimitsJson(state, provider));
    await whenDurable();
    return json(text);
  });
}

function authorizationsJson(state: ProtectionState, { id: keyId }: Caller): AuthorizationsResult {
  const authorizations = Array.from(state.authorizationsTo(keyId), ({ provider, until, timers }) => ({
    provider,
    until,
    heartbeatSeconds: timers.HEARTBEAT,
    disconnectSeconds: timers.CONNECTION,
  }));
  return { keyId, authorizations };
}

function timerJson(state: ProtectionState, provider: Hex, caller: Caller, seconds: number): TimerResult {
  return { provider, seconds, authorizedUntil: state.authorization(provider, caller.id)?.until ?? 0 };
}

function fillLimitsJson(state: ProtectionState, provider: Hex): FillLimitsResult {
  const fillLimits = Array.from(state.limitsOf(provider), ({ poolAddress, bounds }) => ({
    poolAddress,
    contracts: bounds.contracts.toString(),
    fills: bounds.fills,
    windowSeconds: bounds.seconds,
  }));
  return { provider, fillLimits: fillLimits.sort((a, b) => (a.poolAddress < b.poolAddress ? -1 : 1)) };
}

/** In place of a path where a call is of sockets alone. */
export const CANCEL_ON_DISCONNECT = 'CANCEL_ON_DISCONNECT';

function notAuthorizedText({ id }: Caller): string {
  return `The provider has not authorised key ${id}`;
}
