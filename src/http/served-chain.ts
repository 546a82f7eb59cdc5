import type { SchemaError } from '../schema/explain.js';

/** The error for a settlement chain that exists, but not here: in the words of a schema that allows one alone. */
export function chainNotServed(instancePath: string, served: string): SchemaError[] {
  return [
    {
      keyword: 'enum',
      instancePath,
      schemaPath: '#/properties/chainId/enum',
      params: { allowedValues: [served] },
      message: 'must be equal to one of the allowed values',
    },
  ];
}
