import type { IncomingMessage } from 'node:http';
import { plainAddress } from './address.js';
import type { NetRequest, RequestHeader } from './net.js';

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

  constructor(incoming: IncomingMessage) {
    const url = incoming.url ?? '';
    const mark = url.indexOf('?');
    this.method = incoming.method ?? '';
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.query = mark < 0 ? '' : url.slice(mark + 1);
    this.remoteAddress = plainAddress(incoming.socket.remoteAddress ?? '');
    this.#incoming = incoming;
  }

  header(name: RequestHeader): string | undefined {
    // Distinct, because node:http joins most repeated headers into one value.
    const values = this.#incoming.headersDistinct[name];
    const value = name === 'sec-websocket-protocol' ? values?.join() : values?.[0];
    return value === '' ? undefined : value;
  }
}
