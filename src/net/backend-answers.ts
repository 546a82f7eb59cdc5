import type { NetResponse } from './net.js';

/** What a backend answers by itself, when no handler can: the same words on both. */
function json(status: number, message: string, headers: Readonly<Record<string, string>> = {}): NetResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  };
}

/** A handler threw, or answered what HTTP cannot carry. */
export const internalError = json(500, 'Internal server error');

/** Two Content-Length headers: two readers of the message could disagree on where it ends (RFC 9112 section 6.3). */
export const ambiguousLength = json(400, 'Content-Length is repeated');

/** RFC 6455 section 4.4. */
export const wrongWebSocketVersion = json(426, 'Sec-WebSocket-Version must be 13', {
  'sec-websocket-version': '13',
  upgrade: 'websocket',
});

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const notInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** Why HTTP cannot carry this answer, if it cannot: a line break in a header, say, would let its value write the rest. */
export function whyUnsendable(response: NetResponse): string | undefined {
  const { status } = response;
  if (!Number.isInteger(status) || status < 200 || status > 599) return `Status ${status} is no final status`;
  for (const name in response.headers) {
    if (!token.test(name)) return `Header name ${JSON.stringify(name)} is no token`;
    if (notInValue.test(response.headers[name] ?? ''))
      return `The value of header ${name} has a character it cannot have`;
  }
  return undefined;
}
