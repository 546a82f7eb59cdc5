import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { upgradeHead } from '../net/raw-connection.js';

const FIN_TEXT = 0x81;
const FIN_PONG = 0x8a;
const MASKED = 0x80;
const SHORT = 126;

/** A client's frame (RFC 6455, 5.2). The mask is all zeros, which leaves the text as it is. */
function frame(opcode: number, text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const head = length < SHORT ? [MASKED | length] : [MASKED | SHORT, length >> 8, length & 0xff];
  return Buffer.concat([Uint8Array.from([opcode, ...head, 0, 0, 0, 0]), payload]);
}

/** Any frame counts as life. */
export const pong = frame(FIN_PONG, '');

/**
 * A connection to the feed that follows QUOTES: bytes come as they are, so that a thousand of them fit in one process.
 */
export async function openRawFeed(port: number, apiKey: string, body: object): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(upgradeHead('Sec-WebSocket-Protocol: quotebook.v2.json'));
  await answered(socket, '101');
  socket.write(frame(FIN_TEXT, JSON.stringify({ type: 'AUTH', apiKey, body: null })));
  socket.write(frame(FIN_TEXT, JSON.stringify({ type: 'FILTER', channel: 'QUOTES', body })));
  await answered(socket, 'Subscribed');
  return socket;
}

async function answered(socket: Socket, text: string): Promise<void> {
  for (let received = ''; !received.includes(text);) {
    const [data] = (await once(socket, 'data')) as [Buffer];
    received += data.toString('latin1');
  }
}
