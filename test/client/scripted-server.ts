import type { ClientPorts, ClientSocket, FetchedResponse } from '../../src/client/ports.js';
import type { ServerMessageV2 } from '../../src/wire/feed-messages.js';
import { encodeMessage } from '../../src/wire/feed-msgpack.js';
import type { OrderbookQuote } from '../../src/wire/orderbook.js';
import { ManualClock } from '../system/manual-clock.js';

export const epoch = 'aaaaaaaaaaaaaaaa';
export const otherEpoch = 'bbbbbbbbbbbbbbbb';

/** A socket whose other end is the test. */
export class ScriptedSocket implements ClientSocket {
  binaryType = '';
  onopen: (() => void) | null = null;
  onmessage: ((event: { readonly data: unknown }) => void) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null;
  onerror: (() => void) | null = null;
  /** What the client sent and nobody has looked at. */
  readonly sent: Record<string, unknown>[] = [];
  isClosed = false;

  constructor(
    readonly url: string,
    readonly protocols: readonly string[],
  ) {}

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.isClosed = true;
  }

  /** The next message of the client. */
  next(): Record<string, unknown> {
    const message = this.sent.shift();
    if (message === undefined) throw new Error('the client has sent nothing');
    return message;
  }

  says(...messages: readonly (ServerMessageV2 | object | string)[]): void {
    for (const message of messages) {
      this.onmessage?.({ data: typeof message === 'string' ? message : JSON.stringify(message) });
    }
  }

  saysBinary(message: ServerMessageV2): void {
    const bytes = encodeMessage(message);
    this.onmessage?.({ data: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) });
  }

  /** Opens, and takes the client's AUTH as good. */
  authorizes(): this {
    this.onopen?.();
    this.next();
    this.says(info('Session authorized. Subscriptions enabled.'));
    return this;
  }

  /** Takes the next message for a FILTER and grants it. */
  grants(seq: number, keys: readonly string[], of = epoch): Record<string, unknown> {
    const message = this.next();
    const body = { channel: message.channel, keys, seq, epoch: of };
    this.says({ type: 'INFO', body, message: 'Subscribed to ...' });
    return message.body as Record<string, unknown>;
  }

  /** The connection is gone. */
  drops(code = 1006): void {
    this.onclose?.({ code, reason: '' });
  }
}

/** Everything around the client, in the test's hands. */
export class ScriptedServer {
  readonly clock = new ManualClock();
  readonly sockets: ScriptedSocket[] = [];
  readonly requests: { url: string; method: string; headers: Readonly<Record<string, string>>; body?: string }[] = [];
  /** What the next request is answered with. */
  answer: { status: number; body: string; headers?: Readonly<Record<string, string>> } = { status: 200, body: '[]' };
  random = 0.5;

  get ports(): ClientPorts {
    const { sockets } = this;
    return {
      clock: this.clock,
      random: () => this.random,
      fetch: async (url, init) => {
        this.requests.push({ url, ...init });
        const { status, body, headers = {} } = this.answer;
        const response: FetchedResponse = {
          status,
          headers: { get: (name) => headers[name] ?? null },
          text: () => Promise.resolve(body),
        };
        return response;
      },
      WebSocket: class extends ScriptedSocket {
        constructor(url: string, protocols: string[]) {
          super(url, protocols);
          sockets.push(this);
        }
      },
    };
  }

  /** The newest socket. */
  get socket(): ScriptedSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error('the client has opened no socket');
    return socket;
  }
}

export function info(message: string): object {
  return { type: 'INFO', body: null, message };
}

export function error(message: string, code = 'invalid_parameter'): object {
  return { type: 'ERROR', body: null, message, code };
}

/** A heartbeat that names these books. */
export function heartbeat(seq: number, books: readonly { key: string; hash: string }[] = []): object {
  const chain = { block: null, lateMs: null, stale: null, readTo: null };
  return { type: 'HEARTBEAT', seq, serverTimeMs: 0, chains: { settlement: chain, stream: chain }, books };
}

export function quote(id: number, fillableSize = '10', more: Partial<OrderbookQuote> = {}): OrderbookQuote {
  return {
    quoteId: `0x${id.toString(16).padStart(64, '0')}`,
    poolAddress: '0x00000000000000000000000000000000000000a1',
    poolKey: {
      base: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
      quote: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
      oracleAdapter: '0x68bdc8C8E8A3e1E4D5d0A5B0c0D0E0f0A0B0c0d0',
      strike: '1800',
      maturity: 1_790_928_000,
      isCallPool: true,
    },
    chainId: '421613',
    provider: '0x00000000000000000000000000000000000000b1',
    taker: '0x0000000000000000000000000000000000000000',
    price: '50',
    size: '10',
    isBuy: false,
    deadline: 1_790_603_212,
    salt: id,
    signature: { r: `0x${'11'.repeat(32)}`, s: `0x${'22'.repeat(32)}`, v: 27 },
    ts: 1_780_963_245,
    fillableSize,
    ...more,
  };
}
