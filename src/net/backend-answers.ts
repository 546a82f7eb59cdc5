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

const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** The name of a header whose value would end the header early (a line break in it) or could not be sent, if there is one. */
export function unsendableHeader(response: NetResponse): string | undefined {
  for (const name in response.headers) {
    if (unsendable.test(response.headers[name] ?? '')) return name;
  }
  return undefined;
}
