import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { us_listen_socket } from 'uWebSockets.js';
import type { NetOptions } from './net.js';
import type { UwsApp, UwsModule } from './uws-native.js';

/** So many times the descriptors with which it stops have to be there again: it would stop and begin in turns otherwise. */
const ENOUGH_AGAIN = 2;

/**
 * The port of one server. The library takes connections as long as there are file descriptors, and where there are none it
 * tries again as fast as it can, which keeps a core busy (20.30). So it stops listening when few are left, which refuses
 * whoever waits, and listens again when there are enough.
 */
export class UwsListening {
  #listenSocket: us_listen_socket | null = null;
  #looking: NodeJS.Timeout | undefined;
  #beginning = false;
  #ended = false;

  constructor(
    private readonly uws: UwsModule,
    private readonly app: UwsApp,
    private readonly options: NetOptions,
  ) {}

  /** Resolves to the port; rejects when it is taken. */
  async begin(host: string, port: number): Promise<number> {
    const why = `Cannot listen on ${host} port ${port}: it is taken, or not this machine's to take`;
    const socket = await this.#listen(host, port).catch((cause: unknown) => {
      throw new Error(why, { cause });
    });
    if (socket === null) throw new Error(why);
    this.#listenSocket = socket;
    const ownPort = this.uws.us_socket_local_port(socket);
    const { descriptors, limits } = this.options;
    if (descriptors !== undefined) {
      const look = (): void => void this.#look(host, ownPort, descriptors);
      this.#looking = setInterval(look, limits.descriptorCheckMs).unref();
    }
    return ownPort;
  }

  end(): void {
    this.#ended = true;
    clearInterval(this.#looking);
    this.#close();
  }

  async #look(host: string, port: number, descriptors: NonNullable<NetOptions['descriptors']>): Promise<void> {
    const { spareDescriptors } = this.options.limits;
    if (this.#beginning) return;
    if (this.#listenSocket !== null) {
      if (descriptors.spare() >= spareDescriptors) return;
      this.#close();
      descriptors.onFew(true);
    } else if (descriptors.spare() >= ENOUGH_AGAIN * spareDescriptors) {
      this.#beginning = true;
      // Somebody else's port by now: it is tried again at the next look.
      this.#listenSocket = await this.#listen(host, port).catch(() => null);
      this.#beginning = false;
      if (this.#listenSocket !== null) descriptors.onFew(false);
    }
  }

  /**
   * The library has two ways. One shares the port, and its connections, with any program that does so too, without a word. The
   * other refuses the port for a minute after the last connection that this or an earlier process had on it. So it is
   * shared, after a look whether it is somebody's.
   */
  async #listen(host: string, port: number): Promise<us_listen_socket | null> {
    const freePort = await freePortAt(host, port);
    if (this.#ended) return null;
    return new Promise((resolve) => this.app.listen(host, freePort, 0, (socket) => resolve(socket || null)));
  }

  #close(): void {
    if (this.#listenSocket !== null) this.uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
  }
}

/** The port, or with 0 one that nobody listens at. Rejects when it is taken, or not this machine's to take. */
async function freePortAt(host: string, port: number): Promise<number> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const { port: freePort } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return freePort;
}
