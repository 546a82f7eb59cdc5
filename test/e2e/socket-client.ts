import { once } from 'node:events';
import { WebSocket } from 'ws';
import { decodeMessage } from '../feed/decode-message.js';
import { assertDocumentedFrame, type SocketForm } from './documented-answers.js';

const FORMS = { 'quotebook.v2.json': 'v2', 'quotebook.v2.msgpack': 'v2', 'quotebook.readable': 'readable' } as const;

/** A WebSocket client that keeps what it gets, and hands it out in order. */
export class SocketClient {
  readonly #socket: WebSocket;
  readonly #messages: Record<string, unknown>[] = [];
  readonly #waiting: ((message: Record<string, unknown>) => void)[] = [];
  readonly #closed: Promise<number>;

  /** `protocol`: a subprotocol; without it the `form` is spoken that the port has for such. */
  static async open(
    wsUrl: string,
    protocol?: keyof typeof FORMS,
    form: SocketForm = protocol === undefined ? 'plain' : FORMS[protocol],
  ): Promise<SocketClient> {
    const socket = new WebSocket(wsUrl, protocol ?? []);
    const client = new SocketClient(socket, form);
    await once(socket, 'open');
    return client;
  }

  private constructor(socket: WebSocket, form: SocketForm) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      const decoded: unknown = isBinary ? decodeMessage(data) : JSON.parse(data.toString('utf8'));
      const message = decoded as Record<string, unknown>;
      assertDocumentedFrame(message, form);
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#messages.push(message);
      else waiting(message);
    });
  }

  send(message: unknown): void {
    this.#socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  /** The next message, waited for. */
  next(): Promise<Record<string, unknown>> {
    const message = this.#messages.shift();
    if (message !== undefined) return Promise.resolve(message);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Sends, and resolves to the next message. */
  ask(message: unknown): Promise<Record<string, unknown>> {
    this.send(message);
    return this.next();
  }

  async auth(apiKey: string): Promise<Record<string, unknown>> {
    return this.ask({ type: 'AUTH', apiKey, body: null });
  }

  /** Messages that came and were not asked for. */
  get unread(): readonly Record<string, unknown>[] {
    return this.#messages;
  }

  /** Resolves to the code that it was closed with, also if that was before the call. */
  closed(): Promise<number> {
    return this.#closed;
  }

  end(): void {
    this.#socket.terminate();
  }
}
