import type { TakerAccess } from '../auth/taker-access.js';
import type { Hex, PoolKey } from '../engine/quote.js';
import { ZERO_ADDRESS } from '../engine/quote.js';
import { type RfqState, takerOf } from '../engine/rfq-store.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { RfqDesk, RfqLegRequest, RfqRefusal } from '../rfq/rfq-desk.js';
import { rfqCompetition, rfqCover, rfqJson, type RfqJsonParts } from '../rfq/rfq-json.js';
import { rowsChargedForPassingOver } from '../system/paced-work.js';
import { readPoolKey } from '../wire/readable.js';
import { PostRfqBody, RfqCompetitionQuery, RfqIdPath, type RfqsPage, RfqsQuery, type RfqsResult } from '../wire/rfq.js';
import { closed } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import { withBody, withQuery } from './checked-input.js';
import type { CoverQueries } from './cover-route.js';
import { lower, pageLimit, pathParameters } from './parse.js';
import {
  json,
  largeAnswer,
  type LargeAnswerRunner,
  notNow,
  rateLimited,
  refuse,
  takerRefusal,
  unavailable,
} from './responses.js';
import type { Caller, Route, RouteHandler } from './router.js';

export interface RfqRouteParts extends RfqJsonParts {
  readonly rfqs: {
    get(rfqId: string): RfqState | undefined;
    /** Oldest first. */
    all(): Iterable<RfqState>;
  };
  readonly desk: Pick<RfqDesk, 'open' | 'cancel'>;
  poolAddressOf(poolKey: PoolKey): Promise<Hex | 'IMPOSSIBLE' | 'UNAVAILABLE'>;
  readonly covers: Pick<CoverQueries, 'at' | 'cover'>;
  readonly takers: TakerAccess;
  /** Takes so many requests of the key's quota. Returns 0, or for how many milliseconds there will be none. */
  takeRfqs(caller: Caller, count: number): number;
  readonly whenDurable: () => Promise<void> | null;
  readonly chainId: string;
  readonly answers: LargeAnswerRunner;
  readonly limits: {
    readonly bodyParts: number;
    readonly queryPairs: number;
    readonly schemaErrors: number;
  };
}

const PATH = '/rfqs/{rfqId}';
const COVER = '/rfqs/{rfqId}/cover';
const COMPETITION = '/rfqs/{rfqId}/competition';

/** POST /rfqs, GET /rfqs, DELETE /rfqs/{rfqId}, GET /rfqs/{rfqId}/cover and GET /rfqs/{rfqId}/competition. */
export function rfqRoutes(parts: RfqRouteParts): Route[] {
  return [
    { method: 'POST', path: '/rfqs', needsKey: true, handle: opening(parts) },
    { method: 'GET', path: '/rfqs', needsKey: true, handle: listing(parts) },
    { method: 'DELETE', path: PATH, needsKey: true, handle: cancelling(parts) },
    { method: 'GET', path: COVER, needsKey: true, handle: covering(parts) },
    { method: 'GET', path: COMPETITION, needsKey: true, handle: ranking(parts) },
  ];
}

/** POST /rfqs. */
function opening(parts: RfqRouteParts): RouteHandler<Caller> {
  const { rfqs, desk, takers } = parts;
  return withBody(PostRfqBody, parts, async (request, caller: Caller, body) => {
    const taker = lower(body.taker);
    if (taker === ZERO_ADDRESS) {
      return refuse(request, { code: 'invalid_parameter', param: 'taker' }, 'taker must not be the zero address');
    }
    const refusal = takerRefusal(request, takers, caller, taker);
    if (refusal !== null) return refusal;
    const seen = body.anonymous === true ? ZERO_ADDRESS : body.taker;
    const legs: RfqLegRequest[] = [];
    for (const [place, leg] of body.legs.entries()) {
      const asked = await readLeg(parts, leg, place, seen);
      if ('code' in asked && asked.code === 'chain_unavailable') return unavailable(request, asked.code, asked.message);
      if ('code' in asked) return refuse(request, { code: asked.code, param: asked.param }, asked.message);
      legs.push(asked);
    }
    const waitMs = parts.takeRfqs(caller, legs.length);
    if (waitMs > 0) return rateLimited(request, waitMs);
    const opened = await desk.open({
      owner: caller.id,
      clientId: body.clientId ?? null,
      minQuotes: body.minQuotes ?? 1,
      makers: (body.makers ?? []).map(lower),
      validUntil: body.validUntil ?? null,
      taker: lower(seen),
      hiddenTaker: body.anonymous === true ? taker : null,
      legs,
    });
    if (opened.type === 'REFUSED') return refused(request, opened.why);
    const states = opened.rfqIds.flatMap((rfqId) => rfqs.get(rfqId) ?? []);
    return json(JSON.stringify(resultOf(parts, states)), opened.isNew ? 201 : 200);
  });
}

/** GET /rfqs. */
function listing(parts: RfqRouteParts): RouteHandler<Caller> {
  return withQuery(RfqsQuery, parts, (request, caller, query) =>
    largeAnswer(parts.answers, request, caller, async (work) => {
      const all = [...parts.rfqs.all()];
      const text = JSON.stringify(pageOf(parts, all.reverse(), query, caller));
      work.charge(rowsChargedForPassingOver(all.length), text.length);
      await parts.whenDurable();
      return json(text);
    }),
  );
}

/** `newest`: first. */
function pageOf(parts: RfqRouteParts, newest: readonly RfqState[], query: RfqsQuery, caller: Caller): RfqsPage {
  const limit = pageLimit(query.limit);
  const place = query.cursor === undefined ? -1 : newest.findIndex(({ terms }) => terms.rfqId === query.cursor);
  // A cursor whose request is no longer kept was older than all that are.
  const rest = query.cursor !== undefined && place < 0 ? [] : newest.slice(place + 1);
  const found: RfqState[] = [];
  for (const state of rest) {
    if (isShown(parts.takers, state, caller) && matches(state, query)) found.push(state);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  const next = found.length > limit ? (shown.at(-1)?.terms.rfqId ?? null) : null;
  return { next, ...resultOf(parts, shown) };
}

/** DELETE /rfqs/{rfqId}. */
function cancelling(parts: RfqRouteParts): RouteHandler<Caller> {
  const checkPath = compile(RfqIdPath, parts.limits.schemaErrors);
  return async (request, caller) => {
    const path = checkPath(pathParameters(PATH, request.path));
    if (!path.ok) return refuse(request, 'invalid_parameter', path.errors);
    const { rfqId } = path.value;
    if (ofKey(parts, caller, rfqId).length === 0) return unknownRfq(request, rfqId);
    const outcome = await parts.desk.cancel(caller.id, rfqId);
    if (outcome === 'NOT_FOUND') return unknownRfq(request, rfqId);
    if (outcome !== 'OK') return notNow(request, outcome);
    return json(JSON.stringify(resultOf(parts, ofKey(parts, caller, rfqId))));
  };
}

/** GET /rfqs/{rfqId}/cover. */
function covering(parts: RfqRouteParts): RouteHandler<Caller> {
  const { covers, answers, whenDurable } = parts;
  const checkPath = compile(RfqIdPath, parts.limits.schemaErrors);
  return (request, caller) => {
    const path = checkPath(pathParameters(COVER, request.path));
    if (!path.ok) return refuse(request, 'invalid_parameter', path.errors);
    const states = ofKey(parts, caller, path.value.rfqId);
    if (states.length === 0) return unknownRfq(request, path.value.rfqId);
    return largeAnswer(answers, request, caller, async (work) => {
      let rows = 0;
      const answer = rfqCover(states, covers.at().seq, (about) => {
        const found = covers.cover({ ...about, provider: null });
        rows += found.legs.length;
        return found;
      });
      const text = JSON.stringify(answer);
      work.charge(rows, text.length);
      await whenDurable();
      return json(text);
    });
  };
}

/** GET /rfqs/{rfqId}/competition. */
function ranking({ rfqs, takers, whenDurable, limits }: RfqRouteParts): RouteHandler<Caller> {
  const schema = closed({ ...RfqIdPath.properties, ...RfqCompetitionQuery.properties });
  return withQuery(schema, { path: COMPETITION, limits }, async (request, caller, query) => {
    const provider = lower(query.provider);
    // Ranks are each maker's own, also among keys that see every taker.
    if (takers.privacy === 'proven' && !takers.hasProven(caller, provider)) {
      const message = 'This key has not proven the address of the provider: sign in with it';
      return refuse(request, { code: 'taker_not_proven', param: 'provider' }, message);
    }
    const state = rfqs.get(query.rfqId);
    const isFor = state !== undefined && (state.terms.makers.length === 0 || state.terms.makers.includes(provider));
    if (!isFor) return unknownRfq(request, query.rfqId);
    const standing = rfqCompetition(state, provider);
    // A maker that answers the request knows of it; to others it is its taker's.
    if (standing.rank === null && !takers.maySee(caller, takerOf(state))) {
      return unknownRfq(request, query.rfqId);
    }
    const text = JSON.stringify(standing);
    await whenDurable();
    return json(text);
  });
}

function resultOf(parts: RfqJsonParts, states: readonly RfqState[]): RfqsResult {
  return { rfqs: states.map((state) => rfqJson(state, parts)) };
}

/** The key's request, or all legs of its package. */
function ofKey({ rfqs, takers }: RfqRouteParts, caller: Caller, id: string): RfqState[] {
  return [...rfqs.all()].filter(
    (state) => isShown(takers, state, caller) && (state.terms.rfqId === id || state.terms.leg?.packageId === id),
  );
}

/** A key's sessions may be of several takers. */
function isShown(takers: TakerAccess, state: RfqState, caller: Caller): boolean {
  return state.terms.owner === caller.id && takers.maySee(caller, takerOf(state));
}

/** Why a leg cannot be asked for. */
interface LegRefusal {
  readonly code: 'invalid_parameter' | 'invalid_pool_key' | 'chain_unavailable';
  readonly param: string;
  readonly message: string;
}

/** With the pool's address, and in the words that makers get. */
async function readLeg(
  parts: Pick<RfqRouteParts, 'poolAddressOf' | 'chainId'>,
  { poolKey, poolAddress, side, size }: PostRfqBody['legs'][number],
  place: number,
  taker: Hex,
): Promise<RfqLegRequest | LegRefusal> {
  const where = `legs/${place}`;
  const param = `legs.${place}`;
  if ((poolKey === undefined) === (poolAddress === undefined)) {
    return { code: 'invalid_parameter', param, message: `${where} must have either poolKey or poolAddress` };
  }
  if (BigInt(size) === 0n) {
    return { code: 'invalid_parameter', param: `${param}.size`, message: `${where}/size must be > 0` };
  }
  const rest = { side, chainId: parts.chainId, size, taker };
  if (poolKey === undefined) {
    const address = lower(poolAddress ?? ZERO_ADDRESS);
    return { poolAddress: address, side, size: BigInt(size), body: JSON.stringify({ poolAddress, ...rest }) };
  }
  const key = { ...poolKey, maturity: Number(poolKey.maturity) };
  const address = await parts.poolAddressOf(readPoolKey(key));
  if (address === 'IMPOSSIBLE')
    return { code: 'invalid_pool_key', param: `${param}.poolKey`, message: `${where}: no pool can have this key` };
  if (address === 'UNAVAILABLE')
    return { code: 'chain_unavailable', param, message: `${where}: the chain does not answer` };
  return { poolAddress: address, side, size: BigInt(size), body: JSON.stringify({ poolKey: key, ...rest }) };
}

function matches(state: RfqState, { status, poolAddress, side, taker, packageId, clientId }: RfqsQuery): boolean {
  const { rfq, terms, progress } = state;
  if (status !== undefined && progress.status !== status) return false;
  if (poolAddress !== undefined && rfq.poolAddress !== lower(poolAddress)) return false;
  if (side !== undefined && rfq.side !== side) return false;
  if (taker !== undefined && takerOf(state) !== lower(taker)) return false;
  if (packageId !== undefined && terms.leg?.packageId !== packageId) return false;
  return clientId === undefined || terms.clientId === clientId;
}

function unknownRfq(request: NetRequest, rfqId: string): NetResponse {
  return refuse(request, 'unknown_rfq', `There is no request ${rfqId} for this key`);
}

function refused(request: NetRequest, why: RfqRefusal): NetResponse {
  switch (why) {
    case 'STORAGE_FULL':
    case 'BUSY':
      return notNow(request, why);
    case 'TOO_MANY':
      return rateLimited(request, RETRY_MS);
    case 'TOO_MANY_OF_KEY':
      return refuse(request, 'too_many_live_rfqs', 'Too many requests of this key are live');
    case 'INVALID_END':
      return refuse(
        request,
        { code: 'invalid_parameter', param: 'validUntil' },
        'validUntil is past, or too far ahead',
      );
    case 'CLIENT_ID_USED':
      return refuse(request, 'client_id_used', 'Another live request of this key has the same clientId');
  }
}

const RETRY_MS = 1000;
