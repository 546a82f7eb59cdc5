import { STATUS_CODES } from 'node:http';
import Type, { type Static } from 'typebox';
import { closed } from './primitives.js';
import type { SchemaError } from './validation.js';

/**
 * Body of an error other than a schema error; `pending`: ids of quotes whose publication is still under way. Routes for
 * options repeat what was wrong in a further member, whose name differs by route.
 */
export const ErrorBody = Type.Object(
  { message: Type.String(), pending: Type.Optional(Type.Array(Type.String())) },
  { description: 'Some routes repeat the input that was wrong in a further member.' },
);
export type ErrorBody = Static<typeof ErrorBody> & Readonly<Record<string, unknown>>;

/** Body of a schema error: what is wrong, the first first. */
export const SchemaErrors = Type.Array(
  closed({
    keyword: Type.String(),
    instancePath: Type.String({ description: 'JSON pointer into the body or the query.' }),
    schemaPath: Type.String(),
    params: Type.Object({}),
    message: Type.String(),
  }),
  { minItems: 1 },
);

/** The same errors as RFC 9457 problem details, for clients that ask for them. */
export const Problem = Type.Object({
  type: Type.Literal('about:blank'),
  title: Type.String({ description: "The status's own phrase." }),
  status: Type.Integer(),
  detail: Type.String(),
  errors: Type.Optional(SchemaErrors),
  pending: Type.Optional(Type.Array(Type.String())),
});
export type Problem = Static<typeof Problem>;

const PROBLEM_JSON = 'application/problem+json';

export interface RenderedError {
  readonly contentType: string;
  readonly body: string;
}

/** `error`: a message, or a list of schema errors. `accept`: the request's Accept header. */
export function renderError(
  status: number,
  error: ErrorBody | readonly SchemaError[],
  accept: string | undefined,
): RenderedError {
  if (!namesProblemJson(accept)) return { contentType: 'application/json', body: JSON.stringify(error) };
  const title = STATUS_CODES[status] ?? String(status);
  const about = isSchemaErrors(error) ? { detail: error[0]?.message ?? title, errors: error } : detailed(error);
  return { contentType: PROBLEM_JSON, body: JSON.stringify({ type: 'about:blank', title, status, ...about }) };
}

/** Members of the error itself cannot take the place of those that the RFC defines. */
function detailed({ message, ...members }: ErrorBody): Record<string, unknown> {
  const others = Object.entries(members).filter(([name]) => !['type', 'title', 'status'].includes(name));
  return { detail: message, ...Object.fromEntries(others) };
}

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
