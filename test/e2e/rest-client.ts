import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../src/config/limits.js';
import { untilAnswer } from '../until.js';
import { documentedFetch } from './documented-network.js';

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  // Untyped: each test knows the answer that it expects.
  readonly body: Readonly<Record<string, unknown>>;
}

/** Calls a route with a key, as a client would. */
export class RestClient {
  constructor(
    private readonly httpUrl: string,
    private readonly apiKey: string | null,
  ) {}

  get(pathAndQuery: string, headers: Record<string, string> = {}): Promise<RestAnswer> {
    return this.#call('GET', pathAndQuery, headers, null);
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<RestAnswer> {
    return this.send('POST', path, body, headers);
  }

  send(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<RestAnswer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return this.#call(method, path, { 'content-type': 'application/json', ...headers }, text);
  }

  async #call(method: string, path: string, headers: Record<string, string>, body: string | null): Promise<RestAnswer> {
    const key = this.apiKey === null ? {} : { 'x-apikey': this.apiKey };
    const response = await documentedFetch(this.httpUrl + path, { method, headers: { ...key, ...headers }, body });
    const text = await response.text();
    const answer = (text === '' ? {} : JSON.parse(text)) as never;
    return { status: response.status, headers: response.headers, body: answer };
  }
}

/**
 * Asks until the process that serves knows the key. It looks for new ones every `keyWatchMs`; asked too often with one
 * that it does not know, it would ban the address.
 */
export async function untilKnown(ask: () => Promise<RestAnswer>): Promise<void> {
  await untilAnswer(
    async () => {
      const answer = await ask();
      if (answer.status === 401) await pause(limits.keyWatchMs / 2);
      return answer;
    },
    ({ status }) => status !== 401,
  );
}
