import type { IncomingMessage } from 'node:http';

/**
 * A request's head as it came, but for its wish to go on in another protocol, which a server may ignore (RFC 9110
 * section 7.8). node:http reads no body of a request that has one; of this head it does.
 */
export function headWithoutUpgrade({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.toLowerCase() !== 'upgrade') head += `${name}: ${rawHeaders[i + 1] ?? ''}\r\n`;
  }
  // As node:http made it a text: a byte a character.
  return Buffer.from(`${head}\r\n`, 'latin1');
}
