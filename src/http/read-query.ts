import type { NetRequestHead } from '../net/net.js';
import { parseQuery } from '../wire/query.js';
import type { Check, SchemaError } from '../wire/validation.js';

export type ReadQuery<Q> =
  { readonly ok: true; readonly value: Q } | { readonly ok: false; readonly error: string | readonly SchemaError[] };

/** The query string, parsed and checked; `maxPairs`: most parameters that are read. */
export function readQuery<Q>(request: NetRequestHead, check: Check<Q>, maxPairs: number): ReadQuery<Q> {
  const parsed = parseQuery(request.query, { maxPairs });
  if (!parsed.ok) return { ok: false, error: parsed.message };
  const query = check(parsed.value);
  return query.ok ? query : { ok: false, error: query.errors };
}
