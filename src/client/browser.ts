import { BaseOrderbookClient as Client, type OrderbookClientOptions } from './orderbook-client.js';
import { type ClientPorts, type SocketConstructor, systemPorts } from './ports.js';

export * from './exports.js';

declare const WebSocket: SocketConstructor;

/** The client for browsers, Deno, Bun and whatever else has a WebSocket. `ports`: for tests. */
export class OrderbookClient extends Client {
  constructor(options: OrderbookClientOptions, ports: Partial<ClientPorts> = {}) {
    super(options, { ...systemPorts(WebSocket), ...ports });
  }
}
