import { WebSocket } from 'ws';
import { BaseOrderbookClient as Client, type OrderbookClientOptions } from './orderbook-client.js';
import { type ClientPorts, type SocketConstructor, systemPorts } from './ports.js';

export * from './exports.js';

/** The client for Node, which has no WebSocket of its own before version 22. `ports`: for tests. */
export class OrderbookClient extends Client {
  constructor(options: OrderbookClientOptions, ports: Partial<ClientPorts> = {}) {
    super(options, { ...systemPorts(WebSocket as unknown as SocketConstructor), ...ports });
  }
}
