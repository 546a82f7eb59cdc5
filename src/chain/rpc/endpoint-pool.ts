/** One URL of a chain. Times are monotonic milliseconds. */
export interface Endpoint {
  readonly url: string;
  /** Left alone until then: its own Retry-After. */
  restUntilMs: number;
  /** It failed, or was behind: not looked at again before. */
  failedUntilMs: number;
  /** How long that was, last time. */
  backoffMs: number;
  /** It took over again then. */
  backSinceMs: number;
  /** Its chain id was checked, and no failure has put that in question since. */
  isOfChain: boolean;
}

/**
 * Longest pause of an endpoint, in multiples of `backoffMs`. One that answers its head and refuses all else looks well
 * each time that it is looked at, and each return to it costs seconds in which nothing is read: so these become rare.
 */
const MAX_BACKOFF_FACTOR = 16;

/**
 * Which endpoint is asked. All requests go to one until it fails, so that a reader sees one node's view of the chain
 * and not a mix of heads; then the next takes over, until one that is preferred to it is well again.
 */
export class EndpointPool {
  readonly #all: readonly Endpoint[];
  #current = 0;
  /** The last request went to this endpoint, which is not the current one while that has asked for a pause. */
  #asked = 0;
  #switches = 0;

  constructor(
    urls: readonly string[],
    /** How long an endpoint that failed is not looked at again, in milliseconds; twice as long when it fails again soon. */
    private readonly backoffMs: number,
  ) {
    const fresh = { restUntilMs: 0, failedUntilMs: 0, backoffMs: 0, backSinceMs: -Infinity, isOfChain: false };
    this.#all = urls.map((url) => ({ url, ...fresh }));
  }

  get current(): Endpoint | undefined {
    return this.#all[this.#current];
  }

  /** Identifies the current one among all. */
  get currentNumber(): number {
    return this.#current;
  }

  /** Grows whenever requests go to another endpoint, also back to an earlier one. */
  get switches(): number {
    return this.#switches;
  }

  /** The current one, or the first after it that has not asked for a pause; undefined when all have. */
  ready(nowMs: number): Endpoint | undefined {
    const inTurn = [...this.#all.slice(this.#current), ...this.#all.slice(0, this.#current)];
    const ready = inTurn.find(({ restUntilMs }) => restUntilMs <= nowMs);
    const place = ready === undefined ? this.#asked : this.#all.indexOf(ready);
    if (place !== this.#asked) this.#switches += 1;
    this.#asked = place;
    return ready;
  }

  /** The next after the current one that has not failed lately; else the current one. */
  another(nowMs: number): Endpoint | undefined {
    const others = [...this.#all.slice(this.#current + 1), ...this.#all.slice(0, this.#current)];
    const isReady = ({ restUntilMs, failedUntilMs }: Endpoint): boolean =>
      Math.max(restUntilMs, failedUntilMs) <= nowMs;
    return others.find(isReady) ?? this.current;
  }

  /** How long until one of them may be asked; Infinity without endpoints. */
  pauseMs(nowMs: number): number {
    return Math.min(...this.#all.map(({ restUntilMs }) => restUntilMs)) - nowMs;
  }

  /** Requests that failed together move on once. */
  moveOnFrom(endpoint: Endpoint, nowMs: number): void {
    if (nowMs >= endpoint.failedUntilMs) {
      const isSoon = nowMs - endpoint.backSinceMs <= endpoint.backoffMs;
      endpoint.backoffMs = isSoon
        ? Math.min(2 * endpoint.backoffMs, MAX_BACKOFF_FACTOR * this.backoffMs)
        : this.backoffMs;
    }
    endpoint.failedUntilMs = nowMs + endpoint.backoffMs;
    this.#use((this.#all.indexOf(endpoint) + 1) % this.#all.length);
  }

  /** One that is preferred to the current one and may be well again; undefined if none needs a probe now. */
  toProbe(nowMs: number): Endpoint | undefined {
    const preferred = this.#all.slice(0, this.#current);
    return preferred.find(({ restUntilMs, failedUntilMs }) => Math.max(restUntilMs, failedUntilMs) <= nowMs);
  }

  /** It still fails. */
  markFailed(endpoint: Endpoint, nowMs: number): void {
    endpoint.failedUntilMs = nowMs + this.backoffMs;
  }

  /** It is well. Does nothing when a better one has been found meanwhile. */
  returnTo(endpoint: Endpoint, nowMs: number): void {
    endpoint.backSinceMs = nowMs;
    this.#use(Math.min(this.#current, this.#all.indexOf(endpoint)));
  }

  #use(place: number): void {
    if (place !== this.#current) this.#switches += 1;
    this.#current = place;
  }
}
