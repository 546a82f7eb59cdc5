import { decode } from '@msgpack/msgpack';
import { type Fields, type Kind, MESSAGE_TYPES, MESSAGES } from '../wire/feed-layout.js';
import type { ServerMessageV2 } from '../wire/feed-messages.js';

/**
 * Throws RangeError where a MessagePack frame announces more elements than its bytes can hold, each of which takes one
 * at least. The decoder makes room for all that an array announces before it reads any: arrays within arrays of a
 * hundred bytes would take gigabytes, and end the client's process. Heads as in msgpack's spec, "Formats".
 */
export function checkAnnouncedElements(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const number = (size: number): number => {
    const value = size === 1 ? view.getUint8(at) : size === 2 ? view.getUint16(at) : view.getUint32(at);
    at += size;
    return value;
  };
  /** Elements that are still to come. */
  let announced = 1;
  while (announced > 0) {
    if (announced > bytes.length - at) throw new RangeError('A frame announces more than it holds');
    announced -= 1;
    const head = number(1);
    if (head < 0x80 || head >= 0xe0) continue;
    if (head < 0x90) announced += 2 * (head & 0x0f);
    else if (head < 0xa0) announced += head & 0x0f;
    else if (head < 0xc0) at += head & 0x1f;
    else if (head === ARRAY_16 || head === ARRAY_32) announced += number(head === ARRAY_16 ? 2 : 4);
    else if (head === MAP_16 || head === MAP_32) announced += 2 * number(head === MAP_16 ? 2 : 4);
    else {
      const { lengthBytes = 0, bytes: fixed = 0 } = SCALARS.get(head) ?? {};
      const length = lengthBytes === 0 ? 0 : number(lengthBytes);
      at += fixed + length;
    }
  }
}

const ARRAY_16 = 0xdc;
const ARRAY_32 = 0xdd;
const MAP_16 = 0xde;
const MAP_32 = 0xdf;

interface Scalar {
  /** Of the number that says how long it is. */
  readonly lengthBytes?: number;
  /** Fixed number of bytes that follow. */
  readonly bytes?: number;
}

/** Values longer than their head, without elements. */
const SCALARS: ReadonlyMap<number, Scalar> = new Map<number, Scalar>([
  // bin 8, 16, 32
  [0xc4, { lengthBytes: 1 }],
  [0xc5, { lengthBytes: 2 }],
  [0xc6, { lengthBytes: 4 }],
  // ext 8, 16, 32: a type besides
  [0xc7, { lengthBytes: 1, bytes: 1 }],
  [0xc8, { lengthBytes: 2, bytes: 1 }],
  [0xc9, { lengthBytes: 4, bytes: 1 }],
  // float 32 and 64, uint 8 to 64, int 8 to 64
  [0xca, { bytes: 4 }],
  [0xcb, { bytes: 8 }],
  [0xcc, { bytes: 1 }],
  [0xcd, { bytes: 2 }],
  [0xce, { bytes: 4 }],
  [0xcf, { bytes: 8 }],
  [0xd0, { bytes: 1 }],
  [0xd1, { bytes: 2 }],
  [0xd2, { bytes: 4 }],
  [0xd3, { bytes: 8 }],
  // fixext 1, 2, 4, 8, 16: a type besides
  [0xd4, { bytes: 2 }],
  [0xd5, { bytes: 3 }],
  [0xd6, { bytes: 5 }],
  [0xd7, { bytes: 9 }],
  [0xd8, { bytes: 17 }],
  // str 8, 16, 32
  [0xd9, { lengthBytes: 1 }],
  [0xda, { lengthBytes: 2 }],
  [0xdb, { lengthBytes: 4 }],
]);

export type FeedEncoding = 'json' | 'msgpack';

/** Names to ask for in `sec-websocket-protocol`. */
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
  checkAnnouncedElements(frame);
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
    // An older server has fewer elements.
    if ('nullable' in kind) return element === null || element === undefined ? null : unpack(kind.nullable, element);
    if ('optional' in kind)
      return element === null || element === undefined ? undefined : unpack(kind.optional, element);
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
