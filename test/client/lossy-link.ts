import type { ClientPorts, ClientSocket } from '../../src/client/ports.js';
import type { FeedFixture } from '../feed/feed-fixture.js';
import type { FakeSocket } from '../ws/fake-net.js';

/** Says of each message to the client whether it gets lost. */
export type Loses = () => boolean;

/**
 * Joins clients to a server's gateway without a network; messages may be lost on the way, which no real one does silently.
 */
export class LossyLink {
  readonly #fixture: FeedFixture;
  readonly #links = new Map<LinkedSocket, FakeSocket | null>();
  loses: Loses = () => false;

  constructor(fixture: FeedFixture) {
    this.#fixture = fixture;
  }

  ports(random: () => number): ClientPorts {
    const links = this.#links;
    const hangUp = (socket: LinkedSocket): void => this.#hangUp(socket);
    const fakeOf = (socket: LinkedSocket): FakeSocket | null => links.get(socket) ?? null;
    return {
      clock: this.#fixture.clock,
      random,
      fetch: () => Promise.reject(new Error('there are no routes here')),
      WebSocket: class extends LinkedSocket {
        constructor(_url: string, protocols: string[]) {
          super(protocols[0] ?? '', (text) => fakeOf(this)?.says(text), hangUp);
          links.set(this, null);
        }
      },
    };
  }

  /** Opens what waits to be opened, and delivers everything that was sent, but for what gets lost. */
  deliver(): void {
    for (const [socket, open] of [...this.#links]) {
      const fake = open ?? this.#fixture.net.open(socket.protocol);
      this.#links.set(socket, fake);
      if (open === null) socket.onopen?.();
      // What is delivered makes the client send, and be answered.
      while (fake.received.length + fake.receivedBinary.length > 0) {
        const [text] = fake.received.splice(0, 1);
        const data = text ?? arrayBuffer(fake.receivedBinary.splice(0, 1)[0]);
        if (!this.loses()) socket.onmessage?.({ data });
      }
      if (fake.closedWith !== null && this.#links.has(socket)) {
        this.#hangUp(socket);
        socket.onclose?.(fake.closedWith);
      }
    }
  }

  /** Every connection breaks, at once. */
  cut(): void {
    for (const socket of [...this.#links.keys()]) {
      this.#hangUp(socket);
      socket.onclose?.({ code: 1006, reason: '' });
    }
  }

  #hangUp(socket: LinkedSocket): void {
    const fake = this.#links.get(socket);
    this.#links.delete(socket);
    if (fake) this.#fixture.net.drop(fake);
  }
}

class LinkedSocket implements ClientSocket {
  binaryType = '';
  onopen: (() => void) | null = null;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  readonly #hangUp: (socket: LinkedSocket) => void;

  constructor(
    readonly protocol: string,
    readonly send: (text: string) => void,
    hangUp: (socket: LinkedSocket) => void,
  ) {
    this.#hangUp = hangUp;
  }

  close(): void {
    this.#hangUp(this);
  }
}

function arrayBuffer(bytes: Uint8Array | undefined): unknown {
  return Uint8Array.from(bytes ?? []).buffer;
}
