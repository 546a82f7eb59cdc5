import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** What the proxy does with one request. */
export type Trick =
  | 'PASS'
  /** The connection ends before the node hears of it. */
  | 'CUT'
  /** The node does what is asked, and its answer is lost. */
  | 'CUT_AFTER'
  /** Nothing ever comes back. */
  | 'HANG'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body: string }
  /** The node's `result`, changed. */
  | { readonly rewrite: (result: unknown) => unknown }
  /** An error of the node's own. */
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

export interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** Stands between a reader and its node, and answers as bad nodes, networks and gateways do. */
export class RpcProxy {
  trick: (request: RpcRequest) => Trick = () => 'PASS';
  readonly requests: RpcRequest[] = [];
  readonly #server: Server;

  private constructor(private readonly target: string) {
    this.#server = createServer((request, response) => {
      // A node that is stopped while it is asked answers nothing.
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async open(target: string): Promise<RpcProxy> {
    const proxy = new RpcProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readAll(request);
    const asked = JSON.parse(text) as RpcRequest;
    this.requests.push(asked);
    const trick = this.trick(asked);
    if (trick === 'HANG') return;
    if (trick === 'CUT') return void response.destroy();
    if (typeof trick === 'object' && 'status' in trick) {
      return void response.writeHead(trick.status, trick.headers).end(trick.body);
    }
    if (typeof trick === 'object' && 'error' in trick) {
      return answer(response, { jsonrpc: '2.0', id: asked.id, error: trick.error });
    }
    const headers = { 'content-type': 'application/json' };
    const fromNode = await fetch(this.target, { method: 'POST', headers, body: text });
    const body = (await fromNode.json()) as { result?: unknown };
    if (trick === 'CUT_AFTER') return void response.destroy();
    answer(response, trick === 'PASS' ? body : { ...body, result: trick.rewrite(body.result) });
  }
}

function answer(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
