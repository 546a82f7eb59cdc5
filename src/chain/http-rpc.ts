import type { Clock, Random, Rpc } from '../engine/ports.js';
import { isBrokenCall } from './broken-call.js';

/** How patiently a chain's endpoints are asked. */
export interface RpcPatience {
  readonly timeoutMs: number;
  /** Tries of one request, over all endpoints. */
  readonly attempts: number;
  /** First pause between tries; doubles each time, with full jitter. */
  readonly backoffMs: number;
  /** Longest answer that is read; a node that sends more is not to be trusted with our memory. */
  readonly maxAnswerBytes: number;
}

/** The node's own answer: a JSON-RPC error object (EIP-1474 codes). */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  constructor(
    /** NaN where the node gave none. */
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message);
  }
}

/** No endpoint gave an answer: a connection, a timeout, an HTTP status, or something that is not JSON-RPC. */
export class RpcUnreachable extends Error {
  override readonly name = 'RpcUnreachable';
}

/** JSON-RPC errors that another try, perhaps elsewhere, may cure: limits, a node that is behind or broken inside. */
const PASSING_CODES = new Set([-32005, -32603, 429]);

/** Whether the same request may be answered at another time. Some nodes give broken code the number of a fault of their own. */
export function isPassing(error: unknown): boolean {
  return error instanceof RpcError && PASSING_CODES.has(error.code) && !isBrokenCall(error.message);
}

interface Endpoint {
  readonly url: string;
  /** Monotonic milliseconds before which it is left alone: its own Retry-After. */
  restUntilMs: number;
}

/**
 * One chain's JSON-RPC over HTTP. All requests go to one endpoint until it fails, so that a reader sees one node's view
 * of the chain and not a mix of heads; then the next takes over. `onError` is told of each failed try.
 */
export class HttpRpc implements Rpc {
  readonly #endpoints: Endpoint[];
  #current = 0;
  #lastId = 0;

  constructor(
    urls: readonly string[],
    private readonly patience: RpcPatience,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly onError: (error: Error, url: string) => void,
  ) {
    this.#endpoints = urls.map((url) => ({ url, restUntilMs: 0 }));
  }

  async request({ method, params = [] }: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    let failure: Error = new RpcUnreachable('No endpoint is configured');
    for (let attempt = 0; attempt < this.patience.attempts; attempt++) {
      if (attempt > 0) await this.#backOff(attempt);
      const endpoint = await this.#pick();
      try {
        return await this.#ask(endpoint, method, params);
      } catch (error) {
        if (error instanceof RpcError && !isPassing(error)) throw error;
        failure = error as Error;
        this.onError(failure, endpoint.url);
        this.#moveOnFrom(endpoint);
      }
    }
    throw failure;
  }

  preferAnother(): void {
    const endpoint = this.#endpoints[this.#current];
    if (endpoint !== undefined) this.#moveOnFrom(endpoint);
  }

  /** Requests that failed together move on once. */
  #moveOnFrom(endpoint: Endpoint): void {
    this.#current = (this.#endpoints.indexOf(endpoint) + 1) % this.#endpoints.length;
  }

  /** The current endpoint, or the first after it that has not asked for a pause; when all have, the pause is kept. */
  async #pick(): Promise<Endpoint> {
    for (;;) {
      const now = this.clock.monotonicMs();
      const inTurn = this.#endpoints.map((_, step) => this.#endpoints[(this.#current + step) % this.#endpoints.length]);
      const ready = inTurn.find((endpoint) => endpoint !== undefined && endpoint.restUntilMs <= now);
      if (ready !== undefined) return ready;
      const waitMs = Math.min(...this.#endpoints.map(({ restUntilMs }) => restUntilMs)) - now;
      if (!(waitMs <= this.patience.timeoutMs)) throw new RpcUnreachable('Every endpoint has asked for a long pause');
      await this.#pause(waitMs);
    }
  }

  #backOff(attempt: number): Promise<void> {
    return this.#pause(this.patience.backoffMs * 2 ** (attempt - 1) * this.random.unit());
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.after(ms, resolve));
  }

  async #ask(endpoint: Endpoint, method: string, params: unknown): Promise<unknown> {
    const id = ++this.#lastId;
    const abort = new AbortController();
    const cancel = this.clock.after(this.patience.timeoutMs, () => abort.abort());
    try {
      const response = await fetch(endpoint.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        signal: abort.signal,
      });
      if (response.status === 429 || response.status === 503) this.#rest(endpoint, response);
      if (!response.ok && response.status !== 400) {
        await response.body?.cancel();
        throw new RpcUnreachable(`HTTP ${response.status} to ${method}`);
      }
      return readAnswer(await this.#readBounded(response, method), id, method);
    } catch (error) {
      if (error instanceof RpcError || error instanceof RpcUnreachable) throw error;
      throw new RpcUnreachable(`No answer to ${method}`, { cause: error });
    } finally {
      cancel();
    }
  }

  /** `Retry-After` as seconds or as a date (RFC 9110, 10.2.3); at most a minute is believed. A 429 without one: a second. */
  #rest(endpoint: Endpoint, { status, headers }: Response): void {
    const retryAfter = headers.get('retry-after');
    if (retryAfter === null && status !== 429) return;
    const asked = Number(retryAfter ?? 1);
    const seconds = Number.isNaN(asked) ? (Date.parse(retryAfter ?? '') - this.clock.wallMs()) / 1000 : asked;
    endpoint.restUntilMs = this.clock.monotonicMs() + Math.min(Math.max(seconds || 1, 0), 60) * 1000;
  }

  /** Too many logs are the asker's to halve; any other answer of that size is the endpoint's fault. */
  async #readBounded(response: Response, method: string): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += (chunk as Uint8Array).length;
      if (bytes > this.patience.maxAnswerBytes) {
        if (method === 'eth_getLogs') throw new RpcError(-32602, 'query returned more than can be read', null);
        throw new RpcUnreachable(`The answer to ${method} is larger than ${this.patience.maxAnswerBytes} bytes`);
      }
      chunks.push(chunk as Uint8Array);
    }
    return Buffer.concat(chunks).toString('utf8');
  }
}

function readAnswer(text: string, id: number, method: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new RpcUnreachable(`The answer to ${method} is not JSON`);
  }
  if (typeof answer !== 'object' || answer === null) throw new RpcUnreachable(`The answer to ${method} is no object`);
  if ('error' in answer && answer.error !== null && typeof answer.error === 'object') {
    const { code, message, data } = answer.error as { code?: unknown; message?: unknown; data?: unknown };
    throw new RpcError(Number(code), typeof message === 'string' ? message : 'Unknown error', data);
  }
  if (!('result' in answer) || !('id' in answer) || answer.id !== id) {
    throw new RpcUnreachable(`The answer to ${method} is not JSON-RPC`);
  }
  return answer.result;
}
