/** First byte of a whole, uncompressed data message: FIN and the opcode (RFC 6455 section 5.2). */
const TEXT_FRAME = 0x81;
const BINARY_FRAME = 0x82;

/** A server's message as its one frame: never masked, never split. */
export function messageFrame(message: string | Uint8Array, isBinary: boolean): Buffer {
  const size = Buffer.byteLength(message);
  const headerBytes = size < 126 ? 2 : size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerBytes + size);
  frame[0] = isBinary ? BINARY_FRAME : TEXT_FRAME;
  if (headerBytes === 2) {
    frame[1] = size;
  } else if (headerBytes === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(size, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(size), 2);
  }
  if (typeof message === 'string') frame.write(message, headerBytes);
  else frame.set(message, headerBytes);
  return frame;
}
