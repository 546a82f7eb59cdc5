import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { signVersion } from '../../../src/chain/wallet/tx-sender.js';

const account = privateKeyToAccount(`0x${'17'.repeat(32)}`);
const to = `0x${'c0'.repeat(20)}` as const;

t.test('a transaction is signed, and named, as viem does it, whatever the length of its data', async (t) => {
  const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 7n };
  for (const length of [0, 1, 2, 32, 55, 56, 255, 256, 65_535, 65_536, 90_000]) {
    const data = `0x${'5a'.repeat(length)}` as const;
    const terms = { nonce: 12, to, data, gas: 21_000n } as const;
    const { raw, txHash } = await signVersion(account, 42_170, { ...terms, versions: [] }, fees);
    const expected = await account.signTransaction({ type: 'eip1559', chainId: 42_170, ...terms, ...fees });
    t.ok(raw === expected, `${length} bytes`);
    t.equal(txHash, keccak256(expected));
  }
});

/** Zero, one byte's edges and everything else; a signature in about 128 begins with a zero byte. */
const amount = fc.oneof(fc.constantFrom(0n, 1n, 127n, 128n, 255n, 256n), fc.bigInt({ min: 0n, max: 2n ** 80n }));
const anyTerms = fc.record({
  chainId: fc.integer({ min: 1, max: 2 ** 32 }),
  nonce: fc.oneof(fc.constantFrom(0, 1, 127, 128, 255, 256), fc.nat()),
  gas: amount,
  data: fc.uint8Array({ maxLength: 4 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}` as const),
  maxFeePerGas: amount.map((fee) => fee + 2n ** 80n),
  maxPriorityFeePerGas: amount,
});

t.test('and whatever its numbers', async () => {
  await fc.assert(
    fc.asyncProperty(anyTerms, async ({ chainId, nonce, gas, data, ...fees }) => {
      const { raw } = await signVersion(account, chainId, { nonce, to, data, gas, versions: [] }, fees);
      const expected = await account.signTransaction({ type: 'eip1559', chainId, nonce, to, data, gas, ...fees });
      assert.equal(raw, expected);
    }),
    { numRuns: 300 },
  );
});
