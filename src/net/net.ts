import type { HttpErrorCode } from '../wire/error-codes.js';
import { renderError } from '../wire/problem.js';
import type { CapacityFault } from './capacity.js';
import type { AnswerLimits } from './unfinished-answers.js';

/**
 * The interface of a network library to the service, in no library's own terms. Two backends implement it
 * (uWebSockets.js, and node:http with ws) and pass one test suite.
 */
export type NetBackend = 'uWebSockets.js' | 'node';

/**
 * The headers that the service reads. A closed list, because uWebSockets.js forgets a request when its callback
 * returns: what a handler may ask for later is copied by name, and copying everything would cost more than answering.
 */
export const requestHeaders = [
  'accept',
  'content-encoding',
  'content-length',
  'host',
  'if-none-match',
  'origin',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'transfer-encoding',
  'x-apikey',
  'x-forwarded-for',
  'x-request-id',
  'x-min-seq',
] as const;

export type RequestHeader = (typeof requestHeaders)[number];

/**
 * Headers that are lists, and may come in several lines (RFC 9110, 5.3): names of subprotocols (RFC 6455, 11.3.4), and
 * the hops of a request, of which a client's own line would hide those of the proxies.
 */
export const LIST_HEADERS: ReadonlySet<RequestHeader> = new Set(['sec-websocket-protocol', 'x-forwarded-for']);

/** Methods whose requests have no body here: what comes with one all the same is thrown away. */
export const BODILESS_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A network splits a body into pieces of at least this size, except for the last piece. */
export const SMALL_PIECE_BYTES = 256;

/** Valid until its handler has answered, however long that takes. */
export interface NetRequest {
  /** Upper case. */
  readonly method: string;
  readonly path: string;
  /** The text after `?`, still encoded; empty if absent. */
  readonly query: string;
  /**
   * The header's value; undefined when it is absent or empty, the first one when it is repeated. All of them, joined by
   * commas, of the headers in `LIST_HEADERS`.
   */
  header(name: RequestHeader): string | undefined;
  /**
   * Text form of the client's address; an IPv4 peer of an IPv6 listener is written as IPv4. The peer's, unless that is a
   * trusted proxy: then the one that it forwards for.
   */
  readonly remoteAddress: string;
  /** The whole body; empty for a method of `BODILESS_METHODS`. */
  readonly body: Uint8Array;
  /** The client went away: nothing that is answered will be read. */
  readonly aborted: boolean;
}

/**
 * `content-length`, `connection`, `date` and `transfer-encoding` are the backend's own. A HEAD request gets the length
 * of `body` without it; 204 and 304 have none.
 */
export interface NetResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** More of them, that many answers have. */
  readonly shared?: readonly SharedHeaders[];
  /**
   * More of them, names and values in turn: those that differ from answer to answer. A record of them costs more to put
   * together than the rest of a small answer does, because the engine makes a new hidden class of it again and again.
   */
  readonly ownHeaders?: readonly string[];
  readonly body: string | Uint8Array;
}

/** A handler that throws is answered with 500 by the backend and reported to `onFault`. */
export type NetHandler = (request: NetRequest) => NetResponse | Promise<NetResponse>;

/**
 * Why no whole body reached the handler: to be answered with 413, 408, and 503 when all bodies together are too large.
 * The connection is closed after each.
 */
export type BodyFault = 'TOO_LARGE' | 'TOO_SLOW' | 'TOO_MANY';

/** A request as it stands before its body came. */
export type NetRequestHead = Omit<NetRequest, 'body' | 'aborted'>;

export interface NetSocket {
  /** Unique while the server lives, from 1. */
  readonly id: number;
  readonly remoteAddress: string;
  /** The subprotocol that was agreed on, or an empty string. */
  readonly protocol: string;
  /** True from the moment the socket is closing: nothing more is sent. */
  readonly closed: boolean;
  /** One whole message. False when the socket was over its budget and is being closed instead. */
  send(message: string | Uint8Array, isBinary: boolean): boolean;
  /** Messages in order, with few system calls. Those after the one that is over the socket's budget are not sent. */
  sendAll(messages: readonly Uint8Array[], isBinary: boolean): void;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  /** Bytes that the peer has not taken yet. */
  bufferedBytes(): number;
  /** RFC 6455 close; `reason` at most 123 bytes. */
  close(code: number, reason: string): void;
}

/** Accept with the subprotocol to answer (empty: none), or refuse with a response. */
export type UpgradeDecision = { readonly accept: true; readonly protocol: string } | NetResponse;

export interface SocketHandlers {
  /** Called once for each upgrade request; must answer at once. One that is accepted may still fail before `open`. */
  upgrade(request: NetRequestHead): UpgradeDecision;
  open(socket: NetSocket): void;
  /** `data` is valid only during the call. */
  message(socket: NetSocket, data: Uint8Array, isBinary: boolean): void;
  /** Called once, never from within a call of ours to the socket or the server; 1006 when there was no close frame. */
  close(socket: NetSocket, code: number): void;
  /** The reason sent with 1013 to a socket that is over its budget; it may name where to resume from. */
  overBudgetReason?(socket: NetSocket): string;
}

/** Every bound the backend enforces; the numbers come from the configuration's limits. */
export interface NetLimits extends AnswerLimits {
  /** Request line and headers together, where the library lets us say: the node backend. */
  readonly headBytes: number;
  /** Header lines of one request; more are 431. uWebSockets.js 20.30 has a bound of its own and does not answer. */
  readonly headerFields: number;
  /** Body bytes allowed for this request; over it the answer is 413 and the handler is not called. */
  bodyBytes(method: string, path: string): number;
  /**
   * How much of a body that is refused is read and thrown away, so that its sender gets to read why: a connection closed
   * on unread bytes is reset, and takes the answer with it. On node:http, also of a body that comes with a method of
   * `BODILESS_METHODS`.
   */
  readonly bodyDiscardBytes: number;
  /** For how long, where the answer does not wait for the body's end. */
  readonly refusedBodyMs: number;
  /**
   * Most pieces of a body below `SMALL_PIECE_BYTES`: one more closes the connection. A client that sends a megabyte in
   * chunks of one byte would cost a million callbacks and buffers.
   */
  readonly bodySmallPieces: number;
  /** Bytes of the bodies of all requests that are not answered yet, and of those of one address. */
  readonly bodiesBytes: number;
  readonly bodiesBytesPerAddress: number;
  /**
   * Connections that are no WebSockets, in all and of one address. uWebSockets.js 20.30 tells of no connection before
   * its request: there, those whose request has a body and no answer yet.
   */
  readonly httpConnections: number;
  readonly httpConnectionsPerAddress: number;
  /**
   * From the end of the headers to the end of the body, else 408 and the connection is closed; where the answer does not
   * wait for the body, it is closed alone. uWebSockets.js closes it without an answer after 8 to 12 s of its own.
   */
  readonly bodyDeadlineMs: number;
  /**
   * A connection is closed after so long without a whole request head, between requests, or without taking anything of
   * its answer. uWebSockets.js looks every 4 s, and 20.30 has its own 10 s for all three.
   */
  readonly httpIdleMs: number;
  /**
   * Requests of one connection that may await their answers, for the node backend: one more closes the connection.
   * uWebSockets.js allows one.
   */
  readonly pipelinedRequests: number;
  /**
   * Requests answered between two turns of the event loop, for uWebSockets.js, which reads as many from one connection
   * as came.
   */
  readonly requestsPerTurn: number;
  readonly wsMessageBytes: number;
  /** Bytes a peer may leave unread before its socket is closed with 1013. */
  readonly wsBufferedBytes: number;
  /** Without a byte from the peer (pings are sent by the server), 8 to 960. */
  readonly wsIdleSeconds: number;
  /**
   * Frames of one peer within `wsIdleSeconds` that no handler hears of: pings, pongs, and what comes while its socket is
   * being closed. With one more it is closed with 1008, or cut off. A piece read from the network may hold 80,000 of
   * them, and the libraries call us for each before anybody else has a turn.
   */
  readonly wsIdleFrames: number;
  /** File descriptors that connections may not use up, and how often they are looked at. */
  readonly spareDescriptors: number;
  readonly descriptorCheckMs: number;
  /** How long a closing socket may take to read what is buffered for it, and a closing server for answers under way. */
  readonly drainMs: number;
}

export interface NetOptions {
  readonly http: NetHandler;
  /** Sockets are served at this path alone. */
  readonly socketPath: string;
  readonly sockets: SocketHandlers;
  /** Proxies whose X-Forwarded-For names the client: addresses, or networks in CIDR notation. Absent: none. */
  readonly trustedProxies?: readonly string[];
  /**
   * Called before the body of a request is read: the answer to one that is refused for its head, or null. The body is
   * then thrown away, and the connection closed. Absent: all bodies are read.
   */
  refuseHead?(request: NetRequestHead): NetResponse | null;
  /** The answer to a request whose body was refused. */
  refuseBody(fault: BodyFault, request: NetRequestHead): NetResponse;
  readonly limits: NetLimits;
  /** Asked every `descriptorCheckMs` by uWebSockets.js, with each connection by node:http. Absent: nobody knows. */
  readonly descriptors?: {
    /** File descriptors that the process may still open. */
    spare(): number;
    /** True: no more connections are taken for want of them; false: they are again. */
    onFew(few: boolean): void;
  };
  readonly onFault: (error: unknown) => void;
}

/**
 * How many times `spareDescriptors` have to be free again before connections are taken again: with just as many it would
 * stop and begin in turns.
 */
export const ENOUGH_AGAIN = 2;

export interface NetServer {
  readonly backend: NetBackend;
  /** Its version (`node`: that of Node.js), and the package or path that it was loaded from. */
  readonly library: { readonly version: string; readonly source: string };
  /** Port 0 picks a free one. Resolves to the port; rejects when it is taken. */
  listen(host: string, port: number): Promise<number>;
  /** Sends to every socket subscribed to `topic`, in the order of the calls. Messages of one tick are sent together. */
  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void;
  /** Takes no more connections; those that are open live on. */
  stopListening(): void;
  /**
   * Takes no more connections, closes every socket (code, reason), lets answers under way finish within `drainMs`,
   * then closes every connection and resolves.
   */
  close(code: number, reason: string): Promise<void>;
}

/**
 * Headers that many answers have. They are looked at and joined when this is made, and not with each answer, which for
 * a small one is a good part of what it costs.
 */
export class SharedHeaders {
  readonly record: Readonly<Record<string, string>>;
  /** As they go over the connection: lines with an end between each two, and none at the end. */
  readonly lines: string;

  /** Throws when HTTP cannot carry one of them. */
  constructor(record: Readonly<Record<string, string>>) {
    const entries = Object.entries(record);
    for (const [name, value] of entries) {
      const why = whyNoHeader(name, value);
      if (why !== undefined) throw new Error(why);
    }
    this.record = record;
    this.lines = entries.map(([name, value]) => `${name}: ${value}`).join('\r\n');
  }
}

/** Why a server of ours closes a WebSocket: RFC 6455, 7.4.1, and IANA's registry of close codes beyond it. */
export const CloseCode = {
  /** The peer broke a rule of ours. */
  policyViolation: 1008,
  messageTooBig: 1009,
  internalError: 1011,
  serviceRestart: 1012,
  tryAgainLater: 1013,
} as const;

export const TOO_MANY_PINGS = 'Too many pings';

/** An answer without a handler, in the form that the request accepts: the same text on both backends. */
export interface NetRefusal {
  to(request: Pick<NetRequestHead, 'header'>): NetResponse;
}

export function refusal(
  code: HttpErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): NetRefusal {
  return {
    to(request) {
      const { status, contentType, body } = renderError(code, { message }, request.header('accept'));
      return { status, headers: { ...headers, 'content-type': contentType }, body };
    },
  };
}

/** A handler threw, or answered what HTTP cannot carry. */
export const internalError = refusal('internal_error', 'Internal server error');

/** To a connection beyond what there may be. */
export function tooManyConnections(full: CapacityFault, { httpConnectionsPerAddress }: NetLimits): NetRefusal {
  if (full === 'IN_ALL') return refusal('server_full', 'Too many connections', { 'retry-after': '1' });
  return refusal('too_many_connections', `Too many connections: at most ${httpConnectionsPerAddress} from one address`);
}

/** RFC 6455 section 4.4. */
export const wrongWebSocketVersion = refusal('unsupported_websocket_version', 'Sec-WebSocket-Version must be 13', {
  'sec-websocket-version': '13',
  upgrade: 'websocket',
});

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** By name, the value that was looked at last and was fine: most are the same in every answer. */
const sendable = new Map<string, string>();
/** There are few names, and all are the service's own; should there be more, the rest is looked at each time. */
const MOST_NAMES = 100;

/**
 * Why HTTP cannot carry this answer, if it cannot: a line break in a header, say, would let its value write the rest.
 */
export function validateResponse(response: NetResponse): string | undefined {
  const { status } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599) return `Status ${status} is no final status`;
  const { headers, ownHeaders } = response;
  for (const name in headers) {
    const why = whyNoHeader(name, headers[name] ?? '');
    if (why !== undefined) return why;
  }
  if (ownHeaders === undefined) return undefined;
  for (let i = 0; i < ownHeaders.length; i += 2) {
    const why = whyNoHeader(ownHeaders[i] ?? '', ownHeaders[i + 1] ?? '');
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Why HTTP cannot carry this header, if it cannot. */
function whyNoHeader(name: string, value: string): string | undefined {
  const last = sendable.get(name);
  if (last === value) return undefined;
  if (last === undefined && !TOKEN.test(name)) return `Header name ${JSON.stringify(name)} is no token`;
  if (NOT_IN_VALUE.test(value)) return `The value of header ${name} has a character it cannot have`;
  if (last !== undefined || sendable.size < MOST_NAMES) sendable.set(name, value);
  return undefined;
}
