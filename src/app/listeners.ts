import { CloseCode, type NetServer } from '../net/net.js';

/** Where the service listens. */
export interface ListenerPorts {
  readonly host: string;
  readonly port: number;
  /** Null or absent: there is no second listener. */
  readonly containerPort?: number | null;
}

/**
 * The service's own port and, where it is wanted, the container's: the same routes on both, and at `/` the readable
 * WebSocket on the second. Published messages reach the subscribers of both.
 */
export class Listeners {
  readonly #main: NetServer;
  readonly #container: NetServer | null;

  /** `container`: null without a second listener. */
  constructor(main: NetServer, container: NetServer | null) {
    this.#main = main;
    this.#container = container;
  }

  get backend(): NetServer['backend'] {
    return this.#main.backend;
  }

  get library(): NetServer['library'] {
    return this.#main.library;
  }

  /** Resolves to the ports. Rejects when one of them is taken; then neither listens. */
  async listen({ host, port, containerPort }: ListenerPorts): Promise<{ port: number; containerPort: number | null }> {
    const main = await this.#main.listen(host, port);
    if (this.#container === null) return { port: main, containerPort: null };
    try {
      return { port: main, containerPort: await this.#container.listen(host, containerPort ?? 0) };
    } catch (error) {
      await this.#main.close(CloseCode.serviceRestart, 'service restart');
      throw error;
    }
  }

  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void {
    this.#main.publish(topic, message, isBinary);
    this.#container?.publish(topic, message, isBinary);
  }

  stopListening(): void {
    this.#main.stopListening();
    this.#container?.stopListening();
  }

  async close(code: number, reason: string): Promise<void> {
    await Promise.all([this.#main.close(code, reason), this.#container?.close(code, reason)]);
  }
}
