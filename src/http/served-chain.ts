import type { SchemaError } from '../wire/validation.js';

/**
 * The error for a settlement chain that exists, but not here: in the words of a schema that allows one alone. `item`:
 * the place in the array that has it; null: it is in the query.
 */
export function chainNotServed(item: number | null, served: string): SchemaError[] {
  return [
    {
      keyword: 'enum',
      instancePath: item === null ? '/chainId' : `/${item}/chainId`,
      schemaPath: `#${item === null ? '' : '/items'}/properties/chainId/enum`,
      params: { allowedValues: [served] },
      message: 'must be equal to one of the allowed values',
    },
  ];
}
