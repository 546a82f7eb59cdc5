import { Capacity } from './capacity.js';
import type { NetOptions, NetServer } from './net.js';
import { RequestTurns } from './request-turns.js';
import { TrustedProxies } from './trusted-proxies.js';
import { UnderWay } from './under-way.js';
import { UwsExchange, type UwsExchangeHost } from './uws-exchange.js';
import { UwsListening } from './uws-listening.js';
import type { UwsApp, UwsLibrary } from './uws-native.js';
import { UwsSockets } from './uws-sockets.js';

/** The service's network on uWebSockets.js. */
export class UwsServer implements NetServer, UwsExchangeHost {
  readonly backend = 'uWebSockets.js';
  readonly library: NetServer['library'];
  readonly options: NetOptions;
  readonly underWay = new UnderWay();
  readonly proxies: TrustedProxies;
  readonly bodies: Capacity;
  readonly connections: Capacity;
  readonly turns: RequestTurns;
  stopping = false;
  readonly #app: UwsApp;
  readonly #sockets: UwsSockets;
  readonly #listening: UwsListening;
  #closed: Promise<void> | null = null;

  constructor(library: UwsLibrary, options: NetOptions) {
    const { module: uws, version, source } = library;
    this.library = { version, source };
    this.options = options;
    this.proxies = new TrustedProxies(options.trustedProxies ?? []);
    const { bodiesBytes, bodiesBytesPerAddress, httpConnections, httpConnectionsPerAddress } = options.limits;
    this.bodies = new Capacity(bodiesBytes, bodiesBytesPerAddress, this.proxies);
    this.connections = new Capacity(httpConnections, httpConnectionsPerAddress, this.proxies);
    this.turns = new RequestTurns(options.limits.requestsPerTurn);
    // Otherwise every answer names the library and its version.
    uws._cfg('silent');
    this.#sockets = new UwsSockets(this);
    this.#app = uws.App();
    this.#listening = new UwsListening(uws, this.#app, options);
    this.#app.ws(options.socketPath, this.#sockets.behavior());
    this.#app.get('/*', (res, req) => UwsExchange.serve(res, req, this, 'GET'));
    this.#app.any('/*', (res, req) => UwsExchange.serve(res, req, this));
  }

  listen(host: string, port: number): Promise<number> {
    return this.#listening.begin(host, port);
  }

  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void {
    if (this.#app.publish(topic, message, isBinary, false)) this.#sockets.published(message);
  }

  stopListening(): void {
    this.stopping = true;
    this.#listening.end();
  }

  close(code: number, reason: string): Promise<void> {
    this.#closed ??= this.#close(code, reason);
    return this.#closed;
  }

  async #close(code: number, reason: string): Promise<void> {
    this.stopListening();
    this.#sockets.closeAll(code, reason);
    await this.underWay.none(this.options.limits.drainMs);
    // What was written within a callback of the library goes out when that returns.
    await new Promise((resolve) => setImmediate(resolve));
    this.#sockets.stop();
    this.#app.close();
    // The close events of what was cut are told in microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
