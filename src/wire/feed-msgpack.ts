import { Encoder } from '@msgpack/msgpack';
import { type Fields, type Kind, MESSAGE_TYPES, MESSAGES, type MessageType } from './feed-layout.js';

type Value = Readonly<Record<string, unknown>>;

/** Heads of arrays: of at most 15 elements, by their number, and of at most 65,535. */
const SHORT_ARRAYS = Array.from({ length: 16 }, (_, count) => Uint8Array.of(0x90 | count));
const LONG_ARRAY = 0xdc;

const encoder = new Encoder();

/** A whole message from its JSON value. */
export function encodeMessage(message: Value & { readonly type: MessageType }): Uint8Array {
  const elements = packFields(MESSAGES[message.type], message);
  return encoder.encode([MESSAGE_TYPES.indexOf(message.type), ...elements]);
}

/** The bytes of at most 15 elements without an array's head, and what follows them. */
export function encodeElements(elements: readonly unknown[], ...others: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([sharedElements(elements), ...others]);
}

/** An array of `count` elements, at most 65,535: at most 15 of them, and the bytes of the others. */
export function encodeArray(count: number, elements: readonly unknown[], ...others: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat([arrayHead(count), sharedElements(elements), ...others]);
}

/** Of at most 2^256 - 1, as one element. */
export function encodeAmount(amount: bigint): Uint8Array {
  return encoder.encode(packAmount(amount));
}

/** Head of an array of `count` elements, at most 65,535. */
export function arrayHead(count: number): Uint8Array {
  return SHORT_ARRAYS[count] ?? Uint8Array.of(LONG_ARRAY, count >> 8, count & 0xff);
}

/** In the encoder's own memory, which its next use writes over. */
function sharedElements(elements: readonly unknown[]): Uint8Array {
  return encoder.encodeSharedRef(elements).subarray(1);
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
