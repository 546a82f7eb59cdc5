import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A TCP connection that sends exactly the bytes it is given: what no HTTP client would send. */
export class RawConnection {
  readonly socket: Socket;
  /** Resolves when the connection is closed, however it ended. */
  readonly closed: Promise<void>;
  #received = Buffer.alloc(0);
  #changed: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#wake();
    });
    socket.on('close', () => this.#wake());
  }

  /** From `localAddress`, where it matters who seems to be calling. */
  static async open(port: number, host = '127.0.0.1', localAddress?: string): Promise<RawConnection> {
    const socket = connect({ port, host, noDelay: true, ...(localAddress === undefined ? {} : { localAddress }) });
    const connection = new RawConnection(socket);
    await Promise.race([once(socket, 'connect'), connection.closed]);
    return connection;
  }

  get received(): Buffer {
    return this.#received;
  }

  get text(): string {
    return this.#received.toString('latin1');
  }

  /** Resolves when the bytes are the kernel's, so that the next `send` is a segment of its own. */
  send(data: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.socket.write(data, () => resolve()));
  }

  /** Waits until `done` holds of what was received; rejects when the connection closes before. */
  async until(done: (text: string) => boolean): Promise<string> {
    while (!done(this.text)) {
      if (this.socket.destroyed) throw new Error(`closed after ${JSON.stringify(this.text.slice(0, 500))}`);
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
    return this.text;
  }

  /** Ends with a reset: what a client that crashes looks like. */
  reset(): void {
    // A socket that is being shut down cannot be reset, and Node.js 20 then neither closes nor forgets it.
    if (this.socket.writable) this.socket.resetAndDestroy();
    else this.socket.destroy();
  }

  #wake(): void {
    const waiting = this.#changed;
    this.#changed = [];
    for (const wake of waiting) wake();
  }
}

/** A request head; every line but the first is a header. */
export function head(...lines: string[]): string {
  return [...lines, '', ''].join('\r\n');
}

/** Asks for a WebSocket; `more` are further headers. */
export function upgradeHead(...more: string[]): string {
  return head(
    'GET / HTTP/1.1',
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ...more,
  );
}

/** Of each answer in `text`, in order. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
