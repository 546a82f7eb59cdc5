import type { NetRequestHead, NetResponse } from '../net/net.js';
import { SharedHeaders } from '../net/shared-headers.js';

export interface AnswerHeaderOptions {
  /** Value of `access-control-allow-origin` for whoever asks, one of few; null: none. */
  allowOrigin(request: Pick<NetRequestHead, 'header'>): string | null;
  /** Why what is answered may be behind the chains; null when it is not. `nowMs` is monotonic. */
  staleness(nowMs: number): string | null;
}

/** Headers that a page on another origin may read. */
const CORS_EXPOSED_HEADERS = 'etag, retry-after, ratelimit, ratelimit-policy, x-request-id, x-stale';
/** Where not everybody may read it: a cache may not give a page what another origin, or none, was answered. */
const BY_ORIGIN: readonly SharedHeaders[] = [new SharedHeaders({ vary: 'origin' })];

/** What every answer carries: its request's id, who may read it, and whether the chains it tells of are behind. */
export class AnswerHeaders {
  readonly #options: AnswerHeaderOptions;
  readonly #byOrigin = new Map<string, readonly SharedHeaders[]>();

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
    const readers = this.#readers(request);
    return { status, headers, shared: shared === undefined ? readers : [...shared, ...readers], ownHeaders, body };
  }

  #readers(request: NetRequestHead): readonly SharedHeaders[] {
    const origin = this.#options.allowOrigin(request);
    if (origin === null) return BY_ORIGIN;
    let known = this.#byOrigin.get(origin);
    if (known === undefined) {
      known = [
        new SharedHeaders({
          'access-control-allow-origin': origin,
          'access-control-expose-headers': CORS_EXPOSED_HEADERS,
          ...(origin !== '*' && { vary: 'origin' }),
        }),
      ];
      this.#byOrigin.set(origin, known);
    }
    return known;
  }
}
