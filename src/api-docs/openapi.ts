import type { TSchema } from 'typebox';
import { Option, Pool } from '../wire/options.js';
import { OrderbookQuote, PoolKey, PostedQuote, Signature } from '../wire/orderbook.js';
import { ErrorBody, Problem, SchemaErrors } from '../wire/problem.js';
import { Components } from './components.js';
import { type AnswerDoc, answersOf, type RouteDoc, schemasOf } from './route-doc.js';

export interface ApiInfo {
  readonly version: string;
}

/** Headers that an answer may carry, whatever its route. */
const HEADERS = {
  'x-request-id': { schema: { type: 'string' }, description: 'Finds the request in the log; a client may choose it.' },
  'x-stale': { schema: { type: 'string' }, description: 'Present while the answer may be behind a chain: why.' },
};
const CACHE_CONTROL = {
  'cache-control': {
    schema: { const: 'private, no-cache' },
    description: 'For who asked alone, and asked for each time.',
  },
};
const QUOTA_HEADERS = {
  'ratelimit-policy': {
    schema: { type: 'string' },
    description: 'The quotas of the key (q) and their windows in seconds (w).',
  },
  ratelimit: { schema: { type: 'string' }, description: 'What is left of them (r).' },
};
const ETAG = { etag: { schema: { type: 'string' }, description: 'Of the query and of all that is answered.' } };
const IF_NONE_MATCH = { name: 'if-none-match', in: 'header', required: false, schema: { type: 'string' } };
const RETRY_AFTER = { 'retry-after': { schema: { type: 'string' }, description: 'Seconds to wait.' } };
const TAGGED = new Set(['200', '304']);
const WITH_RETRY = new Set(['429', '503']);

/** The REST API as OpenAPI 3.1, whose schemas are JSON Schema 2020-12. */
export function openApi(routes: readonly RouteDoc[], { version }: ApiInfo): object {
  const components = new Components({
    OrderbookQuote,
    PostedQuote,
    PoolKey,
    Signature,
    Option,
    Pool,
    SchemaErrors,
    Message: ErrorBody,
    Problem,
  });
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, components);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Quotebook', version, description: 'A real-time orderbook for on-chain options.' },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: components.definitions(),
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-apikey' } },
    },
  };
}

function operation(route: RouteDoc, components: Components): object {
  const answers = Object.entries(answersOf(route));
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.tag],
    security: route.needsKey ? [{ apiKey: [] }] : [],
    ...(route.query !== undefined && { parameters: parameters(route, route.query, components) }),
    ...(route.body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: components.refer(route.body) } } },
    }),
    responses: Object.fromEntries(
      answers.map(([status, answer]) => [status, response(status, answer, route, components)]),
    ),
  };
}

/** A name for programs that are made from the document: `getVaultsQuote` of GET /vaults/quote, `get` of GET /. */
function operationId({ method, path }: RouteDoc): string {
  return method.toLowerCase() + path.replace(/[^a-z]+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/** Its answers have an entity tag, and need not be sent again. */
function isTagged({ answers }: RouteDoc): boolean {
  return answers[304] !== undefined;
}

function parameters(route: RouteDoc, query: TSchema, components: Components): object[] {
  const { properties = {}, required = [] } = query as {
    readonly properties?: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  const ofQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: components.refer(schema),
  }));
  return isTagged(route) ? [...ofQuery, IF_NONE_MATCH] : ofQuery;
}

function response(status: string, answer: AnswerDoc, route: RouteDoc, components: Components): object {
  const headers = {
    ...HEADERS,
    ...(route.needsKey && { ...CACHE_CONTROL, ...QUOTA_HEADERS }),
    ...(WITH_RETRY.has(status) && RETRY_AFTER),
    ...(isTagged(route) && TAGGED.has(status) && ETAG),
  };
  const hasBody = answer.schema !== undefined || answer.anyOf !== undefined || answer.mediaType !== undefined;
  return { description: answer.about, headers, ...(hasBody && { content: content(status, answer, components) }) };
}

function content(status: string, answer: AnswerDoc, components: Components): object {
  if (answer.mediaType !== undefined) return { [answer.mediaType]: {} };
  const schemas = schemasOf(answer).map((schema) => components.refer(schema));
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  const isError = Number(status) >= 400;
  return {
    'application/json': { schema },
    ...(isError && { 'application/problem+json': { schema: components.refer(Problem) } }),
  };
}
