import { Encoder } from '@msgpack/msgpack';
import { MESSAGE_TYPES, MESSAGES, type Fields, type Kind, type MessageType } from './layout.js';

type Value = Readonly<Record<string, unknown>>;

/** Heads of arrays: of at most 15 elements, and of at most 65,535. */
const SHORT_ARRAY = 0x90;
const SHORT_ELEMENTS = 15;
const LONG_ARRAY = 0xdc;
/** Head of at most 255 bytes; their number follows. */
const SHORT_BIN = 0xc4;

const encoder = new Encoder();

/** A whole message from its JSON value. */
export function encodeMessage(message: Value & { readonly type: MessageType }): Uint8Array {
  const elements = packFields(MESSAGES[message.type], message);
  return encoder.encode([MESSAGE_TYPES.indexOf(message.type), ...elements]);
}

/** The bytes of at most 15 elements without the array's head, to be put together with others. */
export function encodeElements(elements: readonly unknown[]): Uint8Array {
  return encoder.encode(elements).subarray(1);
}

/** Of at most 2^256 - 1, as one element. */
export function encodeAmount(amount: bigint): Uint8Array {
  const bytes = packAmount(amount);
  return Buffer.concat([Uint8Array.from([SHORT_BIN, bytes.length]), bytes]);
}

/** An array of `count` elements, at most 65,535, whose bytes these are. */
export function joinElements(count: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([arrayHead(count), ...parts]);
}

/** What comes before the `count` elements of an array, at most 65,535. */
export function arrayHead(count: number): Uint8Array {
  const isShort = count <= SHORT_ELEMENTS;
  return Uint8Array.from(isShort ? [SHORT_ARRAY | count] : [LONG_ARRAY, count >> 8, count & 0xff]);
}

export function packFields({ fields }: Fields, value: Value): unknown[] {
  return fields.map(([name, kind]) => pack(kind, value[name]));
}

/** Of at most 2^256 - 1; shortest big-endian bytes. */
function packAmount(amount: bigint): Uint8Array {
  if (amount === 0n) return new Uint8Array(0);
  const digits = amount.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

function pack(kind: Kind, value: unknown): unknown {
  if (typeof kind === 'object') {
    if ('nullable' in kind) return value === null ? null : pack(kind.nullable, value);
    if ('optional' in kind) return value === undefined ? null : pack(kind.optional, value);
    if ('list' in kind) return (value as unknown[]).map((item) => pack(kind.list, item));
    return packFields(kind, value as Value);
  }
  switch (kind) {
    case 'text':
    case 'uint':
    case 'bool':
      return value;
    case 'hex':
      return Buffer.from((value as string).slice(2), 'hex');
    case 'amount':
      return packAmount(BigInt(value as string));
    case 'json':
      return JSON.stringify(value);
  }
}
