import t from 'tap';
import { keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { signVersion } from '../../src/chain/broadcast.js';

t.test('a transaction is signed, and named, as viem does it', async (t) => {
  const account = privateKeyToAccount(`0x${'17'.repeat(32)}`);
  const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 7n };
  for (const length of [0, 1, 32, 90_000]) {
    const data = `0x${'5a'.repeat(length)}` as const;
    const terms = { nonce: 12, to: `0x${'c0'.repeat(20)}`, data, gas: 21_000n } as const;
    const { raw, txHash } = await signVersion(account, 42_170, { ...terms, versions: [] }, fees);
    const expected = await account.signTransaction({ type: 'eip1559', chainId: 42_170, ...terms, ...fees });
    t.ok(raw === expected, `${length} bytes`);
    t.equal(txHash, keccak256(expected));
  }
});
