import type { NetRequestHead, NetResponse } from '../net/net.js';

/** Of a text, in characters that an entity tag may have (RFC 9110, 8.8.3), and always as many. */
export type TextDigest = (text: string) => string;

/** A query that has passed its schema. */
export type Asked = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The query as it counts for the tag. `names`: of all parameters that there can be, in an order that stays. */
export function askedText(path: string, names: readonly string[], query: Asked): string {
  let asked = path;
  // No two queries read the same here: what has passed its schema is words, numbers and hex digits.
  for (const name of names) {
    const value = query[name];
    if (value !== undefined) asked += `&${name}=${String(value)}`;
  }
  return asked.toLowerCase();
}

/** The strong entity tag of what was asked, and of everything that is answered: `shown` is a digest of that. */
export function entityTag(asked: string, shown: string, digest: TextDigest): string {
  return `"${digest(`${asked}\n${shown}`)}"`;
}

/** The answer, or 304 without a body when the client has just that (RFC 9110, 13.1.2). */
export function unlessNamed(
  request: NetRequestHead,
  answer: NetResponse,
  /** Of the answer. */
  etag = answer.headers.etag,
): NetResponse {
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
