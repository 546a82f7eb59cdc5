import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const END_OF_HEAD = Buffer.from('\r\n\r\n');

/**
 * A WebSocket that reads bytes and no frames: what is to come is known, so counting and summing up says whether it
 * came.
 */
export class SocketConnection {
  readonly #socket: Socket;
  onBytes: (chunk: Buffer) => void = () => undefined;
  isClosed = false;

  static async open(port: number): Promise<SocketConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const connection = new SocketConnection(socket);
    // The key is anyone's (RFC 6455, 1.3); nobody checks the answer here.
    socket.write(
      'GET / HTTP/1.1\r\nhost: bench\r\nupgrade: websocket\r\nconnection: upgrade\r\n' +
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n',
    );
    let head = Buffer.alloc(0);
    await new Promise<void>((resolve, reject) => {
      connection.onBytes = (chunk) => {
        head = Buffer.concat([head, chunk]);
        if (!head.includes(END_OF_HEAD)) return;
        if (head.toString('latin1', 9, 12) === '101') resolve();
        else reject(new Error(`No upgrade: ${head.toString('latin1', 0, 80)}`));
      };
    });
    return connection;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.onBytes(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => (this.isClosed = true));
  }

  /** Sends a text message of at most 65,535 bytes and resolves with the first frame's worth of answer. */
  ask(text: string): Promise<Buffer> {
    const answer = new Promise<Buffer>((resolve) => (this.onBytes = resolve));
    this.#socket.write(maskedFrame(Buffer.from(text)));
    return answer;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** RFC 6455, 5.2 and 5.3: a client masks what it sends; a mask of zeros is one. */
function maskedFrame(payload: Buffer): Buffer {
  const isShort = payload.length < 126;
  const head = Buffer.alloc(isShort ? 6 : 8);
  head[0] = 0x81;
  head[1] = 0x80 | (isShort ? payload.length : 126);
  if (!isShort) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
