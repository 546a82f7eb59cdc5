import type { NetRequestHead, NetResponse } from '../net/net.js';
import type { TaggedAnswer } from './tagged-answer.js';

/** Of a text, in characters that an entity tag may have (RFC 9110, 8.8.3), and always as many. */
export type TextDigest = (text: string) => string;

/** The answer, or 304 without a body when the client has just that (RFC 9110, 13.1.2). */
export function unlessNamed(request: NetRequestHead, { etag, answer }: TaggedAnswer): NetResponse {
  if (etag === undefined || !isNamed(etag, request.header('if-none-match'))) return answer;
  // What a cache is told of the answer, it is told again (RFC 9110, 15.4.5).
  const caching = answer.headers['cache-control'];
  return { status: 304, headers: caching === undefined ? { etag } : { etag, 'cache-control': caching }, body: '' };
}

/** If-None-Match compares weakly: a cache may have marked our tag as weak. */
function isNamed(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
}
