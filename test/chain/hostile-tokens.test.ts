import t from 'tap';
import { encodeFunctionData } from 'viem';
import { testTokenAbi } from '../../src/chain/dev/dev-abi.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { Market, ONE } from './dev/market.js';
import type { FollowingOptions } from './following.js';
import { ANSWERS_ENDLESSLY, BURNS_ALL_GAS, meddlesWith, REFUSES } from './hostile-contracts.js';
import { MarketBook, withoutMulticall } from './market-book.js';

const market = await Market.open(t);
const { maker, taker, stranger } = market;
const good = market.pool('testWETH', 1800n, true);
const token = market.token('PREMIA');
const key = { ...good.poolKey, base: token };

const deployed: Pool = { poolKey: key, poolAddress: await market.deployPool(stranger.address, key) };
const undeployed = await poolOf({ ...key, strike: 2000n * ONE });

async function poolOf(poolKey: Pool['poolKey']): Promise<Pool> {
  return { poolKey, poolAddress: (await market.poolAddress(poolKey)).poolAddress };
}

const onChainAlone = MarketBook.tests(t, market);

/**
 * With what a deployed pool says of a quote that the token is to pay: nothing, or that the zeros it is told are too
 * few.
 */
const wicked: [what: string, code: Hex, reason: number][] = [
  ['burns all gas', BURNS_ALL_GAS, 7],
  ['refuses', REFUSES, 7],
  ['answers endlessly', ANSWERS_ENDLESSLY, 8],
  ['is gone', '0x', 7],
];
const ways: [how: string, options: Partial<FollowingOptions>][] = [
  ['with Multicall3', {}],
  ['without Multicall3', withoutMulticall(market)],
];

for (const [how, options] of ways)
  for (const [what, code, reason] of wicked) {
    onChainAlone(
      `${how}: a token that ${what} keeps its own quotes out alone, and they come back`,
      { ...options, limits: { sweepMs: 100 } },
      async (t, book) => {
        const honest = await market.sign(good);
        const inDeployed = await market.sign(deployed);
        const inUndeployed = await market.sign(undeployed);
        const all = [inDeployed, honest, inUndeployed];
        const reasons = () => all.map((offer) => book.reasonOf(offer));
        const bytecode = (await market.client.getCode({ address: token })) ?? '0x';
        await market.client.setCode({ address: token, bytecode: code });
        await book.publish(...all);
        t.strictSame(reasons(), [reason, 0, 7], 'known, and not to be filled');

        await market.client.setCode({ address: token, bytecode });
        await market.approve(maker.address, token, market.chain.contracts.erc20Router);
        await book.upToDate();
        t.strictSame(reasons(), [0, 0, 0]);

        // It says nothing of its change, so this is for the sweep to find.
        await market.client.setCode({ address: token, bytecode: code });
        await market.fill(taker.address, honest, ONE / 2n);
        await book.upToDate();
        await book.following.until(() => reasons().every((now, i) => now === [reason, 0, 7][i]));
        t.equal(book.fillable(honest), ONE / 2n);
        t.strictSame(book.following.failures, []);
      },
    );
  }

onChainAlone('a token that acts when it is asked moves nobody else’s means', {}, async (t, book) => {
  const broke = market.token('LINK');
  const ofBroke = await poolOf({ ...key, base: broke });
  const wanted = await market.sign(ofBroke);
  await market.transfer(maker.address, broke, stranger.address, await market.balance(broke, maker.address));
  const mint = encodeFunctionData({ abi: testTokenAbi, functionName: 'mint', args: [maker.address, 10n * ONE] });
  await market.client.setCode({ address: token, bytecode: meddlesWith(broke, mint, 18) });
  // As if by one Multicall3: the hostile token first, then the one it would pay the maker in.
  await book.publish(await market.sign(undeployed), wanted);
  t.equal(book.reasonOf(wanted), 9);
  t.equal(await market.balance(broke, maker.address), 0n);
});
