import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { plainAddress } from '../address.js';
import type { Capacity } from '../capacity.js';
import { type DrainTracker, refusalOfBody, refusalOfHead } from '../handlers.js';
import { badTarget, headFault, wrongVersion } from '../head-check.js';
import {
  BODILESS_METHODS,
  type BodyFault,
  internalError,
  LIST_HEADERS,
  type NetLimits,
  type NetOptions,
  type NetRefusal,
  type NetRequest,
  type NetResponse,
  type RequestHeader,
  SMALL_PIECE_BYTES,
  validateResponse,
} from '../net.js';
import type { TrustedProxies } from '../trusted-proxies.js';
import type { UnfinishedAnswers } from '../unfinished-answers.js';

/** State that the exchanges of one server share. */
export interface NodeExchangeHost {
  readonly options: NetOptions;
  /** No more requests are wanted: every answer closes its connection. */
  readonly stopping: boolean;
  readonly underWay: DrainTracker;
  readonly proxies: TrustedProxies;
  readonly bodies: Capacity;
  readonly answers: UnfinishedAnswers;
  /** No more requests of this connection are to be looked at. */
  ignoreNext(socket: Socket): void;
  /** The connection is a WebSocket from now on. */
  discount(socket: Socket): void;
}

/** A shorter answer is with the kernel in no time, and costs little memory if it is not. */
const KERNEL_TAKES = 16 << 10;

/** One request and its answer on node:http. */
export class NodeExchange {
  readonly #incoming: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #request: NodeRequest;
  readonly #host: NodeExchangeHost;
  #answered = false;
  #ended = false;
  /** The kernel has all of the answer. The finish event alone says so of a connection that broke, too. */
  #taken = false;
  /** Bytes of the body that are in memory. */
  #heldBytes = 0;
  #smallPieces = 0;
  #deadline: NodeJS.Timeout | undefined;

  constructor(incoming: IncomingMessage, res: ServerResponse, host: NodeExchangeHost) {
    this.#incoming = incoming;
    this.#res = res;
    this.#request = new NodeRequest(incoming, host.proxies);
    this.#host = host;
    host.underWay.began();
    res.on('finish', () => (this.#taken = !incoming.socket.destroyed));
    res.on('close', () => this.end());
    // The response's close event reports a broken connection; an 'error' event without a listener would throw.
    incoming.on('error', () => undefined);
    res.on('error', () => undefined);
  }

  get answered(): boolean {
    return this.#answered;
  }

  /** `awaitsContinue`: the client sends its body only when told to (RFC 9110 section 10.1.1). */
  serve(awaitsContinue: boolean): void {
    if (!BODILESS_METHODS.has(this.#request.method)) {
      this.#collect(awaitsContinue);
      return;
    }
    if (this.#hasBody()) this.#discard();
    else this.#incoming.resume();
    void this.#handle();
  }

  /** Answers a request on a connection that is closed afterwards. */
  refuse(answer: NetResponse): void {
    this.#write(answer, true);
  }

  /** Answers a request whose head is wrong. */
  refuseFault(fault: NetRefusal, awaitsContinue: boolean): void {
    this.refuseUnread(fault.to(this.#request), awaitsContinue);
  }

  /**
   * Answers before the body came, and throws away what of it still comes, within `bodyDiscardBytes` and
   * `refusedBodyMs`: a connection closed on unread bytes is reset, and takes the answer with it.
   */
  refuseUnread(answer: NetResponse, awaitsContinue: boolean): void {
    this.#host.ignoreNext(this.#incoming.socket);
    // Nothing is on its way.
    if (awaitsContinue) {
      this.#write(answer, true);
      return;
    }
    const { bodyDiscardBytes, refusedBodyMs } = this.#host.options.limits;
    const close = (): void => {
      clearTimeout(this.#deadline);
      this.#res.end();
    };
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(close, refusedBodyMs);
    let size = 0;
    this.#incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (this.#isCut(chunk) || size > bodyDiscardBytes) close();
    });
    this.#incoming.on('end', close);
    this.#write(answer, true, true);
  }

  /** Calls `task` when the answer is with the kernel or the connection is gone, unless its turn never came. */
  onOver(task: () => void): void {
    this.#res.once('close', task);
  }

  /** The answer is with the kernel, or never will be. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#deadline);
    this.#host.answers.end(this);
    this.#release();
    this.#request.aborted = !this.#taken;
    this.#host.underWay.ended();
  }

  /** Calls the handler. An answer that is there at once is written before this returns. */
  async #handle(): Promise<void> {
    let answer: NetResponse;
    try {
      const given = this.#host.options.http(this.#request);
      answer = given instanceof Promise ? await given : given;
    } catch (error) {
      answer = this.#crashed(error);
    }
    this.#write(answer, false);
  }

  #hasBody(): boolean {
    const declared = this.#request.header('content-length') ?? '0';
    return Number(declared) > 0 || this.#request.header('transfer-encoding') !== undefined;
  }

  /**
   * Throws away the body of a request that is answered without it. The deadline outlasts the answer: with the first byte
   * after that node:http ends its own timer of the connection.
   */
  #discard(): void {
    const { bodyDeadlineMs, bodyDiscardBytes } = this.#host.options.limits;
    const { socket } = this.#incoming;
    const deadline = setTimeout(() => socket.destroy(), bodyDeadlineMs).unref();
    let size = 0;
    this.#incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (!this.#isCut(chunk) && size > bodyDiscardBytes) socket.destroy();
    });
    this.#incoming.on('end', () => clearTimeout(deadline));
  }

  /** Reads the body within its bound and deadline, then calls the handler or refuses. */
  #collect(awaitsContinue: boolean): void {
    const { limits } = this.#host.options;
    const limit = limits.bodyBytes(this.#request.method, this.#request.path);
    const declared = Number(this.#request.header('content-length') ?? 0);
    if (this.#hasBody()) {
      const refusal = refusalOfHead(this.#host.options, this.#request);
      if (refusal !== null) {
        this.refuseUnread(refusal, awaitsContinue);
        return;
      }
    }
    // Nothing has to be thrown away of a body that waits to be asked for, nor can all be of one this large.
    if (declared > limit && (declared > limits.bodyDiscardBytes || awaitsContinue)) {
      this.#refuseBody('TOO_LARGE');
      return;
    }
    if (awaitsContinue) this.#res.writeContinue();
    this.#deadline = setTimeout(() => this.#refuseBody('TOO_SLOW'), limits.bodyDeadlineMs);
    const chunks: Uint8Array[] = [];
    let size = 0;
    this.#incoming.on('data', (chunk: Buffer) => {
      if (this.#answered || this.#isCut(chunk)) return;
      size += chunk.length;
      if (size <= limit && this.#hold(chunk)) chunks.push(chunk);
      else {
        chunks.length = 0;
        this.#release();
      }
      if (size > limits.bodyDiscardBytes) this.#refuseBody('TOO_LARGE');
    });
    this.#incoming.on('end', () => {
      clearTimeout(this.#deadline);
      if (this.#answered) return;
      if (size > limit) {
        this.#refuseBody('TOO_LARGE');
        return;
      }
      this.#request.body = Buffer.concat(chunks, size);
      void this.#handle();
    });
  }

  /** False, and refused, where all bodies together would be too large. */
  #hold({ length }: Buffer): boolean {
    if (this.#host.bodies.take(this.#request.remoteAddress, length) === null) {
      this.#heldBytes += length;
      return true;
    }
    this.refuseUnread(refusalOfBody(this.#host.options, 'TOO_MANY', this.#request), false);
    return false;
  }

  #release(): void {
    if (this.#heldBytes > 0) this.#host.bodies.release(this.#request.remoteAddress, this.#heldBytes);
    this.#heldBytes = 0;
  }

  /** True when too many small pieces came: the connection is closed. */
  #isCut(piece: Buffer): boolean {
    if (piece.length < SMALL_PIECE_BYTES) this.#smallPieces++;
    if (this.#smallPieces <= this.#host.options.limits.bodySmallPieces) return false;
    this.#incoming.socket.destroy();
    return true;
  }

  #refuseBody(fault: BodyFault): void {
    if (this.#answered) return;
    clearTimeout(this.#deadline);
    // The rest of the body stays in the kernel's buffer, and the closed connection throws it away.
    this.#incoming.pause();
    this.#write(refusalOfBody(this.#host.options, fault, this.#request), true);
  }

  /** `stayOpen`: the connection is closed later, when `res` is ended. */
  #write(wanted: NetResponse, close: boolean, stayOpen = false): void {
    if (this.#answered || this.#ended) return;
    this.#answered = true;
    const unsendable = validateResponse(wanted);
    const answer = unsendable === undefined ? wanted : this.#crashed(new Error(unsendable));
    const headers: Record<string, string | number> = { ...answer.headers };
    const { shared = [], ownHeaders = [] } = answer;
    for (const { record } of shared) Object.assign(headers, record);
    for (let i = 0; i < ownHeaders.length; i += 2) headers[ownHeaders[i] ?? ''] = ownHeaders[i + 1] ?? '';
    const closing = close || this.#host.stopping;
    if (closing) headers.connection = 'close';
    const empty = answer.status === 204 || answer.status === 304;
    if (!empty) headers['content-length'] = Buffer.byteLength(answer.body);
    this.#res.writeHead(answer.status, headers);
    if (!empty && this.#request.method !== 'HEAD') this.#res.write(answer.body);
    if (!stayOpen) this.#res.end();
    if (this.#res.writableFinished) return;
    this.#boundTaking();
    if (!empty && answer.body.length > KERNEL_TAKES) this.#boundBody(answer.body);
  }

  /**
   * Closes the connection of a peer that takes nothing of this answer for too long, from when its turn has come until it
   * is taken. Not longer: the answer to what was asked after it may be long in coming.
   */
  #boundTaking(): void {
    const { socket } = this.#incoming;
    // Node.js looks twice before it calls a connection idle that is being written to.
    const idleMs = this.#host.options.limits.httpIdleMs / 2;
    if (this.#res.socket === null) this.#res.once('socket', () => socket.setTimeout(idleMs));
    else socket.setTimeout(idleMs);
    // First: Node.js then sets a time of its own for the wait between requests, if there is one.
    this.#res.prependOnceListener('finish', () => socket.setTimeout(0));
  }

  /** From when its turn has come: the answers before it may be long in coming. */
  #boundBody(body: string | Uint8Array): void {
    const begin = (): void => {
      // A text is copied for each answer.
      const [held, bytes] = typeof body === 'string' ? [this, Buffer.byteLength(body)] : [body, body.length];
      if (!this.#ended) this.#host.answers.begin(this, held, bytes);
    };
    if (this.#res.socket === null) this.#res.once('socket', begin);
    else begin();
  }

  cut(): void {
    this.#incoming.socket.destroy();
  }

  #crashed(error: unknown): NetResponse {
    this.#host.options.onFault(error);
    return internalError.to(this.#request);
  }
}

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
    const value = LIST_HEADERS.has(name) ? values?.join() : values?.[0];
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

/** A fault of the head that node:http lets through and the service refuses; null: it has no fault. */
export function nodeHeadFault(incoming: IncomingMessage, limits: NetLimits): NetRefusal | null {
  const { httpVersion, url = '', rawHeaders } = incoming;
  if (httpVersion !== '1.1') return wrongVersion;
  if (!url.startsWith('/') && url !== '*' && !ABSOLUTE_FORM.test(url)) return badTarget;
  return headFault((visit) => {
    for (let i = 0; i < rawHeaders.length; i += 2) visit((rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '');
  }, limits);
}
