import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** A peer's address in one text form, whichever library reported it: so that limits per address count one peer once. */

const MAPPED_PREFIX = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * Writes an IPv4-mapped IPv6 address (`::ffff:127.0.0.1`, RFC 4291 section 2.5.5.2) as the IPv4 address that it stands
 * for.
 */
export function plainAddress(text: string): string {
  return text.replace(MAPPED_PREFIX, '');
}

/** Text of an address given as its 4 or 16 bytes; empty for anything else (a peer that is gone has no address). */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0] ?? 0}.${bytes[1] ?? 0}.${bytes[2] ?? 0}.${bytes[3] ?? 0}`;
  if (bytes.length !== 16) return '';
  const mapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.subarray(12).join('.') : ipv6Text(bytes);
}

/** RFC 5952: groups in lower case without leading zeros, the first longest run of two or more zero groups as `::`. */
function ipv6Text(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  let start = 0;
  let length = 1;
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (to < 8 && groups[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const hex = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  return length < 2 ? hex(groups) : `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

/** An IPv4 address stands for itself; of IPv6 a subscriber has a whole /64, so its first four groups stand for it. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    while (groups.length + after.length < 8) groups.push('0');
    groups.push(...after);
  }
  return groups.slice(0, 4).join(':');
}

/** An operator has to know which address it is; the cause is what the system says of it. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen';

  constructor(host: string, port: number, cause: unknown) {
    super(`Cannot listen on ${host} port ${port}`, { cause });
  }
}

/** Resolves to the port, which is a free one where 0 is asked for; rejects with CannotListen. */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CannotListen(host, port, error);
  }
  return (server.address() as AddressInfo).port;
}
