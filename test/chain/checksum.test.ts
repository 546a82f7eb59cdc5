import fc from 'fast-check';
import t from 'tap';
import { getAddress } from 'viem';
import { checksumAddress } from '../../src/chain/checksum.js';
import type { Hex } from '../../src/engine/quote.js';

t.test('an address has the checksum that viem gives it, whatever its letter case was', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
      const address: Hex = `0x${Buffer.from(bytes).toString('hex')}`;
      t.equal(checksumAddress(address), getAddress(address));
      t.equal(checksumAddress(`0x${address.slice(2).toUpperCase()}`), getAddress(address));
    }),
    { numRuns: 50 },
  );
});
