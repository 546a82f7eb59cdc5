import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { loadNative } from '../auth/secp256k1.js';
import type { Hex } from '../engine/quote.js';

/** Whose transactions are signed; viem's accounts are such. */
export type TxAccount = Pick<PrivateKeyAccount, 'address' | 'sign'>;

/**
 * The native library signs where its binary loads: 0.1 ms of a publication's way, and viem's own 0.8. Both follow RFC
 * 6979 and EIP-2, so that the same digest gives the same signature; a test compares them.
 */
export function txAccount(privateKey: Hex): TxAccount {
  const account = privateKeyToAccount(privateKey);
  const native = loadNative();
  if (native === null) return account;
  const key = Buffer.from(privateKey.slice(2), 'hex');
  return {
    address: account.address,
    sign({ hash }) {
      const { rs, recoveryId } = native.sign(Buffer.from(hash.slice(2), 'hex'), key);
      const signature: Hex = `0x${Buffer.from(rs).toString('hex')}${recoveryId === 0 ? '1b' : '1c'}`;
      return Promise.resolve(signature);
    },
  };
}
