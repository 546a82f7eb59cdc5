import { decodeFrame } from '../../src/client/decode.js';
import type { ServerMessageV2 } from '../../src/wire/feed-messages.js';

/** The JSON value of a message in MessagePack, as the client library reads it. Throws on bytes that are none. */
export function decodeMessage(bytes: Uint8Array): ServerMessageV2 {
  const message = decodeFrame(Uint8Array.from(bytes).buffer);
  if (message.type === null) throw new TypeError('There is no message of that type');
  return message;
}
