import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetRequestHead } from '../net/net.js';
import { parseQuery, type QueryShape } from '../wire/query.js';
import { isExactNumber } from '../wire/primitives.js';
import type { Check, SchemaError } from '../wire/validation.js';

export type JsonBody = { readonly ok: true; readonly value: unknown } | BadInput<'malformed_body'>;

/** Why a query or a body is refused, with the error's code. */
export interface BadInput<Code = 'invalid_parameter' | 'malformed_body' | 'malformed_query'> {
  readonly ok: false;
  readonly code: Code;
  readonly error: string | readonly SchemaError[];
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as JSON (RFC 8259: UTF-8) of limited size. `maxParts`: most objects, arrays and fields in it, since parsing a
 * megabyte of the smallest of them would block the event loop.
 */
export function readJson(body: Uint8Array, maxParts: number): JsonBody {
  if (body.length > maxParts && hasMoreParts(body, maxParts)) {
    const message = `must NOT have more than ${maxParts} objects, arrays and fields`;
    return refused('maxParts', { limit: maxParts }, message);
  }
  try {
    return { ok: true, value: JSON.parse(utf8.decode(body)) };
  } catch {
    return refused('json', {}, 'must be JSON');
  }
}

export type ReadInput<T> = { readonly ok: true; readonly value: T } | BadInput;

/** The body, parsed and checked; `maxParts` as for `readJson`. */
export function readBody<T>({ body }: Pick<NetRequest, 'body'>, check: Check<T>, maxParts: number): ReadInput<T> {
  const parsed = readJson(body, maxParts);
  if (!parsed.ok) return parsed;
  const checked = check(parsed.value);
  return checked.ok ? checked : { ok: false, code: 'invalid_parameter', error: checked.errors };
}

/** Of a number that a refusal repeats. */
const NUMBER_CHARACTERS = 80;

/**
 * The body of a route whose amounts are JSON numbers, checked. `JSON.parse` rounds a number that has more digits than a
 * double holds, so such a body is refused: the amount would be another than the client wrote.
 */
export function readAmounts<T>(request: Pick<NetRequest, 'body'>, check: Check<T>, maxParts: number): ReadInput<T> {
  const body = readBody(request, check, maxParts);
  if (!body.ok) return body;
  const inexact = numbersIn(utf8.decode(request.body)).find((number) => !isExactNumber(number));
  if (inexact === undefined) return body;
  const number = inexact.slice(0, NUMBER_CHARACTERS);
  const message = `must NOT have numbers with more digits than a double holds: ${number} would be ${Number(inexact)}`;
  return { ok: false, code: 'invalid_parameter', error: [ofBody('exactNumber', { number }, message)] };
}

/** As they are written in a text that is JSON. */
function numbersIn(json: string): string[] {
  // Texts are matched only to be skipped: there may be digits in them.
  return (json.match(/"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g) ?? []).filter((token) => !token.startsWith('"'));
}

function refused(...error: Parameters<typeof ofBody>): JsonBody {
  return { ok: false, code: 'malformed_body', error: [ofBody(...error)] };
}

/** An error in the body as a whole. */
function ofBody(keyword: string, params: SchemaError['params'], message: string): SchemaError {
  return { keyword, instancePath: '', schemaPath: '#', params, message };
}

const BRACE = 0x7b;
const BRACKET = 0x5b;
const COLON = 0x3a;

/**
 * By the characters that each begins with or has: within a text they count, too, but in no text of ours there are any.
 * By index: an iterator takes 5 ms for a thousand quotes, and this takes 1.
 */
function hasMoreParts(body: Uint8Array, maxParts: number): boolean {
  let parts = 0;
  for (let i = 0; i < body.length && parts <= maxParts; i++) {
    const byte = body[i];
    if (byte === COLON || byte === BRACE || byte === BRACKET) parts++;
  }
  return parts > maxParts;
}

/** Values in `path` of the parameters of a template such as `/quotes/{quoteId}/history`; null: no match. */
export function pathParameters(template: string, path: string): Readonly<Record<string, string>> | null {
  const [wanted, given] = [template.split('/'), path.split('/')];
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [place, part] of wanted.entries()) {
    const text = given[place] ?? '';
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== text : text === '') return null;
    if (name !== undefined) found[name] = text;
  }
  return found;
}

/** The query string, parsed and checked. `path`: template of a path whose parameters are checked with it. */
export function readQuery<Q>(
  request: NetRequestHead,
  check: Check<Q>,
  { path, ...shape }: QueryShape & { readonly path?: string },
): ReadInput<Q> {
  const parsed = parseQuery(request.query, shape);
  if (!parsed.ok) return { ok: false, code: 'malformed_query', error: parsed.message };
  const query = check({ ...parsed.value, ...(path !== undefined && pathParameters(path, request.path)) });
  return query.ok ? query : { ok: false, code: 'invalid_parameter', error: query.errors };
}

const DEFAULT_PAGE = 100;

/** Most rows of a page: what the query names in `limit`, or 100. */
export function pageLimit(limit: string | undefined): number {
  return limit === undefined ? DEFAULT_PAGE : Number(limit);
}

/** Addresses and ids are taken in any letter case and kept in lower case. */
export function lower(text: string): Hex {
  return text.toLowerCase() as Hex;
}

/** Null where the request names none. */
export function lowerOrNull(text: string | undefined): Hex | null {
  return text === undefined ? null : lower(text);
}
