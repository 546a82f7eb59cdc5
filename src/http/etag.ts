import type { NetRequestHead, NetResponse } from '../net/net.js';

/** Digest of a text and of the body behind it, in characters that an entity tag may have (RFC 9110, 8.8.3). */
export type BodyDigest = (text: string, body: string | Uint8Array) => string;

/** The answer with its strong entity tag, made of what was asked and of everything that is answered. */
export function tagged(path: string, query: object, answer: NetResponse, digest: BodyDigest): NetResponse {
  let asked = path;
  // No two queries read the same here: what has passed its schema is words, numbers and hex digits.
  for (const [name, value] of Object.entries(query as Record<string, unknown>).sort(byName))
    asked += `&${name}=${String(value)}`;
  const etag = `"${digest(`${asked.toLowerCase()}\n`, answer.body)}"`;
  return { ...answer, headers: { ...answer.headers, etag } };
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** The answer, or 304 without a body when the client has just that (RFC 9110, 13.1.2). */
export function unlessNamed(
  request: NetRequestHead,
  answer: NetResponse,
  /** Of the answer. */
  etag = answer.headers.etag,
): NetResponse {
  if (etag === undefined || !isNamed(etag, request.header('if-none-match'))) return answer;
  return { status: 304, headers: { etag }, body: '' };
}

/** If-None-Match compares weakly: a cache may have marked our tag as weak. */
export function isNamed(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
}
