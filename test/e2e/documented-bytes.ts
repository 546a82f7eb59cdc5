import { assertDocumentedText } from './documented-answers.js';

/**
 * Throws when an answer on a connection of HTTP is not documented. `asked`: the request of each, such as `GET /orders`.
 */
export function assertDocumentedBytes(received: Buffer, asked: readonly string[]): void {
  let rest = received;
  for (const request of asked) {
    const headBytes = rest.indexOf('\r\n\r\n') + 4;
    if (headBytes < 4) return;
    const head = rest.toString('latin1', 0, headBytes);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    // From here on it is a WebSocket.
    if (status === 101) return;
    const type = /\r\ncontent-type: ([^\r]*)/i.exec(head)?.[1] ?? '';
    const bodyBytes = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const [method = '', target = ''] = request.split(' ');
    const text = rest.toString('utf8', headBytes, headBytes + bodyBytes);
    assertDocumentedText({ method, target, status, type, text });
    rest = rest.subarray(headBytes + bodyBytes);
  }
}
