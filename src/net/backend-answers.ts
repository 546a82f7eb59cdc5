import type { Full } from './capacity.js';
import type { NetLimits, NetResponse } from './net.js';

/** What a backend answers by itself, when no handler can: the same words on both. */
export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): NetResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  };
}

/** A handler threw, or answered what HTTP cannot carry. */
export const internalError = refusal(500, 'Internal server error');

/** To a connection beyond what there may be. */
export function tooManyConnections(full: Full, { httpConnectionsPerAddress }: NetLimits): NetResponse {
  if (full === 'IN_ALL') return refusal(503, 'Too many connections', { 'retry-after': '1' });
  return refusal(429, `Too many connections: at most ${httpConnectionsPerAddress} from one address`);
}

/** RFC 6455 section 4.4. */
export const wrongWebSocketVersion = refusal(426, 'Sec-WebSocket-Version must be 13', {
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
export function whyUnsendable(response: NetResponse): string | undefined {
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
export function whyNoHeader(name: string, value: string): string | undefined {
  const last = sendable.get(name);
  if (last === value) return undefined;
  if (last === undefined && !TOKEN.test(name)) return `Header name ${JSON.stringify(name)} is no token`;
  if (NOT_IN_VALUE.test(value)) return `The value of header ${name} has a character it cannot have`;
  if (last !== undefined || sendable.size < MOST_NAMES) sendable.set(name, value);
  return undefined;
}
