import { type NetResponse, SharedHeaders } from '../net/net.js';
import { json } from './answer.js';

/** An answer that may be given again, and its entity tag, wherever that stands among its headers. */
export interface TaggedAnswer {
  /** Undefined: it has none. */
  readonly etag: string | undefined;
  readonly answer: NetResponse;
}

/**
 * `shown`: a digest of everything in the body, which makes the strong entity tag; null: the answer is to have none. What
 * was asked is no part of it: a tag is compared with those of the same URL alone (RFC 9110, 8.8.3).
 */
export function taggedJson(body: string | Uint8Array, shown: string | null): TaggedAnswer {
  const answer = json(body);
  if (shown === null) return { etag: undefined, answer };
  const etag = `"${shown}"`;
  return { etag, answer: { ...answer, headers: { ...answer.headers, etag } } };
}

const NO_HEADERS = {};

/** As it goes out: a text would be written as bytes each time, and headers be joined. */
export function readyAgain({ etag, answer }: TaggedAnswer): TaggedAnswer {
  const { status, headers, shared, body } = answer;
  if (shared !== undefined) return { etag, answer };
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { etag, answer: { status, headers: NO_HEADERS, shared: [new SharedHeaders(headers)], body: bytes } };
}
