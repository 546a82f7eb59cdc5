import fc from 'fast-check';
import t from 'tap';
import { toHex } from '../../src/auth/hex-text.js';

t.test('bytes of any length are written as 0x and two lower-case digits each', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200, size: 'max' }), (bytes) => {
      return toHex(bytes) === `0x${Buffer.from(bytes).toString('hex')}`;
    }),
  );
  t.equal(toHex(new Uint8Array(0)), '0x');
  const key = Uint8Array.from({ length: 65 }, (_, i) => 255 - i);
  t.equal(toHex(key), `0x${Buffer.from(key).toString('hex')}`, 'a public key');
});
