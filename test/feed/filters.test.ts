import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { filterOf, viewOf } from '../../src/feed/filters.js';

const poolAddress = '0xABcd000000000000000000000000000000000001';
const taker = '0xCDef000000000000000000000000000000000002';

t.test('the levels for the zero address are those for everybody', async (t) => {
  t.strictSame(viewOf({ poolAddress, taker: ZERO_ADDRESS }, 5), viewOf({ poolAddress }, 5));
});

t.test('addresses are compared in lower case, whichever they came in', async (t) => {
  const lower = { poolAddress: poolAddress.toLowerCase(), taker: taker.toLowerCase() };
  t.strictSame(viewOf({ poolAddress, taker }, 5), { ...lower, depth: 5 });
  t.match(filterOf({ poolAddress, taker, provider: taker }), {
    ...lower,
    narrowing: { provider: lower.taker, minSize: 0n },
  });
});

t.test('a request has no maker to be compared with', async (t) => {
  t.equal(filterOf({ provider: taker }).narrowing.provider, taker.toLowerCase());
});
