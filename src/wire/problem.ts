import Type, { type Static } from 'typebox';
import { ERROR_CODES, errorType, HTTP_ERROR_CODES, type HttpErrorCode } from './error-codes.js';
import { closed } from './primitives.js';
import type { SchemaError } from './validation.js';

/**
 * Body of an error other than a schema error; `pending`: ids of quotes whose publication is still under way. Routes for
 * options repeat what was wrong in a further member, whose name differs by route.
 */
export const ErrorBody = Type.Object(
  { message: Type.String(), pending: Type.Optional(Type.Array(Type.String())) },
  { additionalProperties: true, description: 'Some routes repeat the input that was wrong in a further member.' },
);
export type ErrorBody = Static<typeof ErrorBody> & Readonly<Record<string, unknown>>;

/** Body of a schema error: what is wrong, the first first. */
export const SchemaErrors = Type.Array(
  closed({
    keyword: Type.String(),
    instancePath: Type.String({ description: 'JSON pointer into the body or the query.' }),
    schemaPath: Type.String(),
    params: Type.Object({}, { additionalProperties: true }),
    message: Type.String(),
  }),
  { minItems: 1 },
);

/** The same errors as RFC 9457 problem details, for clients that ask for them. */
export const Problem = Type.Object({
  type: Type.String({ description: 'Where the service explains the code.' }),
  title: Type.String({ description: 'The code in a few words.' }),
  status: Type.Integer(),
  detail: Type.String(),
  code: Type.Enum([...HTTP_ERROR_CODES], { type: 'string' }),
  retryable: Type.Boolean({ description: 'The same request may succeed later.' }),
  param: Type.Optional(
    Type.String({ description: 'The one input at fault: its name, or its place in the body, parted by dots.' }),
  ),
  errors: Type.Optional(SchemaErrors),
  pending: Type.Optional(Type.Array(Type.String())),
});
export type Problem = Static<typeof Problem>;

const PROBLEM_JSON = 'application/problem+json';

/** An error's code for programs. `param`: the one input at fault; that of schema errors is read from them. */
export type ErrorCause = HttpErrorCode | { readonly code: HttpErrorCode; readonly param: string };

export interface RenderedError {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** `error`: a message, or a list of schema errors. `accept`: the request's Accept header. */
export function renderError(
  cause: ErrorCause,
  error: ErrorBody | readonly SchemaError[],
  accept: string | undefined,
): RenderedError {
  const code = typeof cause === 'string' ? cause : cause.code;
  const { status, retryable, title } = ERROR_CODES[code];
  if (!namesProblemJson(accept)) return { status, contentType: 'application/json', body: JSON.stringify(error) };
  const param = typeof cause === 'string' ? paramOf(error) : cause.param;
  const problem = {
    type: errorType(code),
    title,
    status,
    ...(isSchemaErrors(error) ? { detail: error[0]?.message ?? title } : { detail: error.message }),
    code,
    retryable,
    ...(param !== undefined && { param }),
    ...(isSchemaErrors(error) ? { errors: error } : further(error)),
  };
  return { status, contentType: PROBLEM_JSON, body: JSON.stringify(problem) };
}

const OWN_MEMBERS: ReadonlySet<string> = new Set(['message', ...Object.keys(Problem.properties)]);

/** Members of the error itself cannot take the place of those that have a meaning here. */
function further(error: ErrorBody): Record<string, unknown> {
  return Object.fromEntries(Object.entries(error).filter(([name]) => name === 'pending' || !OWN_MEMBERS.has(name)));
}

/** Of the first error: the field that is wrong, missing or not known. Undefined: the whole value is wrong. */
function paramOf(error: ErrorBody | readonly SchemaError[]): string | undefined {
  const first = isSchemaErrors(error) ? error[0] : undefined;
  if (first === undefined) return undefined;
  const { missingProperty, additionalProperty } = first.params;
  const field = missingProperty ?? additionalProperty;
  const path = first.instancePath.split('/').slice(1);
  if (typeof field === 'string') path.push(field.slice(0, PARAM_CHARACTERS));
  return path.length === 0 ? undefined : path.join('.');
}

/** Of a client's unknown field name that an answer repeats. */
const PARAM_CHARACTERS = 40;

function isSchemaErrors(error: ErrorBody | readonly SchemaError[]): error is readonly SchemaError[] {
  return Array.isArray(error);
}

/** Wildcards do not count: plain JSON is what clients of the service expect unless they name the other. */
function namesProblemJson(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === PROBLEM_JSON && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
