import { keccak256 as viemKeccak256 } from 'viem';

/** Not the service's own: what the hashes are held against. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return viemKeccak256(bytes, 'bytes');
}
