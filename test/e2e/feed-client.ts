import { once } from 'node:events';
import { type RawData, WebSocket } from 'ws';
import type { ServerMessageV2 } from '../../src/wire/feed-messages.js';
import type { FeedChannel } from '../../src/wire/socket.js';
import { decodeMessage } from '../feed/decode-message.js';
import { ModelReader } from '../feed/model-reader.js';
import { assertDocumentedFrame } from './documented-answers.js';

export type Subprotocol = 'quotebook.v2.json' | 'quotebook.v2.msgpack';

/** How a connection ended. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** A client of the feed on a real connection: keeps the book of its subscription, and fails on a gap or a wrong hash. */
export class FeedClient {
  /** Messages in the form of JSON, oldest first; a test may take them away. */
  readonly messages: ServerMessageV2[] = [];
  readonly ended: Promise<Ending>;
  readonly #ws: WebSocket;
  #ending: Ending | null = null;
  #fault: Error | null = null;
  #wake: () => void = () => undefined;

  /** Connects and says who it is. `reader`: what an earlier connection knew. */
  static async open(
    wsUrl: string,
    apiKey: string,
    protocol: Subprotocol = 'quotebook.v2.json',
    reader = new ModelReader(),
  ): Promise<FeedClient> {
    const ws = new WebSocket(wsUrl, protocol);
    reader.connected();
    const client = new FeedClient(ws, reader);
    await once(ws, 'open');
    if (ws.protocol !== protocol) throw new Error(`the server speaks ${ws.protocol}`);
    client.says({ type: 'AUTH', apiKey, body: null });
    await client.until(() => client.messages.length > 0);
    return client;
  }

  private constructor(
    ws: WebSocket,
    readonly reader: ModelReader,
  ) {
    this.#ws = ws;
    ws.on('message', (data: RawData, isBinary: boolean) => this.#take(data as Buffer, isBinary));
    this.ended = new Promise((resolve) => {
      ws.once('close', (code, reason) => {
        this.#ending = { code, reason: reason.toString() };
        resolve(this.#ending);
        this.#wake();
      });
    });
  }

  says(message: object): void {
    this.#ws.send(JSON.stringify(message));
  }

  /** Asks for a channel from now on, with a snapshot where there is one; or from where the reader left off. */
  follow(channel: FeedChannel, body: object, resumes = false): void {
    const { reader } = this;
    reader.isResuming = resumes;
    const start = resumes ? { epoch: reader.epoch, fromSeq: reader.seq } : {};
    const snapshot = channel === 'QUOTES' ? { snapshot: true } : {};
    this.says({ type: 'FILTER', channel, body: { chainId: '421613', ...body, ...snapshot, ...start } });
  }

  /** Resolves once `isSo`, which is looked at after every message; rejects when the connection ends before. */
  async until(isSo: () => boolean): Promise<void> {
    for (;;) {
      this.check();
      if (isSo()) return;
      if (this.#ending !== null) throw new Error(`closed: ${JSON.stringify(this.#ending)}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Throws the first fault that it found in the messages. */
  check(): void {
    if (this.#fault !== null) throw this.#fault;
  }

  /** Takes no more from the network; what the server sends piles up there. */
  stopReading(): void {
    this.#ws.pause();
  }

  readOn(): void {
    this.#ws.resume();
  }

  /** Ends without a close frame, as a connection that breaks does; what is still on its way is not taken. */
  break(): void {
    this.#ws.removeAllListeners('message');
    this.#ws.terminate();
  }

  #take(data: Buffer, isBinary: boolean): void {
    try {
      const message = (isBinary ? decodeMessage(data) : JSON.parse(data.toString())) as ServerMessageV2;
      assertDocumentedFrame(message, 'v2');
      this.messages.push(message);
      this.reader.take([message]);
    } catch (fault) {
      this.#fault ??= fault instanceof Error ? fault : new Error(String(fault));
    }
    this.#wake();
  }
}
