import { once } from 'node:events';
import { createServer } from 'node:net';
import type { us_listen_socket } from 'uws-native';
import { ENOUGH_AGAIN } from './descriptor-room.js';
import { CannotListen, listenOn } from './listen-on.js';
import type { NetOptions } from './net.js';
import type { UwsApp, UwsModule } from './uws-native.js';

const TRIES_FOR_A_PORT = 5;

/**
 * The port of one server. The library takes connections as long as there are file descriptors, and where there are none
 * it tries again as fast as it can, which keeps a core busy (20.30). So it stops listening when few are left, which
 * refuses whoever waits, and listens again when there are enough.
 */
export class UwsListening {
  #listenSocket: us_listen_socket | null = null;
  #looking: NodeJS.Timeout | undefined;

  constructor(
    private readonly uws: UwsModule,
    private readonly app: UwsApp,
    private readonly options: NetOptions,
  ) {}

  /** Resolves to the port; rejects when it is taken. */
  async begin(host: string, port: number): Promise<number> {
    let ownPort = port;
    // A free port may be somebody else's before it is listened at.
    for (let left = port === 0 ? TRIES_FOR_A_PORT : 1; left > 0 && this.#listenSocket === null; left--) {
      if (port === 0) ownPort = await freePortAt(host);
      this.#listenSocket = await this.#listen(host, ownPort);
    }
    if (this.#listenSocket === null) {
      throw new CannotListen(host, port, new Error("it is taken, or not this machine's to take"));
    }
    const { descriptors, limits } = this.options;
    if (descriptors !== undefined) {
      const look = (): void => void this.#look(host, ownPort, descriptors);
      this.#looking = setInterval(look, limits.descriptorCheckMs).unref();
    }
    return ownPort;
  }

  end(): void {
    clearInterval(this.#looking);
    this.#close();
  }

  async #look(host: string, port: number, descriptors: NonNullable<NetOptions['descriptors']>): Promise<void> {
    const { spareDescriptors } = this.options.limits;
    if (this.#listenSocket !== null) {
      if (descriptors.spare() >= spareDescriptors) return;
      this.#close();
      descriptors.onFew(true);
    } else if (descriptors.spare() >= ENOUGH_AGAIN * spareDescriptors) {
      // Null while it is somebody else's port: it is tried again at the next look.
      this.#listenSocket = await this.#listen(host, port);
      if (this.#listenSocket !== null) descriptors.onFew(false);
    }
  }

  /** Null: the port is taken. The library answers within the call. */
  #listen(host: string, port: number): Promise<us_listen_socket | null> {
    return new Promise((resolve) => {
      // Exclusively: by default two processes share the port, and its connections, without a word.
      this.app.listen(host, port, this.uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => resolve(socket || null));
    });
  }

  #close(): void {
    if (this.#listenSocket !== null) this.uws.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = null;
  }
}

/**
 * A port that nobody has. On one that the library itself picks, it leaves out SO_REUSEADDR (20.30), and could not
 * listen there again as long as there is a connection of it, or was one a minute ago.
 */
async function freePortAt(host: string): Promise<number> {
  const server = createServer();
  const port = await listenOn(server, host, 0);
  server.close();
  await once(server, 'close');
  return port;
}
