import type { HttpRequest, HttpResponse } from 'uws-native';
import { addressText } from '../address.js';
import { LIST_HEADERS, type NetRequest, type RequestHeader, requestHeaders } from '../net.js';
import type { TrustedProxies } from '../trusted-proxies.js';

const NO_BODY = new Uint8Array(0);
/** The library tells methods in lower case. */
const UPPER_CASE = new Map(['GET', 'HEAD', 'POST', 'OPTIONS'].map((method) => [method.toLowerCase(), method]));
/** Names as the library takes them in half of the time: as bytes. */
const NAME_BYTES = Object.fromEntries(
  requestHeaders.map((name) => [name, new TextEncoder().encode(name).buffer]),
) as Record<RequestHeader, ArrayBuffer>;

/**
 * uWebSockets.js lends a request for the time of one callback. Most requests are answered within it, so headers and
 * address are read straight from the library until then, and copied by `detach` only for those that live on.
 */
export class UwsRequest implements NetRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  body: Uint8Array = NO_BODY;
  aborted = false;
  #copied: Map<RequestHeader, string> | null = null;
  #address: string | undefined;
  #req: HttpRequest | null;
  #res: HttpResponse | null;
  readonly #proxies: TrustedProxies;

  /** `method`: when it is known already, since each question to the library costs a tenth of a microsecond. */
  constructor(req: HttpRequest, res: HttpResponse, proxies: TrustedProxies, method?: string) {
    this.method = method ?? upperCase(req.getMethod());
    this.path = req.getUrl();
    // Declared as a string, but undefined when the URL has no `?`.
    this.query = req.getQuery() || '';
    this.#req = req;
    this.#res = res;
    this.#proxies = proxies;
  }

  header(name: RequestHeader): string | undefined {
    if (this.#req === null) return this.#copied?.get(name);
    const value = this.#req.getHeader(NAME_BYTES[name]);
    if (value === '') return undefined;
    return LIST_HEADERS.has(name) ? allOf(this.#req, name) : value;
  }

  get remoteAddress(): string {
    if (this.#address === undefined) {
      if (this.#res === null) return '';
      const peer = addressText(new Uint8Array(this.#res.getRemoteAddress()));
      this.#address = this.#proxies.clientOf(peer, () => this.header('x-forwarded-for'));
    }
    return this.#address;
  }

  /** Copies what may still be asked for. To be called before the library's callback returns. */
  detach(): void {
    if (this.#req === null) return;
    this.#address = this.remoteAddress;
    this.#copied = new Map();
    for (const name of requestHeaders) {
      const value = this.header(name);
      if (value !== undefined) this.#copied.set(name, value);
    }
    this.release();
  }

  /** Lets go of what was lent, once answered: reading it later would throw. */
  release(): void {
    this.#req = null;
    this.#res = null;
  }
}

/** The library gives the first line alone of a header when it is asked by name. */
function allOf(req: HttpRequest, wanted: RequestHeader): string {
  const values: string[] = [];
  req.forEach((name, value) => {
    if (name === wanted) values.push(value);
  });
  return values.join();
}

function upperCase(method: string): string {
  return UPPER_CASE.get(method) ?? method.toUpperCase();
}
