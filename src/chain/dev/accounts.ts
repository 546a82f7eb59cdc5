import { bytesToHex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import type { Hex } from '../../engine/quote.js';

/** Anvil's own, known to everybody: nothing that it controls is worth anything. */
const MNEMONIC = 'test test test test test test test test test test test junk';

export interface DevAccount {
  /** EIP-55 checksum. */
  readonly address: Hex;
  readonly privateKey: Hex;
}

/** The accounts that anvil gives 10,000 ether each; the first is the operator's wallet. */
export function devAccounts(count = 10): DevAccount[] {
  return Array.from({ length: count }, (_, index) => devAccount(index));
}

/** Sends what deploys the contracts, so that no user's nonce is touched by it: the account after the last user's. */
export const deployer: Hex = devAccount(10).address;

function devAccount(addressIndex: number): DevAccount {
  const account = mnemonicToAccount(MNEMONIC, { addressIndex });
  const privateKey = account.getHdKey().privateKey;
  if (!privateKey) throw new Error('a derived account has a private key');
  return { address: account.address, privateKey: bytesToHex(privateKey) };
}
