import type { TSchema } from 'typebox';
import { Option, PoolJson } from '../wire/options.js';
import { OrderbookQuote, PoolKeyJson, PostedQuoteJson, SignatureJson } from '../wire/orderbook.js';
import { KEYWORD_NAMES } from '../wire/primitives.js';
import type { HttpErrorCode } from '../wire/error-codes.js';
import { conceptsMarkdown } from './concepts.js';
import { codeSamples, type Examples, parametersOf, type RecordedCall, type RecordedError } from './examples.js';
import { ErrorBody, Problem, SchemaErrors } from '../wire/problem.js';

/** Documentation of one route of the router's table: what it is for and what it answers. */
export interface RouteDoc {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** False: it answers without an API key. */
  readonly needsKey: boolean;
  /** The key needs this scope. */
  readonly scope?: 'operator';
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  /** Markdown: what a caller has to know that neither the summary nor the schemas say. */
  readonly description: string;
  /** An object schema: one property for each parameter of the path, such as `{quoteId}`. */
  readonly pathParameters?: TSchema;
  /** An object schema: one parameter for each property. */
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** By status; an answer that is no JSON has its media type in place of a schema. */
  readonly answers: Readonly<Record<number, AnswerDoc>>;
}

/** Without any of these an answer has no body. */
export interface AnswerDoc {
  readonly about: string;
  readonly schema?: TSchema;
  /** Several shapes are possible. */
  readonly anyOf?: readonly TSchema[];
  readonly mediaType?: string;
  /** Of an error: the codes that it may have here. */
  readonly codes?: readonly HttpErrorCode[];
}

/** An answer that is an error of one of these codes. */
export function failure(about: string, ...codes: readonly HttpErrorCode[]): AnswerDoc {
  return { about, schema: ErrorBody, codes };
}

/** Further answers of any route with a key. */
const WITH_KEY: RouteDoc['answers'] = {
  401: failure(
    '`API key not provided`, or `NOT_FOUND` for one that is unknown or revoked',
    'api_key_missing',
    'api_key_unknown',
  ),
  429: failure(
    '`RATELIMITED`: over a quota, or too many unknown keys. `Retry-After` says for how long',
    'rate_limited',
  ),
  503: failure('A gateway of a cluster has not read the event of `x-min-seq` yet', 'event_not_reached'),
};

/** Further answers of any route for keys with a scope. */
const WITH_SCOPE: RouteDoc['answers'] = {
  403: failure('The key has no scope `operator`', 'missing_scope'),
};

/** Further answers of any route. */
const ALWAYS: RouteDoc['answers'] = {
  405: failure('No such method here; `Allow` names those there are', 'method_not_allowed'),
  408: failure('The body came too slowly', 'body_timeout'),
  413: failure('The body is too large', 'body_too_large'),
  414: failure('The query string is too long', 'query_too_long'),
  500: failure('A fault of the service; the log has it under the `x-request-id`', 'internal_error'),
};

/** Further answers of any route that reads a body. */
const WITH_BODY: RouteDoc['answers'] = {
  400: failure('The body cannot be read', 'malformed_body'),
  415: failure('The body has a Content-Encoding; `Accept-Encoding` says that none is taken', 'unsupported_encoding'),
  429: failure('Too many connections of one address', 'too_many_connections'),
  503: failure('Too many connections, or too many bodies', 'server_full', 'busy'),
};

/** Further answer of all routes but `/health` while a start waits for its chains. */
const WAITING: RouteDoc['answers'] = {
  503: failure(
    'The service has started and has not reached its chains yet; `Retry-After` says when to ask again',
    'chain_unavailable',
  ),
};

/** Further answer of a route whose answers have an entity tag. */
export const NOT_MODIFIED: AnswerDoc = { about: 'Just what `If-None-Match` names: nothing is sent again' };

/** Wrong parameters: a list of schema errors, or a message. `codes`: those of the route alone. */
export function badRequest(...codes: readonly HttpErrorCode[]): AnswerDoc {
  return {
    about: 'Wrong parameters: what is wrong, the first first, or a message',
    anyOf: [SchemaErrors, ErrorBody],
    codes: ['invalid_parameter', 'malformed_query', 'malformed_request', 'unsupported_chain', ...codes],
  };
}

export const BAD_REQUEST: AnswerDoc = badRequest();

/** Everything that a route may answer, in its own words where it has some, with the codes of all. */
export function answersOf(route: RouteDoc): RouteDoc['answers'] {
  const answers: Record<number, AnswerDoc> = {};
  const sources = [
    ALWAYS,
    ...(route.path === '/health' ? [] : [WAITING]),
    ...(route.needsKey ? [WITH_KEY] : []),
    ...(route.scope === undefined ? [] : [WITH_SCOPE]),
    ...(route.body === undefined ? [] : [WITH_BODY]),
    route.answers,
  ];
  for (const source of sources) {
    for (const [status, answer] of Object.entries(source)) {
      const other = answers[Number(status)];
      const codes = [...(other?.codes ?? []), ...(answer.codes ?? [])];
      const isReplaced = other === undefined || source === route.answers;
      const words = isReplaced ? answer : { ...other, about: `${other.about}. ${answer.about}` };
      answers[Number(status)] = { ...words, ...(codes.length > 0 && { codes: [...new Set(codes)] }) };
    }
  }
  return answers;
}

/** Every shape that an answer may have. */
export function schemasOf({ schema, anyOf = [] }: AnswerDoc): readonly TSchema[] {
  return schema === undefined ? anyOf : [...anyOf, schema];
}

type Json = unknown;

/** Keywords of this program. Other readers reject or ignore them, so the descriptions say the same. */
const OWN_KEYWORDS: ReadonlySet<string> = new Set(KEYWORD_NAMES);

/**
 * Schemas that have a name, written once each: wherever one stands in another, a reference takes its place. They are
 * known by what they say, since the schema library copies some when it nests them.
 */
export class Components {
  readonly #nameOf = new Map<string, string>();
  /** Results of `refer`: most answers of all routes have one of a few schemas. */
  readonly #referred = new Map<TSchema, Json>();
  readonly #schemas: Readonly<Record<string, TSchema>>;

  constructor(schemas: Readonly<Record<string, TSchema>>) {
    this.#schemas = schemas;
    for (const [name, schema] of Object.entries(schemas)) this.#nameOf.set(JSON.stringify(schema), name);
  }

  /** The schema, or a reference where it has a name. */
  refer(schema: TSchema): Json {
    const referred = this.#referred.get(schema) ?? this.#rewrite(JSON.parse(JSON.stringify(schema)), false);
    this.#referred.set(schema, referred);
    return referred;
  }

  /** All of them, by name. */
  definitions(): Record<string, Json> {
    const entries = Object.entries(this.#schemas);
    return Object.fromEntries(
      entries.map(([name, schema]) => [name, this.#rewrite(JSON.parse(JSON.stringify(schema)), true)]),
    );
  }

  #rewrite(value: Json, isDefinition: boolean): Json {
    if (typeof value !== 'object' || value === null) return value;
    const name = isDefinition ? undefined : this.#nameOf.get(JSON.stringify(value));
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
    if (Array.isArray(value)) return value.map((item) => this.#rewrite(item, false));
    const entries = Object.entries(value).filter(([key, item]) => !(OWN_KEYWORDS.has(key) && item === true));
    return Object.fromEntries(entries.map(([key, item]) => [key, this.#rewrite(item, false)]));
  }
}

export interface ApiInfo {
  readonly version: string;
}

/** The program, as both documents describe it. */
export function infoOf({ version }: ApiInfo, description: string): object {
  return {
    title: 'Quotebook',
    version,
    description,
    // The program does not know who runs it.
    contact: { name: 'The operator of this service' },
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  };
}

/** Subject of the routes of each group, in the order that readers see. */
const TAGS = {
  Orderbook: 'Signed quotes: publish, read, withdraw and ask makers for them.',
  'Sign-in': 'Proof that the holder of a key owns an address, so that it may see what is private to it.',
  Options: 'Pools, vaults, oracles and settlement. Options go by the symbols of their tokens.',
  Account: "What accounts hold on the settlement chain, the operator's by default.",
  Trading: "What the operator's wallet trades, for keys with the scope `operator`.",
  Service: 'The service itself; these routes need no key.',
} as const;

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
const AS_OF = {
  'x-quotebook-as-of': {
    schema: { type: 'string' },
    description: 'With asOfSeq, asOfBlock or asOfTime: the state that the answer is of.',
  },
};
const RETRY_AFTER = { 'retry-after': { schema: { type: 'string' }, description: 'Seconds to wait.' } };
const TAGGED = new Set(['200', '304']);
const WITH_RETRY = new Set(['429', '503']);

/** The REST API as OpenAPI 3.1, whose schemas are JSON Schema 2020-12. */
export function openApi(routes: readonly RouteDoc[], info: ApiInfo, examples?: Examples): object {
  const components = new Components({
    OrderbookQuote,
    PostedQuote: PostedQuoteJson,
    PoolKey: PoolKeyJson,
    Signature: SignatureJson,
    Option,
    Pool: PoolJson,
    SchemaErrors,
    Message: ErrorBody,
    Problem,
  });
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, components, examples);
  }
  return {
    openapi: '3.1.0',
    info: infoOf(info, `A real-time orderbook for on-chain options.\n\n${conceptsMarkdown()}`),
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: components.definitions(),
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-apikey' } },
    },
  };
}

function operation(route: RouteDoc, components: Components, examples: Examples | undefined): object {
  const name = `${route.method} ${route.path}`;
  const example = examples?.call(name) ?? null;
  const answers = Object.entries(answersOf(route));
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: route.description,
    tags: [route.tag],
    security: route.needsKey ? [{ apiKey: [] }] : [],
    ...((route.query ?? route.pathParameters) !== undefined && { parameters: parameters(route, components, example) }),
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: components.refer(route.body),
            ...(example?.body !== undefined && { example: example.body }),
          },
        },
      },
    }),
    responses: Object.fromEntries(
      answers.map(([status, answer]) => {
        const error = examples?.error(name, status) ?? null;
        return [status, response(status, answer, route, components, example, error)];
      }),
    ),
    ...(example !== null && { 'x-codeSamples': codeSamples(example, route.needsKey) }),
  };
}

/** A name for programs that are made from the document: `getVaultsQuote` of GET /vaults/quote, `get` of GET /. */
function operationId({ method, path }: RouteDoc): string {
  return method.toLowerCase() + path.replace(/[^a-zA-Z]+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/** Its answers have an entity tag, and need not be sent again. */
function isTagged({ answers }: RouteDoc): boolean {
  return answers[304] !== undefined;
}

function parameters(route: RouteDoc, components: Components, example: RecordedCall | null): object[] {
  const values = example === null ? {} : parametersOf(example);
  const all = [
    ...parametersIn('path', route.pathParameters, components, values),
    ...parametersIn('query', route.query, components, values),
  ];
  return isTagged(route) ? [...all, IF_NONE_MATCH] : all;
}

function parametersIn(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  components: Components,
  values: ReturnType<typeof parametersOf>,
): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, TSchema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: components.refer(property),
    ...(values[name] !== undefined && { example: values[name] }),
  }));
}

function hasParameter({ query }: RouteDoc, name: string): boolean {
  return name in ((query as { readonly properties?: object } | undefined)?.properties ?? {});
}

function response(
  status: string,
  answer: AnswerDoc,
  route: RouteDoc,
  components: Components,
  example: RecordedCall | null,
  error: RecordedError | null,
): object {
  const headers = {
    ...HEADERS,
    ...(route.needsKey && { ...CACHE_CONTROL, ...QUOTA_HEADERS }),
    ...(WITH_RETRY.has(status) && RETRY_AFTER),
    ...(isTagged(route) && TAGGED.has(status) && ETAG),
    ...(hasParameter(route, 'asOfSeq') && status === '200' && AS_OF),
  };
  const hasBody = answer.schema !== undefined || answer.anyOf !== undefined || answer.mediaType !== undefined;
  return {
    description: answer.about,
    headers,
    ...(hasBody && { content: content(status, answer, components, example, error) }),
  };
}

function content(
  status: string,
  answer: AnswerDoc,
  components: Components,
  example: RecordedCall | null,
  error: RecordedError | null,
): object {
  if (answer.mediaType !== undefined) return { [answer.mediaType]: {} };
  const schemas = schemasOf(answer).map((schema) => components.refer(schema));
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  const isError = Number(status) >= 400;
  return {
    'application/json': {
      schema,
      ...(String(example?.status) === status && example?.answer !== undefined && { example: example.answer }),
      ...(error !== null && { example: error.answer }),
    },
    ...(isError && {
      'application/problem+json': {
        schema: problemSchema(answer, components),
        ...(error !== null && { example: error.problem }),
      },
    }),
  };
}

/** Problem details, whose code is one of those that the answer may have. */
function problemSchema({ codes = [] }: AnswerDoc, components: Components): object {
  return { allOf: [components.refer(Problem), { properties: { code: { enum: codes } } }] };
}
