import type { NetRequest } from '../net/net.js';
import { NoQuery, type Option, type OptionTerms, readOption } from '../wire/options.js';
import { type Check, compile, type SchemaError } from '../wire/validation.js';
import { readJson } from './json-body.js';
import { readQuery } from './read-query.js';

export type OptionsBody =
  /** `options` as posted, `terms` as they are worked with, in the same order. */
  | { readonly ok: true; readonly options: readonly Option[]; readonly terms: readonly OptionTerms[] }
  | { readonly ok: false; readonly error: string | readonly SchemaError[] };

export interface OptionsBodyLimits {
  /** Objects, arrays and fields that a body may have. */
  readonly bodyParts: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

/** Reads a request without parameters whose body is a list of options. */
export function optionsReader(
  check: Check<Option[]>,
  { bodyParts, queryPairs, schemaErrors }: OptionsBodyLimits,
): (request: NetRequest) => OptionsBody {
  const checkQuery = compile(NoQuery, schemaErrors);
  return (request) => {
    const query = readQuery(request, checkQuery, queryPairs);
    if (!query.ok) return query;
    const parsed = readJson(request.body, bodyParts);
    if (!parsed.ok) return { ok: false, error: parsed.errors };
    const body = check(parsed.value);
    if (!body.ok) return { ok: false, error: body.errors };
    return { ok: true, options: body.value, terms: body.value.map(readOption) };
  };
}
