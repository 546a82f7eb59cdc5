import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { addressText } from './address.js';
import { requestHeaders, type NetRequest, type RequestHeader } from './net.js';

const none = new Uint8Array(0);

/**
 * uWebSockets.js lends a request for the time of one callback. Most requests are answered within it, so headers and
 * address are read straight from the library until then, and copied by `detach` only for those that live on.
 */
export class UwsRequest implements NetRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  body: Uint8Array = none;
  aborted = false;
  #copied: Map<RequestHeader, string> | null = null;
  #address: string | undefined;
  #lent: { readonly req: HttpRequest; readonly res: HttpResponse } | null;

  constructor(req: HttpRequest, res: HttpResponse) {
    this.method = req.getMethod().toUpperCase();
    this.path = req.getUrl();
    // Declared as a string, but undefined when the URL has no `?`.
    this.query = req.getQuery() || '';
    this.#lent = { req, res };
  }

  header(name: RequestHeader): string | undefined {
    const value = this.#lent === null ? this.#copied?.get(name) : this.#lent.req.getHeader(name);
    return value === '' ? undefined : value;
  }

  get remoteAddress(): string {
    if (this.#address === undefined) {
      if (this.#lent === null) return '';
      this.#address = addressText(new Uint8Array(this.#lent.res.getRemoteAddress()));
    }
    return this.#address;
  }

  /** Copies what may still be asked for. To be called before the library's callback returns. */
  detach(): void {
    if (this.#lent === null) return;
    this.#address = this.remoteAddress;
    this.#copied = new Map();
    for (const name of requestHeaders) {
      const value = this.#lent.req.getHeader(name);
      if (value !== '') this.#copied.set(name, value);
    }
    this.#lent = null;
  }

  /** Lets go of what was lent, once answered: reading it later would throw. */
  release(): void {
    this.#lent = null;
  }
}
