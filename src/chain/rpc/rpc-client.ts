import type { Clock, Random } from '../../engine/ports.js';
import { backoff, pause } from '../../system/timers.js';
import { type Endpoint, EndpointPool } from './endpoint-pool.js';
import { ResponseTooLarge, type HttpResponse, type PostLimits, postJson } from './http-transport.js';
import { isTransient, RETURN_TOO_LONG, RpcError, RpcUnreachable, WrongChain } from './rpc-errors.js';
import { isRangeTooLarge, readResponse, rangeErrorIn } from './rpc-response.js';

/**
 * JSON-RPC of one chain, as in EIP-1193: resolves to `result`, rejects with an error that has `code` where the node
 * gave one.
 */
export interface Rpc {
  request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** One try at another node than the one that answers `request`, or at this one where there is no other. */
  requestFromAnother?(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** The node that answers is behind: ask another one from now on, where there is one. */
  preferAnother?(): void;
  /**
   * Grows whenever requests go to another endpoint, also back to an earlier one: what two of them said may be of
   * different branches.
   */
  readonly switches?: number;
}

/** How patiently a chain's endpoints are asked. */
export interface RpcOptions {
  readonly timeoutMs: number;
  /** Tries of one request, over all endpoints. */
  readonly attempts: number;
  /** First pause between tries; doubles each time, with full jitter. */
  readonly backoffMs: number;
  /** How long after its failure a preferred endpoint is looked at again. */
  readonly returnAfterMs: number;
  /** Longest answer that is read; a node that sends more is not to be trusted with our memory. */
  readonly maxAnswerBytes: number;
  /** Of its objects, arrays, fields and items: megabytes of the smallest would block the event loop. */
  readonly maxAnswerParts: number;
  /** The same of `eth_getLogs`. */
  readonly maxLogsAnswerBytes: number;
  readonly maxLogsAnswerParts: number;
  /** Of those to `eth_call`, where what is read may be anybody's code. */
  readonly maxCallAnswerBytes: number;
}

/**
 * One chain's JSON-RPC over HTTP, from one of several endpoints at a time. Whether a better one than the current is
 * well again is looked at beside the requests, so that none of them waits for it. `onError` is called for each failed try, `onAnswer` for each
 * answer.
 */
export class HttpRpc implements Rpc {
  readonly #endpoints: EndpointPool;
  #isLooking = false;
  #lastId = 0;

  constructor(
    urls: readonly string[],
    /** Endpoints of another chain are not asked. */
    private readonly chainId: number,
    private readonly options: RpcOptions,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly onError: (error: Error, url: string) => void,
    private readonly onAnswer: (url: string) => void = () => undefined,
  ) {
    this.#endpoints = new EndpointPool(urls, options.returnAfterMs);
  }

  /** Number of the endpoint that is asked now, from 0. */
  get endpoint(): number {
    return this.#endpoints.currentNumber;
  }

  get switches(): number {
    return this.#endpoints.switches;
  }

  async request({ method, params = [] }: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    let failure: Error = new RpcUnreachable('No endpoint is configured');
    for (let attempt = 0; attempt < this.options.attempts; attempt++) {
      if (attempt > 0) await pause(this.clock, backoff(this.options, attempt, this.random));
      const endpoint = await this.#pick();
      this.#lookAtPreferred();
      try {
        if (!endpoint.isOfChain) await this.#checkChain(endpoint);
        const answer = await this.#ask(endpoint, method, params);
        this.onAnswer(endpoint.url);
        return answer;
      } catch (error) {
        if (error instanceof RpcError && (!isTransient(error) || isRangeTooLarge(method, error))) throw error;
        failure = error as Error;
        this.onError(failure, endpoint.url);
        this.#endpoints.moveOnFrom(endpoint, this.clock.monotonicMs());
      }
    }
    throw failure;
  }

  async requestFromAnother(args: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    const endpoint = this.#endpoints.another(this.clock.monotonicMs());
    if (endpoint === undefined) throw new RpcUnreachable('No endpoint is configured');
    try {
      if (!endpoint.isOfChain) await this.#checkChain(endpoint);
      return await this.#ask(endpoint, args.method, args.params ?? []);
    } catch (error) {
      this.onError(error as Error, endpoint.url);
      throw error;
    }
  }

  /** Behind a balancer, what looks like a node that is behind may be one of another chain: it is asked again for that. */
  preferAnother(): void {
    const { current } = this.#endpoints;
    if (current === undefined) return;
    current.isOfChain = false;
    this.#endpoints.moveOnFrom(current, this.clock.monotonicMs());
  }

  /** When every endpoint has asked for a pause, the shortest is kept. */
  async #pick(): Promise<Endpoint> {
    for (;;) {
      const now = this.clock.monotonicMs();
      const ready = this.#endpoints.ready(now);
      if (ready !== undefined) return ready;
      const waitMs = this.#endpoints.pauseMs(now);
      if (!(waitMs <= this.options.timeoutMs)) throw new RpcUnreachable('Every endpoint has asked for a long pause');
      await pause(this.clock, waitMs);
    }
  }

  /** One look at a time, at one endpoint. */
  #lookAtPreferred(): void {
    const { current } = this.#endpoints;
    const preferred = this.#endpoints.toProbe(this.clock.monotonicMs());
    if (this.#isLooking || current === undefined || preferred === undefined) return;
    this.#isLooking = true;
    void this.#isWell(preferred, current)
      .then((isWell) => {
        if (isWell) this.#endpoints.returnTo(preferred, this.clock.monotonicMs());
        else this.#endpoints.markFailed(preferred, this.clock.monotonicMs());
      })
      .finally(() => (this.#isLooking = false));
  }

  /** It answers, and its head is not behind that of the one in use. */
  async #isWell(endpoint: Endpoint, current: Endpoint): Promise<boolean> {
    try {
      await this.#checkChain(endpoint);
      const usual = await this.#ask(current, 'eth_blockNumber', []);
      return Number(await this.#ask(endpoint, 'eth_blockNumber', [])) >= Number(usual);
    } catch {
      return false;
    }
  }

  async #checkChain(endpoint: Endpoint): Promise<void> {
    endpoint.isOfChain = false; // until it says so: it may have been moved to another chain
    const answer = await this.#ask(endpoint, 'eth_chainId', []);
    const chainId = typeof answer === 'string' || typeof answer === 'number' ? Number(answer) : NaN;
    // Says nothing of the chain; another try may.
    if (!(chainId > 0)) throw new RpcUnreachable('The answer to eth_chainId is no number');
    if (chainId !== this.chainId) throw new WrongChain(`An endpoint is of chain ${chainId}, not of ${this.chainId}`);
    endpoint.isOfChain = true;
  }

  async #ask(endpoint: Endpoint, method: string, params: unknown): Promise<unknown> {
    const id = ++this.#lastId;
    const json = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    const answer = await this.#post(endpoint.url, json, method);
    const { status } = answer;
    if (status === 429 || status === 503) this.#rest(endpoint, answer);
    if ((status < 200 || status > 299) && status !== 400) {
      throw rangeErrorIn(answer.text, method) ?? new RpcUnreachable(`HTTP ${status} to ${method}`);
    }
    return readResponse(answer.text, id, method);
  }

  #limitsOf(method: string): PostLimits {
    const { options } = this;
    if (method === 'eth_call') return { ...options, maxAnswerBytes: options.maxCallAnswerBytes };
    if (method !== 'eth_getLogs') return options;
    return { ...options, maxAnswerBytes: options.maxLogsAnswerBytes, maxAnswerParts: options.maxLogsAnswerParts };
  }

  /** Too many logs are the asker's to halve, and what code returns is its own: else so long an answer is the endpoint's. */
  async #post(url: string, json: string, method: string): Promise<HttpResponse> {
    try {
      return await postJson(url, json, this.#limitsOf(method), this.clock);
    } catch (error) {
      const tooLong = error instanceof ResponseTooLarge;
      if (tooLong && method === 'eth_call') throw new RpcError(-32000, RETURN_TOO_LONG, null);
      if (tooLong && method === 'eth_getLogs') throw new RpcError(-32602, 'query returned more than can be read', null);
      throw new RpcUnreachable(`No answer to ${method}`, { cause: error });
    }
  }

  /**
   * `Retry-After` as seconds or as a date (RFC 9110, 10.2.3); at most a minute is believed. A 429 without one: a
   * second.
   */
  #rest(endpoint: Endpoint, { status, retryAfter }: HttpResponse): void {
    if (retryAfter === null && status !== 429) return;
    const asked = Number(retryAfter ?? 1);
    const seconds = Number.isNaN(asked) ? (Date.parse(retryAfter ?? '') - this.clock.wallMs()) / 1000 : asked;
    endpoint.restUntilMs = this.clock.monotonicMs() + Math.min(Math.max(seconds || 1, 0), 60) * 1000;
  }
}
