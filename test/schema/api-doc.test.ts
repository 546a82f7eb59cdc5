import { readFileSync } from 'node:fs';
import t from 'tap';
import type { TSchema } from 'typebox';
import { compile } from '../../src/schema/check.js';
import { OrdersResult, PostQuotesResult, QuotesResult } from '../../src/schema/orderbook.js';
import { SchemaErrors } from '../../src/schema/problem.js';

const text = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8');

/** By what stands behind the fence's `json`. */
const schemas: Readonly<Record<string, TSchema>> = {
  'GET /quotes 200': QuotesResult,
  'GET /orders 200': OrdersResult,
  'POST /quotes 200': PostQuotesResult,
  '400': SchemaErrors,
};

t.test('each example of an orderbook answer is what the schemas say', async (t) => {
  for (const [name, schema] of Object.entries(schemas)) {
    const [, example] = new RegExp(`\`\`\`json ${name}\\n([^]*?)\`\`\``).exec(text) ?? [];
    t.strictSame(compile(schema, 5)(JSON.parse(example ?? 'null')).ok, true, name);
  }
});
