import type { NetSocket, SocketHandlers } from '../../src/net/net.js';

/** A socket that records what the server sent. */
export class FakeSocket implements NetSocket {
  /** Messages to the peer, oldest first. */
  readonly received: string[] = [];
  /** Binary messages to the peer. */
  readonly receivedBinary: Uint8Array[] = [];
  /** What the peer has left unread, as far as a test says so. */
  unreadBytes = 0;
  readonly topics = new Set<string>();
  closedWith: { readonly code: number; readonly reason: string } | null = null;
  /** When set, the next `send` finds the peer over its budget. */
  overBudget = false;

  constructor(
    readonly id: number,
    readonly net: FakeNet,
    readonly protocol = '',
    readonly remoteAddress = '192.0.2.1',
  ) {}

  get closed(): boolean {
    return this.closedWith !== null;
  }

  send(message: string | Uint8Array, isBinary: boolean): boolean {
    if (isBinary && this.protocol === '') throw new Error('plain connections get text only');
    if (this.overBudget) this.close(1013, 'Too slow');
    if (this.closed) return false;
    if (isBinary) this.receivedBinary.push(Buffer.from(message));
    else this.received.push(Buffer.from(message).toString());
    return true;
  }

  sendAll(messages: readonly Uint8Array[], isBinary: boolean): void {
    for (const message of messages) this.send(message, isBinary);
  }

  subscribe(topic: string): void {
    if (this.topics.has(topic)) throw new Error(`already subscribed to ${topic}`);
    this.topics.add(topic);
  }

  unsubscribe(topic: string): void {
    if (!this.topics.delete(topic)) throw new Error(`not subscribed to ${topic}`);
  }

  bufferedBytes(): number {
    return this.unreadBytes;
  }

  close(code: number, reason: string): void {
    this.closedWith ??= { code, reason };
  }

  /** The peer sends a message: a text, or a value as JSON. */
  says(message: unknown): void {
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    this.net.handlers.message(this, Buffer.from(text), false);
  }

  saysBinary(bytes: Uint8Array): void {
    this.net.handlers.message(this, bytes, true);
  }

  /** Takes what was received so far, parsed. */
  take(): unknown[] {
    return this.received.splice(0).map((text) => JSON.parse(text) as unknown);
  }
}

/** Sockets and topics of a server, without a network. */
export class FakeNet {
  readonly sockets = new Set<FakeSocket>();
  /** Topics that were published to, with each message. */
  readonly published: { readonly topic: string; readonly message: Uint8Array }[] = [];
  #lastId = 0;

  constructor(readonly handlers: SocketHandlers) {}

  open(protocol?: string, remoteAddress?: string): FakeSocket {
    const socket = new FakeSocket(++this.#lastId, this, protocol, remoteAddress);
    this.sockets.add(socket);
    this.handlers.open(socket);
    return socket;
  }

  /** The connection is gone: only now is the gateway told. */
  drop(socket: FakeSocket, code = 1006): void {
    socket.close(code, '');
    this.sockets.delete(socket);
    this.handlers.close(socket, code);
  }

  publish(topic: string, message: Uint8Array, isBinary: boolean): void {
    this.published.push({ topic, message });
    for (const socket of this.sockets) {
      if (socket.topics.has(topic)) socket.send(message, isBinary);
    }
  }
}
