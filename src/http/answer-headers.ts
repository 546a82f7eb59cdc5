import { type NetRequestHead, type NetResponse, SharedHeaders } from '../net/net.js';

export interface AnswerHeaderOptions {
  /** Value of `access-control-allow-origin` for whoever asks, one of few; null: none. */
  allowOrigin(request: Pick<NetRequestHead, 'header'>): string | null;
  /** Why what is answered may be behind the chains; null when it is not. `nowMs` is monotonic. */
  staleness(nowMs: number): string | null;
}

/** Headers that a page on another origin may read. */
const CORS_EXPOSED_HEADERS = 'etag, retry-after, ratelimit, ratelimit-policy, x-request-id, x-stale';
/**
 * Of answers that say nothing of caches themselves. A key in `x-apikey` keeps no cache of many users from storing them, as
 * one in `authorization` would (RFC 9111, 3.5), and how long they stay true it might guess (4.2.2).
 */
const FOR_ONE_READER = { 'cache-control': 'private, no-cache' };

/** What goes with answers that say nothing of caches, and with those that do. */
interface ToldReader {
  readonly unsaid: readonly SharedHeaders[];
  readonly said: readonly SharedHeaders[];
}

function toldReader(headers: Readonly<Record<string, string>>): ToldReader {
  return {
    unsaid: [new SharedHeaders({ ...headers, ...FOR_ONE_READER })],
    said: [new SharedHeaders(headers)],
  };
}

/** Where not everybody may read it: a cache may not give a page what another origin, or none, was answered. */
const BY_ORIGIN = toldReader({ vary: 'origin' });

/** What every answer carries: its request's id, who may read and keep it, and whether the chains it tells of are behind. */
export class AnswerHeaders {
  readonly #options: AnswerHeaderOptions;
  readonly #byOrigin = new Map<string, ToldReader>();

  constructor(options: AnswerHeaderOptions) {
    this.#options = options;
  }

  /** `ownHeaders`: more of this answer alone, which becomes the answer's. */
  addTo(
    request: NetRequestHead,
    response: NetResponse,
    nowMs: number,
    requestId: string,
    ownHeaders: string[],
  ): NetResponse {
    ownHeaders.push('x-request-id', requestId);
    const stale = this.#options.staleness(nowMs);
    if (stale !== null) ownHeaders.push('x-stale', stale);
    const { status, headers, shared, body } = response;
    const told = this.#toldReader(request)[headers['cache-control'] === undefined ? 'unsaid' : 'said'];
    return { status, headers, shared: shared === undefined ? told : [...shared, ...told], ownHeaders, body };
  }

  #toldReader(request: NetRequestHead): ToldReader {
    const origin = this.#options.allowOrigin(request);
    if (origin === null) return BY_ORIGIN;
    let known = this.#byOrigin.get(origin);
    if (known === undefined) {
      known = toldReader({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': CORS_EXPOSED_HEADERS,
        ...(origin !== '*' && { vary: 'origin' }),
      });
      this.#byOrigin.set(origin, known);
    }
    return known;
  }
}
