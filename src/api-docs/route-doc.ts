import type { TSchema } from 'typebox';
import { ErrorBody, SchemaErrors } from '../wire/problem.js';

/** What is told of one route: the router's table says that it exists, this what it is for and what it answers. */
export interface RouteDoc {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** False: it answers without an API key. */
  readonly needsKey: boolean;
  /** Groups routes for readers. */
  readonly tag: string;
  readonly summary: string;
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
}

/** What any route with a key may answer besides. */
const WITH_KEY: RouteDoc['answers'] = {
  401: { about: '`API key not provided`, or `NOT_FOUND` for one that is unknown or revoked', schema: ErrorBody },
  429: {
    about:
      '`RATELIMITED`: over a quota, or too many unknown keys; or the wallet has spent its cap. `Retry-After` says for how long',
    schema: ErrorBody,
  },
};

/** What any route may answer besides. */
const ALWAYS: RouteDoc['answers'] = {
  405: { about: 'No such method here; `Allow` names those there are', schema: ErrorBody },
  408: { about: 'The body came too slowly', schema: ErrorBody },
  413: { about: 'The body is too large', schema: ErrorBody },
  414: { about: 'The query string is too long', schema: ErrorBody },
  500: { about: 'A fault of the service; the log has it under the `x-request-id`', schema: ErrorBody },
};

/** What any route that reads a body may answer besides. */
const WITH_BODY: RouteDoc['answers'] = {
  415: { about: 'The body has a Content-Encoding; `Accept-Encoding` says that none is taken', schema: ErrorBody },
};

/** What any route may answer while a start waits for its chains, but the one that says that the process lives. */
const WAITING: RouteDoc['answers'] = {
  503: {
    about: 'The service has started and has not reached its chains yet; `Retry-After` says when to ask again',
    schema: ErrorBody,
  },
};

/** What a route whose answers have an entity tag may answer. */
export const NOT_MODIFIED: AnswerDoc = { about: 'Just what `If-None-Match` names: nothing is sent again' };

/** Wrong parameters: a list of schema errors, or a message. */
export const BAD_REQUEST: AnswerDoc = {
  about: 'Wrong parameters: what is wrong, the first first, or a message',
  anyOf: [SchemaErrors, ErrorBody],
};

/** Everything that a route may answer, its own words first. */
export function answersOf(route: RouteDoc): RouteDoc['answers'] {
  return {
    ...ALWAYS,
    ...(route.path === '/health' ? {} : WAITING),
    ...(route.needsKey ? WITH_KEY : {}),
    ...(route.body === undefined ? {} : WITH_BODY),
    ...route.answers,
  };
}

/** Every shape that an answer may have. */
export function schemasOf({ schema, anyOf = [] }: AnswerDoc): readonly TSchema[] {
  return schema === undefined ? anyOf : [...anyOf, schema];
}
