import { WebSocket } from 'ws';
import type { ClientPorts, SocketConstructor } from '../../src/client/ports.js';
import { decodeMessage } from '../feed/decode-message.js';
import { assertDocumentedFrame, assertDocumentedText } from './documented-answers.js';

/** As `fetch`; throws what the answer has that is not documented. */
export async function documentedFetch(
  url: string,
  init: { method?: string; headers?: Readonly<Record<string, string>>; body?: string | null } = {},
): Promise<Response> {
  const response = await fetch(url, init);
  assertDocumentedText({
    method: init.method ?? 'GET',
    target: url.replace(/^\w+:\/\/[^/]+/, ''),
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.clone().text(),
  });
  return response;
}

/** Throws, out of an event, what a frame has that is not documented. */
export class DocumentedWebSocket extends WebSocket {
  constructor(url: string, protocols: string[]) {
    super(url, protocols);
    this.on('message', (data: Buffer | ArrayBuffer, isBinary: boolean) => {
      const bytes = new Uint8Array(data);
      const frame: unknown = isBinary ? decodeMessage(bytes) : JSON.parse(Buffer.from(bytes).toString());
      assertDocumentedFrame(frame, this.protocol === '' ? 'plain' : 'v2');
    });
  }
}

/** For the client library. */
export const documentedPorts: Pick<ClientPorts, 'fetch' | 'WebSocket'> = {
  fetch: documentedFetch,
  WebSocket: DocumentedWebSocket as unknown as SocketConstructor,
};
