import type { Order } from '../engine/quote.js';
import { type NetRequestHead, type NetResponse, SharedHeaders } from '../net/net.js';
import { json } from './responses.js';

/**
 * Answers that were given since the last record of the log. Pages and bots ask the same of a pool again and again, and
 * most of the time nothing has happened in between; then looking the answer up takes a tenth of making it. An answer
 * that was asked for only once is not kept: holding on to answers that nobody asks for again costs more than making
 * some of them twice.
 */
export class ResponseCache {
  /** By path and query. */
  readonly #answers = new Map<string, Map<string, TaggedResponse>>();
  /** Queries of whatever path. */
  readonly #askedOnce = new Set<string>();
  #askedOnceBytes = 0;
  readonly #maxBytes: number;
  #bytes = 0;
  #index = -1;
  /** The answer found last: to see that a query is the same takes a twentieth of looking it up, which hashes it. */
  #last: { readonly path: string; readonly query: string; readonly found: TaggedResponse } | null = null;

  /**
   * `maxBytes`: of all answers with their paths and queries; one that does not fit takes the place of all before.
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `path`: one of the service's own. `index`: of the last record. Answers made at another are forgotten. */
  find(path: string, query: string, index: number): TaggedResponse | undefined {
    if (index !== this.#index) {
      this.#clear();
      this.#index = index;
    }
    if (this.#last?.query === query && this.#last.path === path) return this.#last.found;
    const found = this.#answers.get(path)?.get(query);
    if (found !== undefined) this.#last = { path, query, found };
    return found;
  }

  /** After `find` of the same and `index`. */
  keep(path: string, query: string, made: TaggedResponse): void {
    if (!this.#askedOnce.has(query)) {
      this.#note(query);
      return;
    }
    const bytes = path.length + query.length + made.answer.body.length;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#forgetAnswers();
    this.#of(path).set(query, readyAgain(made));
    this.#bytes += bytes;
  }

  /**
   * Takes no more than a share of the room: what outlives a collection of garbage or two costs more than it is worth.
   */
  #note(query: string): void {
    const maxBytes = this.#maxBytes / ASKED_ONCE_SHARE;
    if (this.#askedOnceBytes + query.length > maxBytes) this.#forgetAskedOnce();
    if (query.length > maxBytes) return;
    this.#askedOnce.add(query);
    this.#askedOnceBytes += query.length;
  }

  #of(path: string): Map<string, TaggedResponse> {
    let answers = this.#answers.get(path);
    if (answers === undefined) {
      answers = new Map();
      this.#answers.set(path, answers);
    }
    return answers;
  }

  #clear(): void {
    if (this.#askedOnce.size > 0) this.#forgetAskedOnce();
    if (this.#bytes > 0) this.#forgetAnswers();
  }

  #forgetAskedOnce(): void {
    this.#askedOnce.clear();
    this.#askedOnceBytes = 0;
  }

  #forgetAnswers(): void {
    this.#last = null;
    for (const answers of this.#answers.values()) answers.clear();
    this.#bytes = 0;
  }
}

/** How many times as much room answers have as the queries that were asked once. */
const ASKED_ONCE_SHARE = 16;

interface WrittenList {
  readonly orders: readonly Order[];
  readonly ready: TaggedResponse;
}

/**
 * Answers with lists of orders that were written since the last record of the log. Takers ask for sizes of their own, but what
 * covers them is the same few quotes of a pool again and again. As with `ResponseCache`, what was wanted once is
 * not kept, only what is wanted again.
 */
export class WrittenLists {
  /** By the list's last order, which nearly always tells one list from another; null: wanted once so far. */
  readonly #lists = new Map<Order | undefined, WrittenList | null>();
  readonly #maxBytes: number;
  #bytes = 0;
  #index = -1;

  /** `maxBytes`: of all texts together; one that does not fit takes the place of all before. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `index`: of the last record. Answers written at another are forgotten: orders change in their places. */
  find(orders: readonly Order[], index: number): TaggedResponse | undefined {
    if (index !== this.#index) {
      this.#clear();
      this.#index = index;
    }
    const found = this.#lists.get(orders.at(-1)) ?? undefined;
    return found !== undefined && isSame(found.orders, orders) ? found.ready : undefined;
  }

  /** After `find` of the same. */
  keep(orders: readonly Order[], made: TaggedResponse): void {
    const last = orders.at(-1);
    const isWantedAgain = this.#lists.has(last);
    const bytes = isWantedAgain ? made.answer.body.length : NOTE_BYTES;
    if (bytes > this.#maxBytes) return;
    if (this.#bytes + bytes > this.#maxBytes) this.#clear();
    this.#bytes += bytes;
    this.#lists.set(last, isWantedAgain ? { orders, ready: readyAgain(made) } : null);
  }

  #clear(): void {
    if (this.#bytes === 0) return;
    this.#lists.clear();
    this.#bytes = 0;
  }
}

/** That a list was wanted once, about. */
const NOTE_BYTES = 50;

function isSame(some: readonly Order[], others: readonly Order[]): boolean {
  return some.length === others.length && some.every((order, i) => order === others[i]);
}

/** An answer that may be given again, and its entity tag, wherever that stands among its headers. */
export interface TaggedResponse {
  /** Undefined: it has none. */
  readonly etag: string | undefined;
  readonly answer: NetResponse;
}

/**
 * `shown`: a digest of everything in the body, which makes the strong entity tag; null: the answer is to have none. The
 * request is no part of it: a tag is compared with those of the same URL alone (RFC 9110, 8.8.3).
 */
export function taggedJson(body: string | Uint8Array, shown: string | null): TaggedResponse {
  const answer = json(body);
  if (shown === null) return { etag: undefined, answer };
  const etag = `"${shown}"`;
  return { etag, answer: { ...answer, headers: { ...answer.headers, etag } } };
}

const NO_HEADERS = {};

/** As it goes out: a text would be written as bytes each time, and headers be joined. */
export function readyAgain({ etag, answer }: TaggedResponse): TaggedResponse {
  const { status, headers, shared, body } = answer;
  if (shared !== undefined) return { etag, answer };
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { etag, answer: { status, headers: NO_HEADERS, shared: [new SharedHeaders(headers)], body: bytes } };
}

/** Of a text, in characters that an entity tag may have (RFC 9110, 8.8.3), and always as many. */
export type TextDigest = (text: string) => string;

/** The answer, or 304 without a body when the client has just that (RFC 9110, 13.1.2). */
export function answerConditional(request: NetRequestHead, { etag, answer }: TaggedResponse): NetResponse {
  if (etag === undefined || !isNamed(etag, request.header('if-none-match'))) return answer;
  // A 304 repeats the caching headers of the full answer (RFC 9110, 15.4.5).
  const caching = answer.headers['cache-control'];
  return { status: 304, headers: caching === undefined ? { etag } : { etag, 'cache-control': caching }, body: '' };
}

/** If-None-Match compares weakly: a cache may have marked our tag as weak. */
function isNamed(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
}
