import { STATUS_CODES } from 'node:http';
import type { HttpRequest, HttpResponse } from 'uws-native';
import type { TurnBudget } from '../../system/turn-budget.js';
import type { Capacity } from '../capacity.js';
import { type DrainTracker, refusalOfBody, refusalOfHead } from '../handlers.js';
import { headFault } from '../head-check.js';
import {
  BODILESS_METHODS,
  type BodyFault,
  internalError,
  type NetOptions,
  type NetResponse,
  type SharedHeaders,
  SMALL_PIECE_BYTES,
  tooManyConnections,
  validateResponse,
} from '../net.js';
import type { TrustedProxies } from '../trusted-proxies.js';
import type { UnfinishedAnswers } from '../unfinished-answers.js';
import { UwsRequest } from './request.js';

/** State that the exchanges of one server share. */
export interface UwsExchangeHost {
  readonly options: NetOptions;
  /** No more requests are wanted: every answer closes its connection. */
  readonly stopping: boolean;
  /** Exchanges that outlive the library's callback are counted here. */
  readonly underWay: DrainTracker;
  /** Requests that are answered. */
  readonly turns: TurnBudget;
  readonly proxies: TrustedProxies;
  readonly bodies: Capacity;
  readonly answers: UnfinishedAnswers;
  /** Those whose request has a body and no answer yet. */
  readonly connections: Capacity;
}

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text ?? ''}`]),
);
const NO_HEADERS: readonly string[] = [];
const NONE_SHARED: readonly SharedHeaders[] = [];

/**
 * One request and its answer on uWebSockets.js, and the only place that touches its response object. That object is
 * dead after an abort or a finished answer, and using it then throws; a callback that returns with neither an answer
 * nor an abort handler ends the whole process.
 */
export class UwsExchange {
  readonly #res: HttpResponse;
  readonly #request: UwsRequest;
  readonly #host: UwsExchangeHost;
  #watched = false;
  /**
   * The library (20.30 and 20.57) reads chunks that are malformed, so that the next request may begin where no proxy sees
   * one: the connection is closed after the answer.
   */
  #isChunked = false;
  /** It counts among the host's `connections`. */
  #isCounted = false;
  /** Bytes of the body that are in memory. */
  #heldBytes = 0;
  /** Answered before the body came: what still comes of it is thrown away. */
  #isRefused = false;
  /** Answered in full, or aborted: the response object is dead. */
  #over = false;
  #deadline: NodeJS.Timeout | undefined;

  private constructor(res: HttpResponse, req: HttpRequest, host: UwsExchangeHost, method?: string) {
    this.#res = res;
    this.#request = new UwsRequest(req, res, host.proxies, method);
    this.#host = host;
  }

  /** The library's callback for every request that is not an upgrade. `method`: where it was chosen by that. */
  static serve(res: HttpResponse, req: HttpRequest, host: UwsExchangeHost, method?: 'GET'): void {
    const exchange = new UwsExchange(res, req, host, method);
    const isBodiless = BODILESS_METHODS.has(exchange.#request.method);
    const fault = headFault((visit) => req.forEach(visit), host.options.limits);
    exchange.#isChunked = exchange.#request.header('transfer-encoding') !== undefined;
    if (fault !== null) exchange.#refuseLater(fault.to(exchange.#request));
    else if (isBodiless) exchange.#handle();
    else exchange.#collect();
  }

  /** Answers an upgrade request that is refused, and closes its connection: any number may have come with it. */
  static refuse(res: HttpResponse, req: HttpRequest, host: UwsExchangeHost, answer: NetResponse): void {
    new UwsExchange(res, req, host).#refuseLater(answer);
  }

  /**
   * Now, or in a later turn of the event loop: a piece read from the network may hold 17,000 requests. Where one of them
   * waits, the library closes the connection with the next.
   */
  #handle(): void {
    const { turns } = this.#host;
    // An answer within the callback would be followed by that to the next request, though it closes the connection.
    if (!this.#isChunked && turns.hasRoom) {
      turns.spend();
      return this.#answer();
    }
    this.#watch();
    turns.wait(() => {
      turns.spend();
      this.#apart(() => this.#answer());
    });
  }

  /** Calls the handler. A synchronous answer is written before this returns, so the caller must cork. */
  #answer(): void {
    let answer: NetResponse | Promise<NetResponse>;
    try {
      answer = this.#host.options.http(this.#request);
    } catch (error) {
      answer = this.#crashed(error);
    }
    if (!(answer instanceof Promise)) {
      this.#write(answer, false);
      return;
    }
    this.#watch();
    answer.then(
      (late) => this.#apart(() => this.#write(late, false)),
      (error: unknown) => this.#apart(() => this.#write(this.#crashed(error), false)),
    );
  }

  /** Reads the body within its bound and deadline, then calls the handler or refuses. */
  #collect(): void {
    this.#watch();
    const { limits } = this.#host.options;
    const limit = limits.bodyBytes(this.#request.method, this.#request.path);
    const declared = Number(this.#request.header('content-length') ?? 0);
    const hasBody = declared > 0 || this.#isChunked;
    if (hasBody && !this.#count()) return;
    const refusal = hasBody ? refusalOfHead(this.#host.options, this.#request) : null;
    if (refusal !== null) this.#refuseUnread(refusal);
    else if (declared > limits.bodyDiscardBytes) {
      setImmediate(() => this.#apart(() => this.#refuse('TOO_LARGE')));
      return;
    }
    this.#deadline ??= setTimeout(() => this.#apart(() => this.#refuse('TOO_SLOW')), limits.bodyDeadlineMs);
    const chunks: Uint8Array[] = [];
    let size = 0;
    let smallPieces = 0;
    this.#res.onData((chunk, isLast) => {
      if (this.#over || size > limits.bodyDiscardBytes) return;
      if (chunk.byteLength < SMALL_PIECE_BYTES && ++smallPieces > limits.bodySmallPieces) {
        this.#res.close();
        return;
      }
      size += chunk.byteLength;
      if (this.#isRefused) {
        // Not at once: the answer may not be with the kernel yet.
        if (isLast || size > limits.bodyDiscardBytes) setImmediate(() => this.#cut());
        return;
      }
      // The library takes its buffer back when this callback returns.
      const isHeld = size <= limit && this.#hold(chunk.byteLength);
      if (isHeld) chunks.push(new Uint8Array(chunk.slice(0)));
      else {
        chunks.length = 0;
        this.#release();
      }
      // Refused just now.
      if (!isHeld && size <= limit) {
        if (isLast) setImmediate(() => this.#cut());
        return;
      }
      if (size > limits.bodyDiscardBytes) {
        setImmediate(() => this.#apart(() => this.#refuse('TOO_LARGE')));
      } else if (isLast) {
        clearTimeout(this.#deadline);
        if (size > limit) {
          this.#refuse('TOO_LARGE');
          return;
        }
        this.#request.body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
        this.#handle();
      }
    });
  }

  /** One more request on the connection meanwhile, and the library closes it. */
  #refuseLater(answer: NetResponse): void {
    this.#watch();
    setImmediate(() => this.#apart(() => this.#write(answer, true)));
  }

  /**
   * Answers outside the library's callback, which late answers need, and early ones too: one that closes the connection
   * while its body is still coming would, from within, be closed before it is written (20.30).
   */
  #apart(answer: () => void): void {
    if (!this.#over) this.#res.cork(answer);
  }

  #refuse(fault: BodyFault): void {
    this.#write(refusalOfBody(this.#host.options, fault, this.#request), true);
  }

  /**
   * Answers before the body came, and lets what of it still comes be thrown away, within `bodyDiscardBytes` and
   * `refusedBodyMs`: a connection closed on unread bytes is reset, and takes the answer with it.
   */
  #refuseUnread(wanted: NetResponse): void {
    this.#isRefused = true;
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#cut(), this.#host.options.limits.refusedBodyMs);
    const unsendable = validateResponse(wanted);
    const answer = unsendable === undefined ? wanted : this.#crashed(new Error(unsendable));
    this.#apart(() => this.#writeWhole(answer));
  }

  /** False, and refused, where there are too many connections. */
  #count(): boolean {
    const full = this.#host.connections.take(this.#request.remoteAddress, 1);
    this.#isCounted = full === null;
    if (full !== null) {
      const refusal = tooManyConnections(full, this.#host.options.limits);
      this.#refuseLater(refusal.to(this.#request));
    }
    return this.#isCounted;
  }

  /** False, and refused, where all bodies together would be too large. */
  #hold(bytes: number): boolean {
    if (this.#host.bodies.take(this.#request.remoteAddress, bytes) === null) {
      this.#heldBytes += bytes;
      return true;
    }
    this.#refuseUnread(refusalOfBody(this.#host.options, 'TOO_MANY', this.#request));
    return false;
  }

  #release(): void {
    if (this.#heldBytes > 0) this.#host.bodies.release(this.#request.remoteAddress, this.#heldBytes);
    this.#heldBytes = 0;
  }

  /** From here on the exchange outlives the library's callback. */
  #watch(): void {
    if (this.#watched) return;
    this.#listen();
    this.#request.detach();
  }

  #listen(): void {
    this.#watched = true;
    this.#host.underWay.began();
    this.#res.onAborted(() => {
      this.#request.aborted = true;
      this.#finish();
    });
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#deadline);
    this.#host.answers.end(this);
    this.#release();
    if (this.#isCounted) this.#host.connections.release(this.#request.remoteAddress, 1);
    this.#request.release();
    if (this.#watched) this.#host.underWay.ended();
  }

  /** Must run corked: each piece would be a system call of its own otherwise. */
  #write(wanted: NetResponse, isLast: boolean): void {
    const close = isLast || this.#isChunked || this.#host.stopping;
    const unsendable = validateResponse(wanted);
    const answer = unsendable === undefined ? wanted : this.#crashed(new Error(unsendable));
    const isEmpty = answer.status === 204 || answer.status === 304;
    const isHead = this.#request.method === 'HEAD';
    if (close && this.#watched && (isEmpty || isHead)) {
      this.#writeWhole(answer);
      setImmediate(() => this.#cut());
      return;
    }
    this.#res.writeStatus(statusAndHeaders(answer));
    if (isEmpty) {
      this.#res.endWithoutBody();
      this.#finish();
    } else if (isHead) {
      // With a length given as its argument, 20.30 ends nothing, and the process with it.
      this.#res.writeHeader('content-length', String(Buffer.byteLength(answer.body))).endWithoutBody();
      this.#finish();
    } else if (close || answer.body.length === 0) {
      this.#res.end(answer.body, close);
      this.#finish();
    } else {
      this.#stream(answer.body);
    }
  }

  /**
   * Writes all of an answer, and leaves the connection to be cut: the library closes one only after an answer that has a
   * body, and only when the request's has come (20.30). It adds an empty line, which no client minds before the end
   * of a connection (RFC 9112, 2.2). Must run corked, and watched.
   */
  #writeWhole(answer: NetResponse): void {
    const isEmpty = answer.status === 204 || answer.status === 304;
    const length = isEmpty ? '' : `content-length: ${Buffer.byteLength(answer.body)}\r\n`;
    const head = `${statusAndHeaders(answer)}\r\nconnection: close\r\n${length}\r\n`;
    const body = isEmpty || this.#request.method === 'HEAD' ? '' : answer.body;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#res.writeStatus(Buffer.concat([Buffer.from(head, 'latin1'), bytes]));
  }

  /** Closes the connection of an answer that its client takes too slowly; not within another exchange's cork. */
  cut(): void {
    setImmediate(() => this.#cut());
  }

  #cut(): void {
    if (!this.#over) this.#res.close();
  }

  /**
   * Writes no more than the peer takes, and goes on when it takes more: `end` would buffer the whole answer again for
   * each of any number of pipelined requests that nobody reads. Here the next one meets an unfinished answer, and the
   * library closes a connection that does that; it also closes one that takes nothing for 10 s.
   */
  #stream(body: string | Uint8Array): void {
    const size = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const [, done] = this.#res.tryEnd(body, size);
    if (done) {
      this.#finish();
      return;
    }
    // Nobody asks for the request any more: it need not be copied.
    this.#request.release();
    if (!this.#watched) this.#listen();
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    this.#host.answers.begin(this, bytes, size);
    this.#res.onWritable((offset) => {
      const [taken, ended] = this.#res.tryEnd(bytes.subarray(offset), size);
      if (ended) this.#finish();
      return taken;
    });
  }

  #crashed(error: unknown): NetResponse {
    this.#host.options.onFault(error);
    return internalError.to(this.#request);
  }
}

/**
 * Status and headers all in one text, which costs as much to write as one header would: the library writes it and a line
 * end, and does not look at it. No line end can come in with a value: `validateResponse` has looked at each, and
 * `SharedHeaders` at its own.
 */
function statusAndHeaders({ status, headers, shared = NONE_SHARED, ownHeaders = NO_HEADERS }: NetResponse): string {
  let head = STATUS_LINES.get(status) ?? String(status);
  for (let i = 0; i < ownHeaders.length; i += 2) head += `\r\n${ownHeaders[i] ?? ''}: ${ownHeaders[i + 1] ?? ''}`;
  for (const name in headers) head += `\r\n${name}: ${headers[name] ?? ''}`;
  for (const { lines } of shared) head += `\r\n${lines}`;
  return head;
}
