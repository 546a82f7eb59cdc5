import t from 'tap';
import { concat, numberToHex, toFunctionSelector } from 'viem';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Market, ONE } from './dev/market.js';
import { MarketBook } from './market-book.js';

const market = await Market.open(t);
const { stranger } = market;
const good = market.pool('testWETH', 1800n, true);
const token = market.token('PREMIA');
const key = { ...good.poolKey, base: token };
const RICH = 2n ** 200n;

/** Says that it has so many decimals, and to all else that is asked of a token: a lot. */
function tokenOf(decimals: bigint): Hex {
  const answer = (word: bigint): Hex => concat(['0x7f', numberToHex(word, { size: 32 }), '0x60005260206000f3']);
  const rich = answer(RICH);
  // The call's selector is compared with that of decimals(), behind which its answer stands.
  const selector = concat(['0x60003560e01c63', toFunctionSelector('decimals()'), '0x14']);
  const behind = 7 + 4 + 1 + 3 + (rich.length - 2) / 2;
  return concat([selector, '0x60', numberToHex(behind, { size: 1 }), '0x57', rich, '0x5b', answer(decimals)]);
}

async function poolAt(strike: bigint): Promise<Pool> {
  const poolKey = { ...key, strike: strike * ONE };
  return { poolKey, poolAddress: (await market.poolAddress(poolKey)).poolAddress };
}

/** The pools' own arithmetic knows tokens of 18 decimals at most, and `uint8` holds no more than 255. */
const reasons = new Map([
  [0n, 0],
  [6n, 0],
  [18n, 0],
  [19n, 7],
  [77n, 7],
  [255n, 7],
  [256n, 7],
  [2n ** 256n - 1n, 7],
]);

const onChainAlone = MarketBook.tests(t, market);

for (const [decimals, reason] of reasons) {
  onChainAlone(
    `a token of ${decimals} decimals is in nobody’s way, with its pool deployed or not`,
    { limits: { sweepMs: 50 } },
    async (t, book) => {
      await market.client.setCode({ address: token, bytecode: tokenOf(decimals) });
      const undeployed = await market.sign(await poolAt(2000n));
      const honest = await market.sign(good);
      await book.publish(undeployed, honest);
      t.strictSame([book.reasonOf(undeployed), book.reasonOf(honest)], [reason, 0]);

      if (decimals <= 255n) {
        const pool = await poolAt(2000n);
        await market.deployPool(stranger.address, pool.poolKey);
        const deployed = await market.sign(pool, { size: 2n * ONE });
        await book.publish(deployed);
        await book.following.until(() => book.reasonOf(undeployed) === book.reasonOf(deployed));
        t.equal(book.reasonOf(deployed), reason, 'its own contract says the same');
      }
      t.strictSame([book.following.failures, book.following.refused], [[], []]);
    },
  );
}
