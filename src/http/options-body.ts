import type { NetRequest } from '../net/net.js';
import type { Check } from '../schema/check.js';
import type { SchemaError } from '../schema/explain.js';
import { readOption, type OptionTerms } from '../schema/option-json.js';
import type { Option } from '../schema/options.js';
import { readJson } from './json-body.js';
import { unknownSymbols } from './option-symbols.js';

export type OptionsBody =
  /** `options` as posted, `terms` as they are worked with, in the same order. */
  | { readonly ok: true; readonly options: readonly Option[]; readonly terms: readonly OptionTerms[] }
  | { readonly ok: false; readonly errors: readonly SchemaError[] };

/** Reads a body that is a list of options, of tokens that this chain has. */
export function optionsReader(
  check: Check<Option[]>,
  symbols: readonly string[],
  maxErrors: number,
): (request: NetRequest) => OptionsBody {
  return (request) => {
    const parsed = readJson(request.body);
    if (!parsed.ok) return parsed;
    const body = check(parsed.value);
    if (!body.ok) return body;
    const errors = unknownSymbols(body.value, symbols, maxErrors);
    if (errors.length > 0) return { ok: false, errors };
    return { ok: true, options: body.value, terms: body.value.map(readOption) };
  };
}
