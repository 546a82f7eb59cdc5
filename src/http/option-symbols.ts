import type { SchemaError } from '../schema/explain.js';
import type { Option } from '../schema/options.js';

/** Symbols without a token on this chain, in the words of a schema that allows those with one; at most `maxErrors`. */
export function unknownSymbols(
  options: readonly Option[],
  known: readonly string[],
  maxErrors: number,
): readonly SchemaError[] {
  const errors: SchemaError[] = [];
  for (const [index, option] of options.entries()) {
    for (const field of ['base', 'quote'] as const) {
      if (known.includes(option[field])) continue;
      errors.push({
        keyword: 'enum',
        instancePath: `/${index}/${field}`,
        schemaPath: `#/items/properties/${field}/enum`,
        params: { allowedValues: known },
        message: 'must be equal to one of the allowed values',
      });
      if (errors.length >= maxErrors) return errors;
    }
  }
  return errors;
}
