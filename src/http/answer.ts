import type { NetRequest, NetRequestHead, NetResponse } from '../net/net.js';
import type { PacedWork } from '../system/timers.js';
import { type ErrorBody, renderError } from '../wire/problem.js';
import type { SchemaError } from '../wire/validation.js';

/** Where answers that cost more than a request should are made, one at a time for each key. */
export interface LargeAnswers {
  /** Gives when to retry where too many answers of the key wait already; `make` is not called then. */
  run<T>(
    caller: { readonly id: string; readonly tier: 'free' | 'paid' },
    make: (work: PacedWork) => T | Promise<T>,
  ): Promise<T> | { readonly retryAfterMs: number };
}

/** The answer that `make` gives, or 429. For a client that went away while it waited, nothing is made. */
export function largeAnswer(
  answers: LargeAnswers,
  request: NetRequest,
  caller: Parameters<LargeAnswers['run']>[0],
  make: (work: PacedWork) => NetResponse | Promise<NetResponse>,
): NetResponse | Promise<NetResponse> {
  const made = answers.run(caller, (work) => (request.aborted ? UNREAD : make(work)));
  return 'retryAfterMs' in made ? rateLimited(request, made.retryAfterMs) : made;
}

const NO_HEADERS = {};
const UNREAD: NetResponse = { status: 503, headers: NO_HEADERS, body: '' };
const JSON_HEADERS = { 'content-type': 'application/json' };

/** An answer whose body is JSON already. */
export function json(text: string | Uint8Array, status = 200): NetResponse {
  return { status, headers: JSON_HEADERS, body: text };
}

/** An error with the service's own words, as plain JSON or as RFC 9457 where the client asks for it. */
export function refuse(
  request: NetRequestHead,
  status: number,
  error: string | ErrorBody | readonly SchemaError[],
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): NetResponse {
  const content = typeof error === 'string' ? { message: error } : error;
  const { contentType, body } = renderError(status, content, request.header('accept'));
  return { status, headers: { ...headers, 'content-type': contentType }, body };
}

/** For what may be had at any moment. */
const RETRY_SOON = retryAfter(1000);

/** 503, with when to try again. */
export function unavailable(request: NetRequestHead, message: string): NetResponse {
  return refuse(request, 503, message, RETRY_SOON);
}

/** RFC 6585, 4: over a quota. Existing clients know the word. */
export function rateLimited(request: NetRequestHead, retryAfterMs: number): NetResponse {
  return refuse(request, 429, 'RATELIMITED', retryAfter(retryAfterMs));
}

/** The header, in whole seconds. */
export function retryAfter(ms: number): Record<string, string> {
  return { 'retry-after': String(Math.ceil(ms / 1000)) };
}
