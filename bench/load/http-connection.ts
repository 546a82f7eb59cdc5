import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

const END_OF_HEAD = Buffer.from('\r\n\r\n');
const STATUS = /^HTTP\/1\.1 (\d{3})/;
const LENGTH = /^content-length: *(\d+)/im;

/**
 * One kept-alive connection that has one request under way at a time. It does no more than find where an answer ends,
 * so that the load costs less than what it loads.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #head: Buffer = Buffer.alloc(0);
  #status = 0;
  /** Bytes of the body still to come; null while the head is. */
  #left: number | null = null;
  #body: Buffer[] | null = null;
  #settle: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | null = null;

  static async open(port: number): Promise<HttpConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('The server closed the connection')));
  }

  /** Sends a whole request; resolves when its answer has been read. The body is kept if it is `wanted`. */
  request(bytes: Uint8Array, wanted = false): Promise<HttpAnswer> {
    this.#body = wanted ? [] : null;
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    if (this.#left === null) {
      const all = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = all.indexOf(END_OF_HEAD);
      if (end < 0) {
        this.#head = all;
        return;
      }
      const head = all.toString('latin1', 0, end);
      this.#head = Buffer.alloc(0);
      this.#status = Number(STATUS.exec(head)?.[1]);
      this.#left = Number(LENGTH.exec(head)?.[1] ?? 0);
      rest = all.subarray(end + END_OF_HEAD.length);
    }
    this.#body?.push(rest);
    this.#left -= rest.length;
    if (this.#left > 0) return;
    this.#left = null;
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve({ status: this.#status, body: Buffer.concat(this.#body ?? []) });
  }

  #fail(error: Error): void {
    this.#settle?.reject(error);
    this.#settle = null;
  }
}

export interface HttpAnswer {
  readonly status: number;
  /** Empty unless it was wanted. */
  readonly body: Buffer;
}

/** A whole request, ready to be sent again and again. */
export function requestBytes(method: 'GET' | 'POST', target: string, apiKey: string, body = ''): Buffer {
  const content = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`${method} ${target} HTTP/1.1\r\nhost: bench\r\nx-apikey: ${apiKey}\r\n${content}\r\n${body}`);
}
