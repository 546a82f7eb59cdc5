import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { txAccount } from '../../../src/chain/wallet/transaction.js';

/** Of the curve (SEC 2, 2.4.1): keys are below it. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes): `0x${string}` => {
  return `0x${Buffer.from(bytes).toString('hex')}`;
});
const privateKey = fc
  .oneof(fc.constantFrom(1n, 2n, ORDER - 1n), fc.bigInt({ min: 1n, max: ORDER - 1n }))
  .map((key): `0x${string}` => `0x${key.toString(16).padStart(64, '0')}`);

t.test('whatever the key and the digest, it signs as viem does', async () => {
  await fc.assert(
    fc.asyncProperty(privateKey, bytes32, async (key, hash) => {
      const account = privateKeyToAccount(key);
      const ours = txAccount(key);
      assert.equal(ours.address, account.address);
      assert.equal(await ours.sign({ hash }), await account.sign({ hash }));
    }),
    { numRuns: 200 },
  );
});
