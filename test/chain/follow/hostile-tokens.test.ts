import t from 'tap';
import { encodeFunctionData } from 'viem';
import { testTokenAbi } from '../../../src/chain/dev/contracts.js';
import type { Hex, Pool } from '../../../src/engine/quote.js';
import { Market, ONE } from '../dev/market.js';
import type { FollowingOptions } from '../following.js';
import { ANSWERS_ENDLESSLY, BURNS_ALL_GAS, LOOPS_FOR_EVER, meddlesWith, REFUSES } from '../hostile-contracts.js';
import { MarketBook, withoutMulticall } from '../market-book.js';

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

const wicked: [what: string, code: Hex][] = [
  ['burns all gas', BURNS_ALL_GAS],
  ['loops for ever', LOOPS_FOR_EVER],
  ['refuses', REFUSES],
  ['answers endlessly', ANSWERS_ENDLESSLY],
  ['is gone', '0x'],
];
const ways: [how: string, options: Partial<FollowingOptions>][] = [
  ['with Multicall3', {}],
  ['without Multicall3', withoutMulticall(market)],
];

for (const [how, options] of ways)
  for (const [what, code] of wicked) {
    onChainAlone(
      `${how}: a token that ${what} keeps its own quotes out alone, and they come back`,
      { ...options, limits: { sweepMs: 100, contractPauseMs: 20, contractMaxPauseMs: 200, contractProbeGapMs: 5 } },
      async (t, book) => {
        const honest = await market.sign(good);
        const inDeployed = await market.sign(deployed);
        const inUndeployed = await market.sign(undeployed);
        const all = [inDeployed, honest, inUndeployed];
        const reasons = () => all.map((offer) => book.reasonOf(offer));
        const bytecode = (await market.client.getCode({ address: token })) ?? '0x';
        await market.client.setCode({ address: token, bytecode: code });
        await book.publish(...all);
        t.strictSame(reasons(), [7, 0, 7], 'known, and not to be filled');

        await market.client.setCode({ address: token, bytecode });
        await market.approve(maker.address, token, market.chain.contracts.erc20Router);
        await book.following.until(() => reasons().every((now) => now === 0));

        // It says nothing of its change, so this is for the sweep to find.
        await market.client.setCode({ address: token, bytecode: code });
        await market.fill(taker.address, honest, ONE / 2n);
        await book.upToDate();
        await book.following.until(() => reasons().every((now, i) => now === [7, 0, 7][i]));
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
