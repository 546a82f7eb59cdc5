import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { unitsTaken } from '../../src/trading/order-trading.js';

const ONE = 10n ** 18n;

/** A quote at a tenth, in a pool with a strike of 2000. */
function taken(isBuy: boolean, isCallPool: boolean, size: bigint, closed = 0n, fee = 0n, price = ONE / 10n): bigint {
  const poolKey = {
    base: ZERO_ADDRESS,
    quote: ZERO_ADDRESS,
    oracleAdapter: ZERO_ADDRESS,
    strike: 2000n * ONE,
    maturity: 0,
    isCallPool,
  };
  const pool = { poolAddress: ZERO_ADDRESS, poolKey };
  const decimals = isCallPool ? 8 : 6;
  return unitsTaken({ price, isBuy, pool }, size, closed, fee * 10n ** BigInt(18 - decimals), decimals);
}

t.test('a buyer pays the premium and the fee, less the collateral of the shorts that it closes', (t) => {
  t.equal(taken(false, true, 2n * ONE, 0n, 3n), 20_000_003n);
  t.equal(taken(false, false, 2n * ONE, 0n, 3n), 400_000_003n);
  t.equal(taken(false, true, 2n * ONE, ONE / 10n, 3n), 10_000_003n);
  t.equal(taken(false, true, 2n * ONE, 2n * ONE, 3n), 0n, 'closing brings something in');
  t.end();
});

t.test('a seller pays the collateral of what it opens and the fee, less the premium', (t) => {
  t.equal(taken(true, true, 2n * ONE, 0n, 3n), 180_000_003n);
  t.equal(taken(true, false, 2n * ONE, 0n, 3n), 3_600_000_003n);
  t.equal(taken(true, true, 2n * ONE, ONE, 3n), 80_000_003n);
  t.equal(taken(true, true, 2n * ONE, 2n * ONE, 3n), 0n);
  t.end();
});

t.test('less than a unit of the token counts as one', (t) => {
  t.equal(taken(false, true, 1n), 0n, 'nothing at all is nothing');
  t.equal(taken(false, true, 100n), 1n);
  t.equal(taken(true, true, 10n ** 10n + 1n, 0n, 0n, 0n), 2n);
  t.end();
});

t.test('premium and fee are rounded up together, as the pool rounds them', (t) => {
  const poolKey = { base: ZERO_ADDRESS, quote: ZERO_ADDRESS, oracleAdapter: ZERO_ADDRESS, maturity: 0 };
  const pool = { poolAddress: ZERO_ADDRESS, poolKey: { ...poolKey, strike: ONE, isCallPool: true } };
  const quote = { price: ONE, isBuy: false, pool };
  const unit = 10n ** 10n;
  t.equal(unitsTaken(quote, unit / 2n, 0n, unit / 2n, 8), 1n, 'two halves of a unit are one');
  t.equal(unitsTaken(quote, unit, 0n, 1n, 8), 2n, 'a fee below a unit takes another one');
  t.end();
});
