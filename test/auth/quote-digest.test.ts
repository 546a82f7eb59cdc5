import t from 'tap';
import { QuoteDigest } from '../../src/auth/quote-digest.js';
import { address } from '../engine/samples.js';

t.test('the separators of so many pools are kept, and with one more it begins anew', async (t) => {
  const digests = new QuoteDigest(421613, 2);
  const first = digests.domainSeparator(address(1));
  digests.domainSeparator(address(2));
  t.equal(digests.domainSeparator(address(1)), first, 'it is not computed again');
  digests.domainSeparator(address(3));
  const again = digests.domainSeparator(address(1));
  t.not(again, first);
  t.strictSame(again, first);
});
