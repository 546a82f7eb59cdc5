import { BlockList, isIP, SocketAddress } from 'node:net';
import { plainAddress } from './address.js';

/**
 * The proxies whose X-Forwarded-For counts. A client can send that header, too, and a proxy appends to what it got. So
 * only hops that a trusted proxy added may be believed: the client is the rightmost address that is no trusted proxy.
 */
export class TrustedProxies {
  readonly #networks: BlockList | null;

  /** Addresses, or networks in CIDR notation. Throws when one is neither. */
  constructor(networks: readonly string[]) {
    this.#networks = networks.length === 0 ? null : new BlockList();
    for (const text of networks) {
      const network = readNetwork(text);
      if (network === null) throw new Error(`${text} is no address and no network`);
      this.#networks?.addSubnet(network.address, network.prefixBits, network.family);
    }
  }

  /** `address`: as a peer's is written. */
  isTrusted(address: string): boolean {
    if (this.#networks === null) return false;
    const version = isIP(address);
    return version !== 0 && this.#networks.check(address, version === 4 ? 'ipv4' : 'ipv6');
  }

  /**
   * The address that limits count. `forwardedFor`: all X-Forwarded-For lines of the request, joined by commas in their
   * order. A hop that is no address ends the walk at the proxy that sent it.
   */
  clientOf(peer: string, forwardedFor: () => string | undefined): string {
    if (!this.isTrusted(peer)) return peer;
    const hops = forwardedFor()?.split(',') ?? [];
    let client = peer;
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = hopAddress(hops[i] ?? '');
      if (hop === null) return client;
      client = hop;
      if (!this.isTrusted(client)) return client;
    }
    return client;
  }
}

/** An address, or a network in CIDR notation; null when the text is neither. */
export function readNetwork(
  text: string,
): { readonly address: string; readonly prefixBits: number; readonly family: 'ipv4' | 'ipv6' } | null {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  // A zone names a link of one machine.
  if (version === 0 || address.includes('%')) return null;
  const most = version === 4 ? 32 : 128;
  const prefixBits = bits === undefined ? most : Number(bits);
  return prefixBits > most ? null : { address, prefixBits, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** As a peer's address would be written, without the port that some proxies add; null when it is no address. */
function hopAddress(hop: string): string | null {
  const text = hop.trim();
  const [, bracketed, plain] = /^\[([^\]]*)\](?::\d{1,5})?$|^(\d+(?:\.\d+){3})(?::\d{1,5})?$/.exec(text) ?? [];
  const address = plainAddress(bracketed ?? plain ?? text);
  if (isIP(address) === 4) return address;
  if (isIP(address) !== 6) return null;
  // One text form for each address: limits per address compare texts.
  return plainAddress(new SocketAddress({ address, family: 'ipv6' }).address);
}
