import { pbkdf2Sync } from 'node:crypto';
import { bytesToHex } from 'viem';
import { HDKey, hdKeyToAccount } from 'viem/accounts';
import type { DevAccount } from '../../../src/chain/dev/dev-client.js';

const MNEMONIC = 'test test test test test test test test test test test junk';

/** The first accounts of anvil, as it derives them (BIP-39, BIP-44). */
export function derivedAccounts(count: number): DevAccount[] {
  // By OpenSSL, and the branch of all accounts once: viem's own takes 300 ms for ten of them.
  const seed = pbkdf2Sync(MNEMONIC, 'mnemonic', 2048, 64, 'sha512');
  const branch = HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0");
  return Array.from({ length: count }, (_, index) => {
    const account = hdKeyToAccount(branch, { path: `m/${index}` as `m/44'/60'/${string}` });
    const { privateKey } = account.getHdKey();
    if (!privateKey) throw new Error('a derived account has a private key');
    return { address: account.address, privateKey: bytesToHex(privateKey) };
  });
}
