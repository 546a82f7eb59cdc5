import { once } from 'node:events';
import WebSocket from 'ws';

export type Received = [text: string, isBinary: boolean];

/** A client that keeps what it receives. */
export class Client {
  readonly ws: WebSocket;
  readonly received: Received[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #arrived: () => void = () => undefined;

  constructor(url: string, protocols: string[] = [], options: WebSocket.ClientOptions = {}) {
    this.ws = new WebSocket(url, protocols, options);
    this.closed = new Promise((resolve) =>
      this.ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
    this.ws.on('error', () => undefined);
    this.ws.on('message', (data, isBinary) => {
      this.received.push([(data as Buffer).toString(), isBinary]);
      this.#arrived();
    });
  }

  static async open(url: string, protocols?: string[], options?: WebSocket.ClientOptions): Promise<Client> {
    const client = new Client(url, protocols, options);
    await once(client.ws, 'open');
    return client;
  }

  /** Waits until `count` messages came in all. */
  async has(count: number): Promise<Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => (this.#arrived = resolve));
    return this.received;
  }
}
