import type { IncomingMessage } from 'node:http';
import { plainAddress } from './address.js';
import { badTarget, headFault, wrongVersion } from './head-check.js';
import { LISTS, type NetLimits, type NetRequest, type NetResponse, type RequestHeader } from './net.js';
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
  readonly #authority: string | undefined;

  constructor(incoming: IncomingMessage, proxies: TrustedProxies) {
    const { authority, pathAndQuery } = readTarget(incoming.url ?? '');
    const mark = pathAndQuery.indexOf('?');
    this.method = incoming.method ?? '';
    this.path = mark < 0 ? pathAndQuery : pathAndQuery.slice(0, mark);
    this.query = mark < 0 ? '' : pathAndQuery.slice(mark + 1);
    this.#authority = authority;
    this.#incoming = incoming;
    const peer = plainAddress(incoming.socket.remoteAddress ?? '');
    this.remoteAddress = proxies.clientOf(peer, () => this.header('x-forwarded-for'));
  }

  header(name: RequestHeader): string | undefined {
    if (name === 'host' && this.#authority !== undefined) return this.#authority;
    // Distinct, because node:http joins most repeated headers into one value.
    const values = this.#incoming.headersDistinct[name];
    const value = LISTS.has(name) ? values?.join() : values?.[0];
    return value === '' ? undefined : value;
  }
}

interface Target {
  /** Of a target in absolute form; it counts in place of the header Host (RFC 9112, 3.2.2). */
  readonly authority: string | undefined;
  readonly pathAndQuery: string;
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#@]+)([/?][^#]*)?$/i;

function readTarget(target: string): Target {
  const [, authority, rest = '/'] = target.startsWith('/') ? [] : (ABSOLUTE_FORM.exec(target) ?? []);
  if (authority === undefined) return { authority, pathAndQuery: target };
  return { authority, pathAndQuery: rest.startsWith('/') ? rest : `/${rest}` };
}

/** What node:http lets through and the service refuses; null when there is nothing. */
export function nodeHeadFault(incoming: IncomingMessage, limits: NetLimits): NetResponse | null {
  const { httpVersion, url = '', rawHeaders } = incoming;
  if (httpVersion !== '1.1') return wrongVersion;
  if (!url.startsWith('/') && url !== '*' && !ABSOLUTE_FORM.test(url)) return badTarget;
  return headFault((visit) => {
    for (let i = 0; i < rawHeaders.length; i += 2) visit((rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '');
  }, limits);
}
