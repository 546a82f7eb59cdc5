import t, { type Test } from 'tap';
import { maxUint256 } from 'viem';
import { LONG, SHORT } from '../../../src/chain/contracts/abi.js';
import { refusal } from '../refusal.js';
import { Market, ONE } from './market.js';

const market = await Market.open(t);
const { maker, taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const put = market.pool('testWETH', 1800n, false);
const weth = market.token('testWETH');
const usdc = market.token('USDC');
const router = market.chain.contracts.erc20Router;
/** Order of secp256k1 (SEC 2, 2.4.1). */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** A test of its own, after which the chain is as before. */
function isolated(name: string, test: (t: Test) => Promise<void>): void {
  void t.test(name, (t) => market.isolated(() => test(t)));
}

isolated('1: past its deadline', async (t) => {
  t.equal(await market.reason(await market.sign(call, { deadline: (await market.now()) - 1 })), 1);
});

isolated('2: cancelled', async (t) => {
  const quote = await market.sign(call);
  await market.cancel(maker.address, call.poolAddress, [quote.quoteId]);
  t.equal(await market.reason(quote), 2);
});

isolated('3: more than is left', async (t) => {
  const quote = await market.sign(call);
  t.equal(await market.reason(quote, ONE + 1n), 3);
});

isolated('4: a price above one', async (t) => {
  t.equal(await market.reason(await market.sign(call, { price: ONE + 1n })), 4);
  t.equal(await market.reason(await market.sign(call, { price: ONE })), 0);
  t.equal(await market.reason(await market.sign(call, { price: 0n })), 0);
});

isolated('5: for another taker', async (t) => {
  t.equal(await market.reason(await market.sign(call, { taker: stranger.address })), 5);
});

isolated('6: signed by another key, or for another pool', async (t) => {
  const quote = await market.sign(call);
  t.equal(await market.reason({ ...quote, provider: stranger.address }), 6);
  t.equal(await market.reason({ ...quote, price: quote.price + 1n }), 6);
  t.equal(await market.reason({ ...quote, pool: put }), 6);
});

isolated('7: nothing would change hands', async (t) => {
  const quote = await market.sign(call);
  t.equal(await market.reason(quote, 0n), 7);
  t.equal(await refusal(market.fill(taker.address, quote, 0n)), 'Pool__InvalidAssetUpdate');
});

isolated('8: the router may take too little', async (t) => {
  const ask = await market.sign(call);
  const needed = ONE - ONE / 10n;
  await market.approve(maker.address, weth, router, needed - 1n);
  t.equal(await market.reason(ask), 8);
  t.equal(await refusal(market.fill(taker.address, ask, ONE)), 'ERC20Base__InsufficientAllowance');
  await market.approve(maker.address, weth, router, needed);
  t.equal(await market.reason(ask), 0);
});

isolated('9: the provider has too little', async (t) => {
  const bid = await market.sign(put, { isBuy: true });
  const needed = 180_000_000n; // 0.1 of the strike of 1800 USDC
  await market.transfer(
    maker.address,
    usdc,
    stranger.address,
    (await market.balance(usdc, maker.address)) - needed + 1n,
  );
  t.equal(await market.reason(bid), 9);
  t.equal(await refusal(market.fill(taker.address, bid, ONE)), 'ERC20Base__TransferExceedsBalance');
  await market.mint(usdc, maker.address, 1n);
  t.equal(await market.reason(bid), 0);
});

isolated('10: the longs that it would give back are locked', async (t) => {
  await market.fill(maker.address, await market.sign(call, {}, taker), ONE);
  const ask = await market.sign(call);
  t.equal(await market.reason(ask), 0);
  await market.lockContracts(maker.address, call.poolAddress, LONG, 1n);
  t.equal(await market.reason(ask), 10);
  t.equal(await refusal(market.fill(taker.address, ask, ONE)), 'ERC1155Base__BurnExceedsBalance');
});

isolated('11: the shorts that it would take back are locked', async (t) => {
  await market.trade(call, ONE);
  const bid = await market.sign(call, { isBuy: true });
  t.equal(await market.reason(bid), 0);
  await market.lockContracts(maker.address, call.poolAddress, SHORT, 1n);
  t.equal(await market.reason(bid), 11);
});

isolated('the first reason counts when there are several', async (t) => {
  const deadline = (await market.now()) - 1;
  const quote = await market.sign(call, { deadline, price: 2n * ONE, taker: stranger.address }, stranger);
  await market.cancel(quote.provider, call.poolAddress, [quote.quoteId]);
  t.equal(await market.reason({ ...quote, size: 0n }), 1);
  const noDeadline = await market.sign(call, { price: 2n * ONE, taker: stranger.address });
  t.equal(await market.reason(noDeadline, 2n * ONE), 3);
  t.equal(await market.reason(noDeadline), 4);
});

isolated('an expired option reverts', async (t) => {
  const quote = await market.sign(call, { deadline: call.poolKey.maturity + 1000 });
  await market.moveTimeTo(call.poolKey.maturity - 1);
  t.equal(await market.reason(quote), 0);
  await market.moveTimeTo(call.poolKey.maturity);
  t.equal(await refusal(market.reason(quote)), 'Pool__OptionExpired');
  t.equal(await refusal(market.fill(taker.address, quote, ONE)), 'Pool__OptionExpired');
});

isolated('a malleable or impossible signature reverts', async (t) => {
  const quote = await market.sign(call);
  const { r, s, v } = quote.signature;
  const highS = `0x${(CURVE_ORDER - BigInt(s)).toString(16)}` as const;
  t.equal(await refusal(market.reason({ ...quote, signature: { r, s: highS, v: 55 - v } })), 'ECDSA__InvalidS');
  t.equal(await refusal(market.reason({ ...quote, signature: { r, s, v: 29 } })), 'ECDSA__InvalidV');
  t.equal(await refusal(market.reason({ ...quote, signature: { r, s, v: v - 27 } })), 'ECDSA__InvalidV');
  const zeroR = `0x${'00'.repeat(32)}` as const;
  t.equal(await refusal(market.reason({ ...quote, signature: { r: zeroR, s, v } })), 'ECDSA__InvalidSignature');
});

isolated('numbers that overflow revert', async (t) => {
  const huge = await market.sign(call, { size: maxUint256 });
  t.equal(await refusal(market.reason(huge)), 'Panic');
  const filled = await market.sign(call);
  await market.fill(taker.address, filled, ONE);
  t.equal(await refusal(market.reason(filled, maxUint256)), 'Panic');
});
