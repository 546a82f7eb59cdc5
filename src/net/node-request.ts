import type { IncomingMessage } from 'node:http';
import { plainAddress } from './address.js';
import { LISTS, type NetRequest, type RequestHeader } from './net.js';
import type { TrustedProxies } from './trusted-proxies.js';

const NO_BODY = new Uint8Array(0);

/** A node:http request in the seam's terms. */
export class NodeRequest implements NetRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  body: Uint8Array = NO_BODY;
  aborted = false;
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage, proxies: TrustedProxies) {
    const url = incoming.url ?? '';
    const mark = url.indexOf('?');
    this.method = incoming.method ?? '';
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
    this.#incoming = incoming;
    const peer = plainAddress(incoming.socket.remoteAddress ?? '');
    this.remoteAddress = proxies.clientOf(peer, () => this.header('x-forwarded-for'));
  }

  header(name: RequestHeader): string | undefined {
    // Distinct, because node:http joins most repeated headers into one value.
    const values = this.#incoming.headersDistinct[name];
    const value = LISTS.has(name) ? values?.join() : values?.[0];
    return value === '' ? undefined : value;
  }
}
