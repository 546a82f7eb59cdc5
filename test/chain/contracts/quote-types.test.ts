import t from 'tap';
import { collateralNeeded, collateralToken } from '../../../src/chain/contracts/quote-types.js';
import type { SignedQuote } from '../../../src/engine/quote.js';

const ONE = 10n ** 18n;
const MAX_INT = 2n ** 255n - 1n;
const MAX_UINT = 2n ** 256n - 1n;
const BASE = '0x00000000000000000000000000000000000000Ba';
const QUOTE = '0x00000000000000000000000000000000000000Cd';

interface Terms {
  readonly price: bigint;
  readonly size: bigint;
  readonly isBuy: boolean;
  /** Null: a call. */
  readonly putStrike: bigint | null;
}

function quote({ price, size, isBuy, putStrike }: Terms): SignedQuote {
  return {
    pool: {
      poolAddress: '0x00',
      poolKey: {
        base: BASE,
        quote: QUOTE,
        oracleAdapter: '0x00',
        strike: putStrike ?? 1800n * ONE,
        maturity: 1_700_208_000,
        isCallPool: putStrike === null,
      },
    },
    provider: '0x00',
    taker: '0x00',
    price,
    size,
    isBuy,
    deadline: 1_700_000_000,
    salt: 1,
    signature: { r: '0x00', s: '0x00', v: 27 },
  };
}

const needed = (terms: Partial<Terms>): bigint | null =>
  collateralNeeded(quote({ price: ONE / 10n, size: 2n * ONE, isBuy: false, putStrike: null, ...terms }));

t.test('a call is backed by the base token, a put by the quote token, told in lower case', async (t) => {
  const terms = { price: 1n, size: 1n, isBuy: true };
  t.equal(collateralToken(quote({ ...terms, putStrike: null })), BASE.toLowerCase());
  t.equal(collateralToken(quote({ ...terms, putStrike: ONE })), QUOTE.toLowerCase());
});

t.test('a bid needs its premium, an ask the collateral less the premium', async (t) => {
  const putStrike = 1800n * ONE;
  t.equal(needed({ isBuy: true }), ONE / 5n);
  t.equal(needed({ isBuy: false }), (2n * ONE * 9n) / 10n);
  t.equal(needed({ isBuy: true, putStrike }), 360n * ONE, 'of a put, times its strike');
  t.equal(needed({ isBuy: false, putStrike }), 3240n * ONE);
  t.equal(needed({ isBuy: false, price: ONE }), 0n, 'at a price of one the premium is all of it');
});

t.test('premium and collateral are each rounded down, as pools multiply', async (t) => {
  t.equal(needed({ isBuy: true, price: 1n, size: ONE - 1n }), 0n);
  t.equal(needed({ isBuy: true, price: 1n, size: ONE }), 1n);
  t.equal(needed({ isBuy: false, price: ONE / 2n, size: 3n }), 2n);
  t.equal(needed({ isBuy: true, price: ONE / 2n, size: 3n, putStrike: ONE / 2n }), 0n);
});

t.test('the collateral of an empty quote, or of one with a price above one, is null', async (t) => {
  t.equal(needed({ size: 0n }), null);
  t.equal(needed({ size: 1n, isBuy: true, price: 1n }), 0n);
  t.equal(needed({ price: ONE + 1n }), null);
  t.equal(needed({ price: ONE, isBuy: true }), 2n * ONE);
});

t.test('what a pool cannot count is refused, from the first amount that it cannot', async (t) => {
  const little = { price: 1n, isBuy: true };
  t.equal(needed({ ...little, size: MAX_INT }), MAX_INT / ONE, 'a size is an int256');
  t.equal(needed({ ...little, size: MAX_INT + 1n }), null);

  const price = ONE;
  const most = MAX_UINT / ONE;
  t.equal(needed({ isBuy: true, price, size: most }), most, 'price times size is a uint256');
  for (const isBuy of [true, false])
    for (const putStrike of [null, 1n]) t.equal(needed({ isBuy, price, size: most + 1n, putStrike }), null);
  t.equal(needed({ isBuy: true, price: 3n, size: MAX_UINT / 3n }), most, 'to its last unit');
  t.equal(needed({ isBuy: true, price: 4n, size: (MAX_UINT + 1n) / 4n }), null);

  const ofPut = (size: bigint) => needed({ isBuy: true, price: 0n, size, putStrike: ONE });
  t.equal(ofPut(most), 0n, 'and so is size times strike');
  t.equal(ofPut(most + 1n), null);

  const ofCollateral = (putStrike: bigint) => needed({ isBuy: false, price: 0n, size: ONE, putStrike });
  t.equal(ofCollateral(MAX_UINT / ONE), MAX_UINT / ONE);
  t.equal(ofCollateral(MAX_UINT / ONE + 1n), null);
});
