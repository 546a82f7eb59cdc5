import type { Static, TSchema } from 'typebox';
import type { NetRequest, NetResponse } from '../net/net.js';
import { NoQuery } from '../wire/options.js';
import { onChain } from '../wire/primitives.js';
import { type Check, compile } from '../wire/validation.js';
import { readAmounts, readBody, type ReadInput, readQuery } from './parse.js';
import { refuse, wrongChain } from './responses.js';
import type { Caller, RouteHandler } from './router.js';

type Answer = NetResponse | Promise<NetResponse>;

/** The form of an input: a schema, or a check where one schema cannot say it. */
export type Form = TSchema | Check<unknown>;
export type Formed<F extends Form> = F extends Check<infer T> ? T : F extends TSchema ? Static<F> : never;

interface InputTerms {
  /** The one chain that an input may name; absent: it names none. */
  readonly chainId?: string;
  readonly limits: { readonly schemaErrors: number };
}

export interface QueryTerms extends InputTerms {
  /** Template of a path whose parameters are checked with the query. */
  readonly path?: string;
  /** Parameters that are lists. */
  readonly lists?: readonly string[];
  readonly limits: InputTerms['limits'] & { readonly queryPairs: number };
}

export interface BodyTerms extends InputTerms {
  /** `bodyParts`: objects, arrays and fields that a body may have. */
  readonly limits: InputTerms['limits'] & { readonly bodyParts: number };
}

/** Hands over a query that has its form and names the chain that is served, and refuses any other. */
export function withQuery<const F extends Form>(
  form: F,
  terms: QueryTerms,
  handle: (request: NetRequest, caller: Caller, query: Formed<F>) => Answer,
): RouteHandler<Caller> {
  const check = checkOf(form, terms);
  const shape = { ...terms, maxPairs: terms.limits.queryPairs };
  return (request, caller) =>
    answered(request, readQuery(request, check, shape), terms, (query) => handle(request, caller, query));
}

/** The same of a body. `C`: what the route is called with. */
export function withBody<const F extends Form, C>(
  form: F,
  terms: BodyTerms,
  handle: (request: NetRequest, caller: C, body: Formed<F>) => Answer,
): RouteHandler<C> {
  const check = checkOf(form, terms);
  return (request, caller) =>
    answered(request, readBody(request, check, terms.limits.bodyParts), terms, (body) => handle(request, caller, body));
}

/** The same of a body whose amounts are JSON numbers, where there may be no query. */
export function withAmounts<const F extends Form>(
  form: F,
  terms: QueryTerms & BodyTerms,
  handle: (request: NetRequest, caller: Caller, body: Formed<F>) => Answer,
): RouteHandler<Caller> {
  const check = checkOf(form, terms);
  return withQuery(NoQuery, terms, (request, caller) =>
    answered(request, readAmounts(request, check, terms.limits.bodyParts), terms, (body) =>
      handle(request, caller, body),
    ),
  );
}

function checkOf<F extends Form>(form: F, { chainId, limits }: InputTerms): Check<Formed<F>> {
  if (typeof form === 'function') return form as Check<Formed<F>>;
  const schema = form;
  return compile(chainId === undefined ? schema : onChain(schema, chainId), limits.schemaErrors) as Check<Formed<F>>;
}

function answered<T>(
  request: NetRequest,
  input: ReadInput<T>,
  { chainId }: InputTerms,
  handle: (value: T) => Answer,
): Answer {
  if (!input.ok) return refuse(request, input.code, input.error);
  const { chainId: named = chainId } = input.value as { readonly chainId?: string };
  if (chainId !== undefined && named !== chainId) return wrongChain(request, chainId);
  return handle(input.value);
}
