import { once } from 'node:events';
import { WebSocket, type RawData } from 'ws';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';

/** A client on a real connection, that reads one message after the other. */
export class WsClient {
  readonly #ws: WebSocket;
  readonly #messages: string[] = [];
  #wake: () => void = () => undefined;
  /** How the connection ended. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;

  static async connect(url: string): Promise<WsClient> {
    const ws = new WebSocket(url);
    const client = new WsClient(ws);
    await once(ws, 'open');
    return client;
  }

  /** Connects and says who it is. */
  static async authorized(url: string, apiKey: string): Promise<WsClient> {
    const client = await WsClient.connect(url);
    client.says({ type: 'AUTH', apiKey, body: null });
    await client.next();
    return client;
  }

  private constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on('message', (data: RawData, isBinary: boolean) => {
      if (isBinary || !Buffer.isBuffer(data)) throw new Error('plain connections get text only');
      assertDocumentedFrame(JSON.parse(data.toString()), 'plain');
      this.#messages.push(data.toString());
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      ws.once('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
        this.#wake();
      });
    });
  }

  /** A text as it is, bytes as a binary frame, anything else as JSON. */
  says(message: unknown): void {
    const isData = typeof message === 'string' || message instanceof Uint8Array;
    this.#ws.send(isData ? message : JSON.stringify(message));
  }

  /** The oldest message not read yet, as text; waits for it. */
  async nextText(): Promise<string> {
    for (;;) {
      const text = this.#messages.shift();
      if (text !== undefined) return text;
      if (this.#ws.readyState === WebSocket.CLOSED) throw new Error('the connection is closed');
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async next(): Promise<unknown> {
    return JSON.parse(await this.nextText());
  }

  /** Everything that the server has sent by now: a question whose answer comes last. */
  async rest(): Promise<unknown[]> {
    this.says({ type: 'LAST' });
    const messages: unknown[] = [];
    for (;;) {
      const message = await this.next();
      if (JSON.stringify(message).includes('Unknown message type')) return messages;
      messages.push(message);
    }
  }

  close(): void {
    this.#ws.close();
  }
}
