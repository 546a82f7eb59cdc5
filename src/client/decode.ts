import { decode } from '@msgpack/msgpack';
import { type Fields, type Kind, MESSAGE_TYPES, MESSAGES } from '../wire/feed-layout.js';
import type { ServerMessageV2 } from '../wire/feed-messages.js';
import { checkAnnounced } from './announced-elements.js';

export type FeedEncoding = 'json' | 'msgpack';

/** What to ask for in `sec-websocket-protocol`. */
export const SUBPROTOCOL = {
  json: 'quotebook.v2.json',
  msgpack: 'quotebook.v2.msgpack',
} as const satisfies Readonly<Record<FeedEncoding, string>>;

/** A message of a type that this client does not know: a newer server's. It is left alone. */
export interface UnknownMessage {
  readonly type: null;
}

/** A frame as it came. Throws on what is neither a message's JSON text nor its MessagePack. */
export function decodeFrame(data: unknown): ServerMessageV2 | UnknownMessage {
  if (typeof data === 'string') return readJson(JSON.parse(data));
  if (data instanceof ArrayBuffer) return readArray(unpacked(new Uint8Array(data)));
  throw new TypeError('A frame is text, or an ArrayBuffer');
}

function unpacked(frame: Uint8Array): unknown {
  checkAnnounced(frame);
  return decode(frame);
}

function readJson(value: unknown): ServerMessageV2 | UnknownMessage {
  if (typeof value !== 'object' || value === null || !('type' in value)) throw new TypeError('A message has a type');
  const isKnown = typeof value.type === 'string' && Object.hasOwn(MESSAGES, value.type);
  return isKnown ? (value as ServerMessageV2) : { type: null };
}

/** A message's fields by position, as the layout's tables name them. */
function readArray(value: unknown): ServerMessageV2 | UnknownMessage {
  if (!Array.isArray(value)) throw new TypeError('A message is an array');
  const [code, ...elements] = value as unknown[];
  const type = MESSAGE_TYPES[code as number];
  if (type === undefined) return { type: null };
  return { type, ...unpackFields(MESSAGES[type], elements) } as unknown as ServerMessageV2;
}

function unpackFields({ fields }: Fields, elements: readonly unknown[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields
      .map(([name, kind], place) => [name, unpack(kind, elements[place])] as const)
      .filter(([, value]) => value !== undefined),
  );
}

function unpack(kind: Kind, element: unknown): unknown {
  if (typeof kind === 'object') {
    if ('nullable' in kind) return element === null ? null : unpack(kind.nullable, element);
    if ('optional' in kind) return element === null ? undefined : unpack(kind.optional, element);
    if ('list' in kind) return (element as unknown[]).map((item) => unpack(kind.list, item));
    return unpackFields(kind, element as unknown[]);
  }
  switch (kind) {
    case 'text':
    case 'uint':
    case 'bool':
      return element;
    case 'hex':
      return `0x${hexDigits(element as Uint8Array)}`;
    case 'amount':
      return BigInt(`0x${hexDigits(element as Uint8Array) || '0'}`).toString();
    case 'json':
      return JSON.parse(element as string);
  }
}

const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hexDigits(bytes: Uint8Array): string {
  let digits = '';
  for (const byte of bytes) digits += HEX_OF_BYTE[byte] ?? '';
  return digits;
}
