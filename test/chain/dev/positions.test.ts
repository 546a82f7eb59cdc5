import t, { type Test } from 'tap';
import { encodeFunctionData, parseEventLogs } from 'viem';
import { erc20RouterAbi, LONG, optionTokenAbi, poolAbi, SHORT } from '../../../src/chain/contracts/abi.js';
import { feeReceiver } from '../../../src/chain/dev/contracts.js';
import type { DevAccount } from '../../../src/chain/dev/dev-client.js';
import type { Hex, Pool } from '../../../src/engine/quote.js';
import { refusal } from '../refusal.js';
import { Market, ONE } from './market.js';

const market = await Market.open(t);
const { maker, taker, stranger } = market;
const usdc = market.token('USDC');
const wbtc = market.token('WBTC');
const weth = market.token('testWETH');

/** A test of its own, after which the chain is as before. */
function isolated(name: string, test: (t: Test) => Promise<void>): void {
  void t.test(name, (t) => market.isolated(() => test(t)));
}

async function call(from: DevAccount, pool: Pool, functionName: 'settle' | 'exercise'): Promise<Hex> {
  return market.send(from.address, pool.poolAddress, encodeFunctionData({ abi: poolAbi, functionName }));
}

async function annihilate(from: DevAccount, pool: Pool, size: bigint): Promise<Hex> {
  const data = encodeFunctionData({ abi: poolAbi, functionName: 'annihilate', args: [size] });
  return market.send(from.address, pool.poolAddress, data);
}

/** Lets the pool mature at that price. */
async function mature(pool: Pool, settlementPrice: bigint): Promise<void> {
  await market.setSettlementPrice(pool.poolKey, settlementPrice);
  await market.moveTimeTo(pool.poolKey.maturity);
}

isolated(
  'writing a call takes one base token a contract less the premium, the buyer pays premium and fee',
  async (t) => {
    const pool = market.pool('WBTC', 30_000n, true);
    const ask = await market.sign(pool, { size: 2n * ONE, price: ONE / 20n });
    const parties = [maker.address, taker.address, pool.poolAddress];
    // 2 WBTC less 0.1; 0.1 and 0.08 % of 2.
    t.same(await market.changes(wbtc, parties, () => market.fill(taker.address, ask, 2n * ONE)), [
      -190_000_000n,
      -10_160_000n,
      200_160_000n,
    ]);
    t.equal(await market.shorts(pool, maker), 2n * ONE);
    t.equal(await market.longs(pool, maker), 0n);
    t.equal(await market.longs(pool, taker), 2n * ONE);
  },
);

isolated(
  'buying a put pays a share of the strike, the seller leaves the strike and keeps premium less fee',
  async (t) => {
    const pool = market.pool('testWETH', 1800n, false);
    const bid = await market.sign(pool, { isBuy: true, size: 3n * ONE, price: ONE / 100n });
    const parties = [maker.address, taker.address, pool.poolAddress];
    // Premium 3 * 0.01 * 1800 = 54; fee 3 * 0.0008 * 1800 = 4.32; collateral 5400.
    t.same(await market.changes(usdc, parties, () => market.fill(taker.address, bid, 3n * ONE)), [
      -54_000_000n,
      -5_350_320_000n,
      5_404_320_000n,
    ]);
    t.equal(await market.longs(pool, maker), 3n * ONE);
    t.equal(await market.shorts(pool, taker), 3n * ONE);
  },
);

isolated('who pays, pays the rest of a unit; who is paid, leaves it', async (t) => {
  const pool = market.pool('testWETH', 1700n, false);
  // A third of a contract at a seventh of the strike, in a token of six decimals: nothing comes out even.
  const size = ONE / 3n;
  const ask = await market.sign(pool, { size, price: ONE / 7n });
  const premium18 = (((ONE / 7n) * size) / ONE) * 1700n;
  const fee18 = ((size * 8n) / 10_000n) * 1700n;
  const up = (amount: bigint): bigint => (amount + 10n ** 12n - 1n) / 10n ** 12n;
  const [made, took, pooled] = await market.changes(usdc, [maker.address, taker.address, pool.poolAddress], () =>
    market.fill(taker.address, ask, size),
  );
  t.equal(made, -up(size * 1700n - premium18));
  t.equal(took, -up(premium18 + fee18));
  t.equal(pooled, -((made ?? 0n) + (took ?? 0n)), 'nothing is lost on the way');
});

isolated('a trade closes what is held before it opens anything', async (t) => {
  const pool = market.pool('testWETH', 1800n, true);
  await market.trade(pool, 2n * ONE);
  // The maker, short 2, buys 3: 2 shorts go and free their collateral, 1 long comes.
  const bid = await market.sign(pool, { isBuy: true, size: 3n * ONE });
  const [made] = await market.changes(weth, [maker.address], () => market.fill(stranger.address, bid, 3n * ONE));
  t.equal(made, 2n * ONE - (3n * ONE) / 10n);
  t.equal(await market.shorts(pool, maker), 0n);
  t.equal(await market.longs(pool, maker), ONE);
  t.equal(await market.shorts(pool, stranger), 3n * ONE);
  // The taker, long 2, sells 5: 2 longs go, 3 shorts come.
  const other = await market.sign(pool, { isBuy: true, size: 5n * ONE }, stranger);
  const hash = await market.fill(taker.address, other, 5n * ONE);
  t.equal(await market.longs(pool, taker), 0n);
  t.equal(await market.shorts(pool, taker), 3n * ONE);
  const { logs } = await market.client.getTransactionReceipt({ hash });
  const [event] = parseEventLogs({ abi: poolAbi, logs, eventName: 'FillQuoteOB' });
  t.match(event?.args, {
    isBuy: false,
    deltaTaker: { longs: -2n * ONE, shorts: 3n * ONE },
    deltaMaker: { longs: 2n * ONE, shorts: -3n * ONE, collateral: 3n * ONE - ONE / 2n },
  });
});

isolated(
  'a call in the money: the long gets its gain less the fee, the short the rest, fees go where they belong',
  async (t) => {
    const pool = market.pool('WBTC', 30_000n, true);
    await market.trade(pool, 2n * ONE);
    await mature(pool, 40_000n * ONE);
    // (40000 - 30000) / 40000 * 2 = 0.5 WBTC; the fee is the lesser of 0.3 % of 2 and 12.5 % of 0.5.
    t.same(await market.changes(wbtc, [taker.address], () => call(taker, pool, 'exercise')), [49_400_000n]);
    t.same(await market.changes(wbtc, [maker.address], () => call(maker, pool, 'settle')), [150_000_000n]);
    t.equal(await market.balance(wbtc, pool.poolAddress), 0n);
    // 0.08 % of 2 at the fill, 0.6 % of 1 at the exercise.
    t.equal(await market.balance(wbtc, feeReceiver), 160_000n + 600_000n);
    t.equal(await market.longs(pool, taker), 0n);
    t.equal(await market.shorts(pool, maker), 0n);
  },
);

isolated('a put barely in the money: the fee is a share of the gain', async (t) => {
  const pool = market.pool('testWETH', 1800n, false);
  await market.trade(pool, ONE);
  await mature(pool, 1790n * ONE);
  // 10 USDC less 12.5 %, which is less than 0.3 % of 1800.
  t.same(await market.changes(usdc, [taker.address], () => call(taker, pool, 'exercise')), [8_750_000n]);
  t.same(await market.changes(usdc, [maker.address], () => call(maker, pool, 'settle')), [1_790_000_000n]);
});

isolated('out of the money everything goes back to the short', async (t) => {
  const pool = market.pool('testWETH', 1800n, false);
  await market.trade(pool, ONE);
  await mature(pool, 1800n * ONE);
  t.same(await market.changes(usdc, [taker.address], () => call(taker, pool, 'exercise')), [0n]);
  t.same(await market.changes(usdc, [maker.address], () => call(maker, pool, 'settle')), [1_800_000_000n]);
});

isolated('without a price for the moment of maturity the price of now settles', async (t) => {
  const pool = market.pool('testWETH', 1600n, true);
  await market.trade(pool, ONE);
  await market.setUsdPrice(weth, 3200n * ONE);
  await market.moveTimeTo(pool.poolKey.maturity + 3600);
  t.same(await market.changes(weth, [maker.address], () => call(maker, pool, 'settle')), [ONE / 2n]);
  // What was read first holds.
  await market.setUsdPrice(weth, 1600n * ONE);
  t.same(await market.changes(weth, [taker.address], () => call(taker, pool, 'exercise')), [
    ONE / 2n - (ONE * 3n) / 1000n,
  ]);
});

isolated('settling and exercising wait for maturity, and a second time pays nothing', async (t) => {
  const pool = market.pool('testWETH', 1800n, true);
  await market.trade(pool, ONE);
  t.equal(await refusal(call(maker, pool, 'settle')), 'Pool__OptionNotExpired');
  t.equal(await refusal(call(taker, pool, 'exercise')), 'Pool__OptionNotExpired');
  await mature(pool, 1500n * ONE);
  await call(maker, pool, 'settle');
  t.same(await market.changes(weth, [maker.address], () => call(maker, pool, 'settle')), [0n]);
  t.same(await market.changes(weth, [stranger.address], () => call(stranger, pool, 'exercise')), [0n]);
});

isolated('longs and shorts annihilate before maturity and after it', async (t) => {
  const pool = market.pool('testWETH', 1800n, false);
  await market.trade(pool, 2n * ONE);
  const args = [maker.address, taker.address, SHORT, 2n * ONE, '0x'] as const;
  const gift = encodeFunctionData({ abi: optionTokenAbi, functionName: 'safeTransferFrom', args });
  await market.send(maker.address, pool.poolAddress, gift);
  t.same(await market.changes(usdc, [taker.address], () => annihilate(taker, pool, ONE)), [1_800_000_000n]);
  t.equal(await market.longs(pool, taker), ONE);
  t.equal(await market.shorts(pool, taker), ONE);
  await mature(pool, 1000n * ONE);
  t.same(await market.changes(usdc, [taker.address], () => annihilate(taker, pool, ONE)), [1_800_000_000n]);
  t.equal(await market.longs(pool, taker), 0n);
});

isolated('nobody annihilates what they do not have', async (t) => {
  const pool = market.pool('testWETH', 1800n, false);
  await market.trade(pool, ONE);
  t.equal(await refusal(annihilate(taker, pool, ONE)), 'ERC1155Base__BurnExceedsBalance');
  t.equal(await refusal(annihilate(taker, pool, 0n)), 'Pool__ZeroSize');
});

isolated('contracts move between accounts as ERC-1155 tokens', async (t) => {
  const pool = market.pool('testWETH', 1800n, true);
  await market.trade(pool, ONE);
  const move = (from: Hex, amount: bigint): Hex =>
    encodeFunctionData({
      abi: optionTokenAbi,
      functionName: 'safeTransferFrom',
      args: [from, stranger.address, LONG, amount, '0x'],
    });
  t.equal(
    await refusal(market.send(stranger.address, pool.poolAddress, move(taker.address, ONE))),
    'ERC1155Base__NotOwnerOrApproved',
  );
  t.equal(
    await refusal(market.send(taker.address, pool.poolAddress, move(taker.address, ONE + 1n))),
    'ERC1155Base__TransferExceedsBalance',
  );
  const hash = await market.send(taker.address, pool.poolAddress, move(taker.address, ONE / 4n));
  t.equal(await market.longs(pool, stranger), ONE / 4n);
  t.equal(await market.longs(pool, taker), (3n * ONE) / 4n);
  const { logs } = await market.client.getTransactionReceipt({ hash });
  t.match(
    parseEventLogs({ abi: optionTokenAbi, logs }).map(({ eventName, args }) => ({ eventName, args })),
    [{ eventName: 'TransferSingle', args: { from: taker.address, to: stranger.address, id: LONG, value: ONE / 4n } }],
  );
});

isolated('the router moves tokens for pools alone', async (t) => {
  const args = [usdc, maker.address, stranger.address, 1n] as const;
  const data = encodeFunctionData({ abi: erc20RouterAbi, functionName: 'safeTransferFrom', args });
  t.equal(
    await refusal(market.send(stranger.address, market.chain.contracts.erc20Router, data)),
    'ERC20Router__NotAuthorized',
  );
});
