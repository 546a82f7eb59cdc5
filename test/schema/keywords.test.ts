import t from 'tap';
import { keywords } from '../../src/schema/keywords.js';

const MAX = String(2n ** 256n - 1n);

t.test('what a keyword says of a value has the shape of AJV’s errors', async (t) => {
  t.strictSame(keywords.uint256(String(2n ** 256n)), {
    params: { comparison: '<=', limit: MAX },
    message: `must be <= ${MAX}`,
  });
  const tokens = `${MAX.slice(0, -18)}.${MAX.slice(-18)}`;
  t.strictSame(keywords.fixed18('1e60'), {
    params: { comparison: '<=', limit: tokens },
    message: `must be <= ${tokens}`,
  });
  t.strictSame(keywords.fixed18(1e-19), { params: { limit: 18 }, message: 'must NOT have more than 18 decimals' });
  t.strictSame(keywords.positive('0.0'), { params: { comparison: '>', limit: 0 }, message: 'must be > 0' });
  t.strictSame(keywords.safeUint(String(2n ** 53n)), {
    params: { comparison: '<=', limit: '9007199254740991' },
    message: 'must be <= 9007199254740991',
  });
});

t.test('a keyword has nothing to say of what it is not broken by, or not meant for', async (t) => {
  t.equal(keywords.uint256(MAX), null);
  t.equal(keywords.fixed18(1e-18), null);
  t.equal(keywords.positive('0.01'), null);
  t.equal(keywords.safeUint(String(2n ** 53n - 1n)), null);
  for (const keyword of Object.values(keywords)) t.equal(keyword('x'.repeat(80)), null);
});
