import type { Encoding, EncodingName } from '../feed/event-messages.js';

/** What a connection speaks beyond the plain protocol, as it is asked for in `sec-websocket-protocol`. */
export const SUBPROTOCOLS = {
  'quotebook.v2.json': 'json',
  'quotebook.v2.msgpack': 'msgpack',
} as const satisfies Readonly<Record<string, EncodingName>>;

/** The first of those asked for that is known; empty: the plain protocol (RFC 6455, 4.2.2). */
export function agreedProtocol(asked: string | undefined): string {
  const names = (asked ?? '').split(',').map((name) => name.trim());
  return names.find((name) => Object.hasOwn(SUBPROTOCOLS, name)) ?? '';
}

/** Null: a plain connection. */
export function encodingOf(protocol: string, encodings: Readonly<Record<EncodingName, Encoding>>): Encoding | null {
  const known: Readonly<Partial<Record<string, EncodingName>>> = SUBPROTOCOLS;
  const name = known[protocol];
  return name === undefined ? null : encodings[name];
}
