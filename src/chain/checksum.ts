import { getAddress } from 'viem';
import type { Hex, PoolKey } from '../engine/quote.js';

/** The key with its three addresses as EIP-55 checksums, whatever letter case they came in. */
export function checksummed(key: PoolKey): PoolKey {
  return {
    ...key,
    base: checksumAddress(key.base),
    quote: checksumAddress(key.quote),
    oracleAdapter: checksumAddress(key.oracleAdapter),
  };
}

/** EIP-55; the address's own letter case is not looked at. */
export function checksumAddress(address: Hex): Hex {
  return getAddress(address.toLowerCase());
}
